package bootstrap

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// rootServer is IANA's RDAP server, with the records of the root and of the top-level domains.
// IANA's files list only the servers for the names below top-level domains.
const rootServer = "https://rdap.iana.org/"

// ErrNotTopLevel matches every [*NotTopLevelError].
var ErrNotTopLevel = errors.New("not a top-level domain")

// A NotTopLevelError means that a name with one label is not a top-level domain, because
// neither IANA's file nor the public suffix list has it. No server has a record of such a name.
type NotTopLevelError struct {
	Name string // the name in A-labels
}

// Error returns the name and the problem.
func (e *NotTopLevelError) Error() string {
	return fmt.Sprintf("%q is not a top-level domain", e.Name)
}

// Is reports whether target is [ErrNotTopLevel].
func (e *NotTopLevelError) Is(target error) bool { return target == ErrNotTopLevel }

// specialUse lists names that are never top-level domains in the DNS (RFC 6761, RFC 6762, RFC
// 7686), even if a list has them.
var specialUse = map[string]bool{
	"example": true, "invalid": true, "local": true, "localhost": true, "onion": true, "test": true,
}

// isTopLevel reports whether a question is about the root or a name with one label. The servers
// for the names below a top-level domain have no record of the domain itself.
func (q Question) isTopLevel(to *target) bool {
	return q.For == ForDomain && !q.Below && to.registry == RegistryDNS && !strings.Contains(to.name, ".")
}

// isDelegated reports whether a copy of IANA's file, the built-in list or the public
// suffix list has a top-level domain. The empty name is the root.
func (r *Resolver) isDelegated(name string, t *table) bool {
	if name == "" {
		return true
	}
	if specialUse[name] {
		return false
	}
	if t.suffixes[name] != nil || r.unlisted != nil && r.unlisted.suffixes[name] != nil {
		return true
	}
	// Some top-level domains are listed only through names below them.
	suffix, icann := publicsuffix.PublicSuffix("nic." + name)
	return icann && (suffix == name || strings.HasSuffix(suffix, "."+name))
}

// topLevelAnswer returns IANA's server, or an error if the name is not a top-level
// domain.
func (r *Resolver) topLevelAnswer(h *registryState, ed *edition, to *target, q Question) (Answer, error) {
	switch {
	case !r.isDelegated(to.name, ed.table):
		return Answer{}, &NotTopLevelError{Name: to.name}
	case r.unlisted == nil:
		return Answer{}, r.noService(h, ed, to, q)
	}
	entry := to.name
	if entry == "" {
		entry = "."
	}
	return Answer{Entry: entry, URLs: []string{rootServer}, Source: SourceUnlisted}, nil
}
