package client

import (
	"strings"

	"golang.org/x/net/publicsuffix"
)

// registrable turns a question about a host name into one about the domain that
// a registry registers, if the configuration says so.
func (c *Client) registrable(q Query) Query {
	if !c.cfg.Registrable {
		return q
	}
	return q.Registrable()
}

// Registrable returns the query for the registrable domain of a host name:
// example.co.uk for www.example.co.uk. Other queries are returned as they are.
func (q Query) Registrable() Query {
	if q.Type != TypeDomain || q.URL != "" {
		return q
	}
	if name := registrableName(q.Name); name != q.Name {
		q.From, q.Name = q.Name, name
	}
	return q
}

// registrableName returns the part of a name that a registry registers: one
// label more than its public suffix. A name that is a public suffix itself, or
// lies in the reverse trees, is returned as it is.
//
// Only the suffixes of registries count. The list has others, of companies that
// let others use names below a domain that they have registered: the registry
// knows github.io, and nobody.github.io as little as www.example.com.
func registrableName(name string) string {
	if strings.HasSuffix(name, ".arpa") || name == "." {
		return name
	}
	suffix, icann := publicsuffix.PublicSuffix(name)
	for !icann {
		_, parent, ok := strings.Cut(suffix, ".")
		if !ok {
			break // a top-level domain that the list does not know
		}
		suffix, icann = publicsuffix.PublicSuffix(parent)
	}
	rest, ok := strings.CutSuffix(name, "."+suffix)
	if !ok {
		return name
	}
	return name[strings.LastIndexByte(rest, '.')+1:]
}
