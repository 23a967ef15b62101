package bootstrap

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// A key is the key of a registry entry.
type key struct {
	registry Registry
	text     string       // text of the key as shown: "com", "192.0.2.0/24", "64496-64511", "ARIN"
	prefix   netip.Prefix // for RegistryIPv4 and RegistryIPv6: the masked prefix
	first    uint32       // for RegistryASN: the first number
	last     uint32       // for RegistryASN: the last number
}

// suffixKey parses a domain suffix in A-labels; "" is the root.
func suffixKey(text string) (key, error) {
	name := canonicalName(text)
	if len(name) > 253 {
		return key{}, fmt.Errorf("%.40q... is too long for a domain name", text)
	}
	if name != "" {
		for label := range strings.SplitSeq(name, ".") {
			if !isLabel(label) {
				return key{}, fmt.Errorf("%q is not a domain name in A-labels", text)
			}
		}
	}
	return key{registry: RegistryDNS, text: name}, nil
}

func isLabel(s string) bool {
	if s == "" || len(s) > 63 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// prefixKey parses an address prefix or a single address.
func prefixKey(text string) (key, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		a, errAddr := netip.ParseAddr(text)
		if errAddr != nil || a.Zone() != "" {
			return key{}, fmt.Errorf("%q is not an address prefix", text)
		}
		p = netip.PrefixFrom(a, a.BitLen())
	}
	p = unmapped(p)
	if p != p.Masked() {
		return key{}, fmt.Errorf("%q has bits set after its prefix; did you mean %s?", text, p.Masked())
	}
	return key{registry: addressRegistry(p), text: p.String(), prefix: p}, nil
}

func addressRegistry(p netip.Prefix) Registry {
	if p.Addr().Is4() {
		return RegistryIPv4
	}
	return RegistryIPv6
}

// unmapped converts a prefix of IPv4-mapped IPv6 addresses (::ffff:192.0.2.0/120) to
// the IPv4 prefix.
func unmapped(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

// autnumKey parses "64496-64511", which includes both ends, or "64500".
func autnumKey(text string) (key, error) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	first, err1 := strconv.ParseUint(from, 10, 32)
	last, err2 := strconv.ParseUint(to, 10, 32)
	if errors.Join(err1, err2) != nil {
		return key{}, fmt.Errorf("%q is not a range of AS numbers", text)
	}
	if first > last {
		return key{}, fmt.Errorf("%q ends before it starts", text)
	}
	return key{registry: RegistryASN, text: text, first: uint32(first), last: uint32(last)}, nil
}

// tagKey parses a service provider tag without its hyphen.
func tagKey(text string) (key, error) {
	tag := strings.ToUpper(text)
	if tag == "" || strings.ContainsAny(tag, "- \t") {
		return key{}, fmt.Errorf("%q is not a service provider tag", text)
	}
	return key{registry: RegistryObjectTags, text: tag}, nil
}

// canonicalName returns a name in lower case without its final dot. It allocates only if the
// name has upper-case letters.
func canonicalName(name string) string {
	return strings.ToLower(strings.TrimSuffix(name, "."))
}
