package render

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/dnsname"
	"github.com/rdapq/rdapq/rdap"
)

// domain writes a domain (RFC 9083 section 5.3).
func (p *page) domain(r *client.Result, rec *rdap.Record) {
	p.verdict(r, "")
	p.blank()
	s := r.Summary()
	reverse := strings.HasSuffix(r.Query.Name, ".arpa")
	p.otherObject(r)
	p.unicodeName(r, rec)
	if reverse && rec.Network != nil {
		p.rangeOf(rec.Network)
	}
	if !reverse || s.Registrar != "" {
		p.registrar(&s, rec.Entities)
	}
	p.dates(rec, !reverse)
	p.statuses(rec.Status)
	p.nameservers(rec.Nameservers, !reverse)
	p.secureDNS(rec.SecureDNS)
	p.abuse(&s, rec.Entities, "")
	p.variants(rec.Variants)
	if p.opt.Verbose {
		p.value("Handle", rec.Handle)
	}
	p.contacts(rec.Entities, rec.Redacted, []string{"registrar", "abuse"})
	p.remarks(rec.Remarks)
}

// otherObject warns of a response about another object.
func (p *page) otherObject(r *client.Result) {
	if r.Other != "" {
		p.row("Note", line{{otherObjectNote(r), styleWarn}})
	}
}

// otherObjectNote returns a warning if the response is about another object, or else "".
func otherObjectNote(r *client.Result) string {
	if r.Other == "" {
		return ""
	}
	return "the response is about " + r.Other
}

// desyncNote returns a warning if responses of the server did not match their requests, or else
// "".
func desyncNote(r *client.Result) string {
	if !r.Desync {
		return ""
	}
	return "desync: HTTP/1.1 responses did not match their requests"
}

// unicodeName writes the Unicode form of the name, if it differs from the name itself.
func (p *page) unicodeName(r *client.Result, rec *rdap.Record) {
	if name := dnsname.Display(rec.UnicodeName); name != "" && name != r.Query.Name && name != dnsname.Display(rec.LDHName) {
		p.value("Unicode", name)
	}
}

// registrar writes the registrar and its contact data.
func (p *page) registrar(s *rdap.Summary, entities []rdap.Entity) {
	first := line{{notPublished, styleDim}}
	if s.Registrar != "" {
		first = text(p.nameIn(s.Registrar, entities))
		if id := "IANA " + s.RegistrarID; s.RegistrarID != "" && s.Registrar != id {
			first = first.note(id)
		}
	}
	lines := []line{first}
	for i := range entities[:min(len(entities), maxPeople)] {
		if e := &entities[i]; e.HasRole("registrar") {
			lines = append(lines, p.registrarContact(e)...)
			break
		}
	}
	p.row("Registrar", lines...)
}

// registrarContact returns the contact data of the registrar itself, and its
// identifiers other than IANA's.
func (p *page) registrarContact(e *rdap.Entity) []line {
	var lines []line
	c := e.ContactIn(p.opt.Languages)
	if p.opt.Verbose {
		for _, a := range c.Addresses {
			lines = append(lines, text(address(a)))
		}
	}
	var ways []string
	if !e.HasRole("abuse") { // the abuse contact has its own row
		ways = nonEmpty(reach(&c))
	}
	urls := c.URLs
	for _, l := range e.Links {
		if len(urls) == 0 && l.HasRel("about") && l.Href != "" {
			urls = []string{l.Href}
		}
	}
	for _, way := range append(ways, urls[:min(len(urls), maxRemarkLines)]...) {
		lines = append(lines, text(way))
	}
	for _, id := range e.PublicIDs[:min(len(e.PublicIDs), maxRemarkLines)] {
		if id.Identifier != "" && !strings.EqualFold(strings.TrimSpace(id.Type), "IANA Registrar ID") {
			lines = append(lines, text(id.Identifier).note(id.Type))
		}
	}
	if words := privacyNote(e.Remarks); words != "" {
		lines = append(lines, line{{words, styleWarn}})
	}
	return append(lines, p.remarkLines(e.Remarks)...)
}

// dates writes the start, the last change and the end of the registration. due requests rows
// for a missing start and end, for classes that normally have them.
func (p *page) dates(rec *rdap.Record, due bool) {
	missing := line{{notPublished, styleDim}}
	if e, ok := event(rec.Events, eventRegistration); ok {
		p.row("Created", p.when(e))
	} else if due {
		p.row("Created", missing)
	}
	expires, ok := event(rec.Events, eventExpiration)
	registrars, both := event(rec.Events, eventRegistrarExpiration)
	if !ok {
		expires, ok, both = registrars, both, false
	}
	switch {
	case ok:
		p.row("Expires", p.deadline(expires))
	case due:
		p.row("Expires", missing)
	}
	if both && !p.sameTime(registrars, expires) {
		p.row("", p.deadline(registrars).and(styleDim, " according to the registrar"))
	}
	p.events(rec.Events, []string{eventRegistration, eventExpiration, eventRegistrarExpiration})
}

// sameTime reports whether two events have the same time, or the same day if one has
// only a date.
func (p *page) sameTime(a, b rdap.Event) bool {
	switch {
	case a.Time.IsZero() || b.Time.IsZero():
		return a.Raw == b.Raw
	case a.DateOnly || b.DateOnly:
		return dayOf(p.moment(a)) == dayOf(p.moment(b))
	}
	return a.Time.Equal(b.Time)
}

func (p *page) nameservers(list []rdap.Nameserver, due bool) {
	var lines []line
	for i := range list {
		ns := &list[i]
		name := dnsname.Display(firstOf(ns.LDHName, ns.UnicodeName, ns.Handle))
		if name == "" {
			continue
		}
		l := text(name)
		for _, addresses := range [2][]string{ns.V4, ns.V6} {
			for _, a := range addresses {
				l = l.and(styleDim, "  "+a)
			}
		}
		lines = append(lines, l)
	}
	if lines == nil && due {
		lines = []line{{{"not published", styleDim}}}
	}
	p.row("Nameservers", lines...)
}

func (p *page) secureDNS(s *rdap.SecureDNS) {
	var l line
	switch s.Signed() {
	case rdap.TriYes:
		l = line{{"signed", styleOK}}
	case rdap.TriNo:
		l = line{{"unsigned", stylePlain}}
	default:
		l = line{{notPublished, styleDim}}
	}
	if s != nil {
		var parts []string
		for _, ds := range s.DS {
			if ds.KeyTag == nil {
				continue
			}
			// A key often has several digests.
			if part := "DS " + strconv.FormatUint(uint64(*ds.KeyTag), 10) + algorithm(ds.Algorithm); !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
		if n := len(s.Keys); n > 0 {
			parts = append(parts, count(n, "key"))
		}
		l = l.note(strings.Join(parts, "; "))
	}
	p.row("DNSSEC", l)
	if s != nil && p.opt.Verbose {
		p.row("", keyLines(s)...)
	}
}

// keyLines returns DS and key data in the format of zone files (RFC 4034).
func keyLines(s *rdap.SecureDNS) []line {
	var lines []line
	for _, ds := range s.DS[:min(len(s.DS), maxKeys)] {
		lines = append(lines, line{{"DS " + numbers(ds.KeyTag, ds.Algorithm, ds.DigestType) + " " + ds.Digest, styleDim}})
	}
	for _, k := range s.Keys[:min(len(s.Keys), maxKeys)] {
		lines = append(lines, line{{"DNSKEY " + numbers(k.Flags, k.Protocol, k.Algorithm) + " " + k.PublicKey, styleDim}})
	}
	if s.MaxSigLife != nil {
		lines = append(lines, line{{"maximum signature lifetime " + grouped(int64(*s.MaxSigLife)) + " seconds", styleDim}})
	}
	return lines
}

// maxKeys limits the keys in text.
const maxKeys = 50

// numbers formats numbers, with a question mark for an absent number.
func numbers(list ...*uint32) string {
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = "?"
		if n != nil {
			parts[i] = strconv.FormatUint(uint64(*n), 10)
		}
	}
	return strings.Join(parts, " ")
}

func algorithm(n *uint32) string {
	if n == nil {
		return ""
	}
	return ", algorithm " + strconv.FormatUint(uint64(*n), 10)
}

// variants writes the variants of the domain.
func (p *page) variants(list []rdap.Variant) {
	var lines []line
	for _, v := range list {
		var names []string
		for _, n := range v.Names {
			if name := dnsname.Display(firstOf(n.UnicodeName, n.LDHName)); name != "" {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			lines = append(lines, text(strings.Join(names, ", ")).note(strings.Join(v.Relations, ", ")))
		}
	}
	p.row("Variants", lines...)
}

// maxRemarkLines limits the lines of remarks in text that is not verbose.
const maxRemarkLines = 6

// remarks writes the remarks about the object.
func (p *page) remarks(list []rdap.Notice) {
	p.blank()
	var lines []line
	for _, n := range p.inLanguage(list) {
		if n.Truncation() != "" {
			continue // truncations writes this remark
		}
		for _, d := range n.Description {
			for _, l := range Lines(d) {
				if strings.TrimSpace(l) != "" {
					lines = append(lines, text(l))
				}
			}
		}
	}
	if len(lines) > maxRemarkLines && !p.opt.Verbose {
		more := len(lines) - maxRemarkLines + 1
		lines = append(lines[:maxRemarkLines-1], line{{"and " + count(more, "more line"), styleDim}})
	}
	p.row("Remarks", lines...)
}

// nameserver writes a nameserver (RFC 9083 section 5.2).
func (p *page) nameserver(r *client.Result, rec *rdap.Record) {
	p.verdict(r, "")
	p.blank()
	s := r.Summary()
	p.otherObject(r)
	p.unicodeName(r, rec)
	addresses := append(texts(rec.V4), texts(rec.V6)...)
	if len(addresses) == 0 {
		addresses = []line{{{notPublished, styleDim}}}
	}
	p.row("Addresses", addresses...)
	p.value("Handle", rec.Handle)
	if s.Registrar != "" {
		p.registrar(&s, rec.Entities)
	}
	p.statuses(rec.Status)
	p.events(rec.Events, nil)
	p.abuse(&s, rec.Entities, "")
	p.contacts(rec.Entities, rec.Redacted, []string{"registrar", "abuse"})
	p.remarks(rec.Remarks)
}
