package client

import (
	"net/url"
	"slices"
	"strings"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/rdap"
)

// A Referral says whether the registrar of a domain is asked for its record
// after the registry.
type Referral string

const (
	// ReferralNone asks the registry only. It is what an empty Referral means.
	ReferralNone Referral = "none"
	// ReferralRegistrar asks the registry, and then the registrar that its answer
	// links to (rel "related") or, where there is no such link, the one that
	// Config.RegistrarURLs has for its IANA number. What comes of that is
	// Result.Registrar; nothing of it changes the registry's Result. A batch that
	// comes to its end before asks no more registrars: theirs are CodeCanceled.
	ReferralRegistrar Referral = "registrar"
)

// DefaultReferralDepth is how many links of a chain are followed: from a
// registry to a registrar, and from there on.
const DefaultReferralDepth = 3

// maxLinks bounds the links of one answer that are followed: a network may list
// thousands below it.
const maxLinks = 16

// A pointer is what a record points to.
type linkTarget struct {
	to       *url.URL
	relation Relation         // empty: it is the registrar's record of a domain
	from     *Result          // which points there
	depth    int              // 1: of is the registry's
	source   bootstrap.Source // how to was found
	entry    string
}

// wants reports whether links of a result are to be followed: to the registrar,
// and by relations.
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

// registrarPointers returns where the registrar's record of r's domain is said
// to be, which is under none of its own names.
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

// relationPointers returns what r is related to.
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

// warnUnlinked warns of relations that were asked for and that lead nowhere: who
// sees nothing of them would take that for no answer at all.
func (c *Client) warnUnlinked(r *Result, related []linkTarget, own []*url.URL) {
	for i, relation := range c.cfg.Related {
		linked := func(p linkTarget) bool { return p.relation == relation && !isAmong(p.to, own) }
		if !slices.ContainsFunc(related, linked) && !slices.Contains(c.cfg.Related[:i], relation) {
			r.warn(WarnNoLink, "the answer has no link "+string(relation)+" to follow")
		}
	}
}

// query returns what is asked at p.
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

// joinURL returns the URL of a query at a server, nil if that has no URL.
func joinURL(base, path string) *url.URL {
	u, err := url.Parse(bootstrap.JoinURL(base, path))
	if err != nil || u.Host == "" {
		return nil
	}
	return u
}

// isAmong reports whether u is one of these, however it is spelled.
func isAmong(u *url.URL, list []*url.URL) bool {
	key := sameLink(u)
	return slices.ContainsFunc(list, func(other *url.URL) bool { return sameLink(other) == key })
}

// A Relation is one between objects of a registry of numbers: a network and
// those around it or inside it.
type Relation string

// Relations (RFC 9910). Links have them with "rdap-" in front or without.
const (
	RelationUp     Relation = "up"     // the next wider one
	RelationDown   Relation = "down"   // the next smaller ones
	RelationTop    Relation = "top"    // the widest one
	RelationBottom Relation = "bottom" // the smallest ones
)

// Relations returns all there are.
func Relations() []Relation {
	return []Relation{RelationUp, RelationDown, RelationTop, RelationBottom}
}
