package bootstrap

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// A target is a [Question] prepared for the tables.
type target struct {
	registry Registry
	// for RegistryDNS: the canonical name; for RegistryObjectTags: the tag; also set for a
	// reverse name
	name   string
	prefix netip.Prefix
	autnum uint32
}

// newTarget returns the registry and the key to search.
func newTarget(q Question) (target, error) {
	switch q.For {
	case ForDomain, ForNameserver:
		if err := checkALabels(q.Name); err != nil {
			return target{}, err
		}
		name := canonicalName(q.Name)
		p, isReverse, err := reversePrefix(name)
		if err != nil {
			return target{}, err
		}
		if isReverse {
			return target{registry: addressRegistry(p), name: name, prefix: p}, nil
		}
		return target{registry: RegistryDNS, name: name}, nil
	case ForAddress:
		if !q.Prefix.IsValid() {
			return target{}, fmt.Errorf("bootstrap: %w: Prefix is not a valid address or prefix", ErrInvalidQuestion)
		}
		p := unmapped(q.Prefix)
		return target{registry: addressRegistry(p), prefix: p}, nil
	case ForAutnum:
		return target{registry: RegistryASN, autnum: q.Autnum}, nil
	case ForEntity:
		// The tag follows the last hyphen (RFC 8521 section 2).
		i := strings.LastIndexByte(q.Name, '-')
		if i < 0 {
			return target{registry: RegistryObjectTags}, nil
		}
		return target{registry: RegistryObjectTags, name: strings.ToUpper(q.Name[i+1:])}, nil
	}
	return target{}, fmt.Errorf("bootstrap: %w: unknown subject %d", ErrInvalidQuestion, uint8(q.For))
}

// checkALabels returns an error for a name with U-labels (RFC 5890): a registry has no
// such keys, so the name would wrongly have no server.
func checkALabels(name string) error {
	if !strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return nil
	}
	hint := ""
	if ascii, err := idna.Lookup.ToASCII(name); err == nil && utf8.ValidString(name) {
		hint = fmt.Sprintf("; use %q", ascii)
	}
	return fmt.Errorf("bootstrap: %w: %q is not in A-labels%s", ErrInvalidQuestion, name, hint)
}

// String returns the target in the form for messages: ".zz", "192.0.2.0/24", "AS64495", "tag
// ARIN".
func (to *target) String() string {
	switch to.registry {
	case RegistryDNS:
		return "." + to.name[strings.LastIndexByte(to.name, '.')+1:]
	case RegistryIPv4, RegistryIPv6:
		if to.prefix.IsSingleIP() {
			return to.prefix.Addr().String()
		}
		return to.prefix.String()
	case RegistryASN:
		return fmt.Sprintf("AS%d", to.autnum)
	}
	if to.name == "" {
		return "a handle without a tag"
	}
	return "tag " + to.name
}
