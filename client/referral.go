package client

import (
	"io"
	"net/url"
	"slices"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/rdaplink"
	"github.com/rdapq/rdapq/internal/registrars"
	"github.com/rdapq/rdapq/internal/weburl"
)

// A Referral selects whether the registrar's record of a domain is looked up after the
// registry's record.
type Referral string

const (
	// ReferralNone queries the registry only. It is the default.
	ReferralNone Referral = "none"
	// ReferralRegistrar queries the registry, and then the registrar that the record links to
	// (rel "related"). Without such a link, it uses the URL in Config.RegistrarURLs for the
	// registrar's IANA ID. Result.Registrar has the registrar's result and does not change the
	// registry's. When a batch is ended, registrars not queried yet get CodeCanceled.
	ReferralRegistrar Referral = "registrar"
)

// BuiltinRegistrarURLs returns the built-in base URLs of registrars by their IANA
// numbers. Config.RegistrarURLs overrides them.
func BuiltinRegistrarURLs() map[string]string { return registrars.Builtin() }

// ParseRegistrars reads a list of registrars for Config.RegistrarURLs: base URLs by IANA
// numbers. The list is a table, or IANA's registry of registrar IDs in CSV or XML. A line of a
// table has a number and a URL, separated by white space; further fields, and comments that
// start with "#", are ignored. ParseRegistrars skips entries of IANA's list without a usable
// URL; a line of a table without a usable URL is an error. A list without entries is an error.
func ParseRegistrars(r io.Reader) (map[string]string, error) { return registrars.Parse(r) }

// DefaultReferralDepth is the default maximum length of a chain of links from a registry to a
// registrar and further.
const DefaultReferralDepth = 3

// maxLinks limits the links of one record that are followed: a network may have thousands of
// links to smaller networks.
const maxLinks = 16

// A linkTarget is a link of a record that may be followed.
type linkTarget struct {
	to       *url.URL
	relation Relation         // relation of the link; empty for a link to the registrar's record of a domain
	from     *Result          // result whose record has the link
	depth    int              // number of links from the registry's result, at least 1
	source   bootstrap.Source // source of to
	entry    string
}

// query returns the query for the record that the link points to.
func (p linkTarget) query() Query {
	if p.relation == "" {
		q := p.from.Query
		q.URL, q.note = p.to.String(), ""
		return q
	}
	if q, ok, err := parseURL(p.to.String(), "", ""); ok && err == nil {
		return q
	}
	return Query{Text: weburl.Redact(p.to.String()), Type: p.from.Query.Type, URL: p.to.String()}
}

// isAmong reports whether list has a URL that is equivalent to u.
func isAmong(u *url.URL, list []*url.URL) bool {
	key := rdaplink.Key(u)
	return slices.ContainsFunc(list, func(other *url.URL) bool { return rdaplink.Key(other) == key })
}

// A Relation relates a network, block of AS numbers or reverse domain to objects that contain
// it or that it contains.
type Relation string

// Relations (RFC 9910). Links name relations with or without the prefix "rdap-".
const (
	RelationUp     Relation = "up"     // the next larger object
	RelationDown   Relation = "down"   // the next smaller objects
	RelationTop    Relation = "top"    // the largest object
	RelationBottom Relation = "bottom" // the smallest objects
)

// Relations returns all relations.
func Relations() []Relation {
	return []Relation{RelationUp, RelationDown, RelationTop, RelationBottom}
}
