// Package registrable finds the registrable domain of a host name.
package registrable

import (
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Name returns the part of a name that a registry registers: its public suffix and
// one label. It returns public suffixes and reverse names unchanged.
//
// Only the suffixes of registries count (the ICANN section of the list). The private suffixes
// are domains below which companies let others use names: the registry has github.io, but
// neither user.github.io nor www.example.com.
func Name(name string) string {
	if strings.HasSuffix(name, ".arpa") || name == "." {
		return name
	}
	suffix, icann := publicsuffix.PublicSuffix(name)
	for !icann {
		_, parent, ok := strings.Cut(suffix, ".")
		if !ok {
			break // a top-level domain that is not in the list
		}
		suffix, icann = publicsuffix.PublicSuffix(parent)
	}
	rest, ok := strings.CutSuffix(name, "."+suffix)
	if !ok {
		return name
	}
	return name[strings.LastIndexByte(rest, '.')+1:]
}
