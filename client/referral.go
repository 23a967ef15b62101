package client

import (
	"net/url"
	"slices"
	"strings"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/rdap"
)

// A Referral selects whether the registrar's record of a domain is looked up after the
// registry's.
type Referral string

const (
	// ReferralNone queries the registry only. An empty Referral means the same.
	ReferralNone Referral = "none"
	// ReferralRegistrar queries the registry, and then the registrar that the record
	// links to (rel "related") or, without such a link, the URL that
	// Config.RegistrarURLs has for the registrar's IANA ID. The result is
	// Result.Registrar and does not change the registry's Result. When a batch is
	// ended, registrars not queried yet get CodeCanceled.
	ReferralRegistrar Referral = "registrar"
)

// DefaultReferralDepth is the default maximum length of a chain of links from a registry
// to a registrar and beyond.
const DefaultReferralDepth = 3

// maxLinks limits the links of one record that are followed: a network may have
// thousands of links to smaller ones.
const maxLinks = 16

// A linkTarget is a link of a record that may be followed.
type linkTarget struct {
	to       *url.URL
	relation Relation         // empty: to the registrar's record of a domain
	from     *Result          // whose record has the link
	depth    int              // 1: from is the registry's
	source   bootstrap.Source // of to
	entry    string
}

// linksWanted reports which links of a result are followed: to the registrar, and those
// of Config.Related.
func (c *Client) linksWanted(r *Result) (registrar, relations bool) {
	if r.Verdict != Registered && r.Verdict != Found || r.Registrar != nil || r.Related != nil {
		return false, false
	}
	switch r.Query.Type {
	case TypeDomain:
		mode := r.Query.Referral
		if mode == "" {
			mode = c.cfg.Referral
		}
		registrar = mode == ReferralRegistrar && r.Verdict == Registered && !strings.HasSuffix(r.Query.Name, ".arpa")
		return registrar, len(c.cfg.Related) > 0
	case TypeIP, TypeAutnum:
		return false, len(c.cfg.Related) > 0
	}
	return false, false
}

// registrarTargets returns links to the registrar's record of r's domain, except those
// to the record itself.
func (c *Client) registrarTargets(r *Result, rec *rdap.Record, base *url.URL, own []*url.URL, depth int) []linkTarget {
	var list []linkTarget
	for _, u := range registrarLinks(rec, r.Query, base) {
		if !isAmong(u, own) {
			list = append(list, linkTarget{to: u, from: r, depth: depth, source: bootstrap.SourceReferral})
		}
	}
	if len(list) > 0 || depth > 1 {
		return list[:min(len(list), maxLinks)]
	}
	registrar := rdap.FindRole(rec.Entities, "registrar")
	if registrar == nil {
		return nil
	}
	id := rdap.RegistrarID(registrar.PublicIDs)
	server, users := c.registrarURL(id)
	if server == "" {
		return nil
	}
	u := joinURL(server, r.Query.Path())
	if u == nil {
		return nil
	}
	p := linkTarget{to: u, from: r, depth: depth, source: bootstrap.SourceReferral, entry: "IANA registrar " + id}
	if users {
		p.source = bootstrap.SourceOverride
	}
	return []linkTarget{p}
}

// relationTargets returns the links of Config.Related.
func (c *Client) relationTargets(r *Result, rec *rdap.Record, base *url.URL) []linkTarget {
	var list []linkTarget
	for _, relation := range c.cfg.Related {
		links := relationLinks(rec, relation, base)
		for _, u := range links[:min(len(links), maxLinks)] {
			list = append(list, linkTarget{to: u, relation: relation, from: r, depth: 1, source: bootstrap.SourceReferral})
		}
	}
	return list
}

// warnUnlinked warns of relations of Config.Related without a link, because a missing
// element of Result.Related could also be a failure.
func (c *Client) warnUnlinked(r *Result, related []linkTarget, own []*url.URL) {
	for i, relation := range c.cfg.Related {
		linked := func(p linkTarget) bool { return p.relation == relation && !isAmong(p.to, own) }
		if !slices.ContainsFunc(related, linked) && !slices.Contains(c.cfg.Related[:i], relation) {
			r.warn(WarnNoLink, "the record has no link with relation "+string(relation))
		}
	}
}

// query returns the query of the record at p.
func (p linkTarget) query() Query {
	if p.relation == "" {
		q := p.from.Query
		q.URL, q.Note = p.to.String(), ""
		return q
	}
	if q, ok, err := parseURL(p.to.String(), "", ""); ok && err == nil {
		return q
	}
	return Query{Text: weburl.Redact(p.to.String()), Type: p.from.Query.Type, URL: p.to.String()}
}

// joinURL returns the URL of a query at a server, nil if base is not a valid URL.
func joinURL(base, path string) *url.URL {
	u, err := url.Parse(bootstrap.JoinURL(base, path))
	if err != nil || u.Host == "" {
		return nil
	}
	return u
}

// isAmong reports whether list has a URL that is equivalent to u.
func isAmong(u *url.URL, list []*url.URL) bool {
	key := sameLink(u)
	return slices.ContainsFunc(list, func(other *url.URL) bool { return sameLink(other) == key })
}

// A Relation relates a network, block of AS numbers or reverse domain to those that
// contain it or that it contains.
type Relation string

// Relations (RFC 9910). In links they are written with or without the prefix "rdap-".
const (
	RelationUp     Relation = "up"     // the next larger one
	RelationDown   Relation = "down"   // the next smaller ones
	RelationTop    Relation = "top"    // the largest one
	RelationBottom Relation = "bottom" // the smallest ones
)

// Relations returns all relations.
func Relations() []Relation {
	return []Relation{RelationUp, RelationDown, RelationTop, RelationBottom}
}
