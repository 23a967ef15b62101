package render

import (
	"strings"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/rdap"
)

// entity writes a person or organisation (RFC 9083 section 5.1).
func (p *page) entity(r *client.Result, rec *rdap.Record) {
	p.verdict(r, "")
	p.blank()
	p.otherObject(r)
	c := rec.ContactIn(p.opt.Languages)
	redacted, rest := redactionsOf(rec.Redacted, rec.Roles, rec.Entities)
	lines := p.contactLines(&c)
	if words := privacyNote(rec.Remarks); words != "" {
		lines = append(lines, line{{words, styleWarn}})
	}
	lines = append(lines, redactionLines(redacted)...)
	if len(lines) == 0 {
		lines = []line{{{notPublished, styleDim}}}
	}
	p.row("Contact", lines...)
	p.value("Kind", kindWords(c.Kind))
	p.value("Handle", rec.Handle)
	p.value("Roles", strings.ToLower(strings.Join(rec.Roles, ", ")))
	for _, id := range rec.PublicIDs {
		p.row("Public ID", text(id.Identifier).note(id.Type))
	}
	p.statuses(rec.Status)
	p.events(rec.Events, nil)
	p.acted(rec.AsEventActor)
	s := r.Summary()
	p.abuse(&s, rec.Entities, "")
	p.held(rec)
	p.contacts(rec.Entities, rest, []string{"abuse"})
	p.remarks(rec.Remarks)
}

// kindWords returns the kind of a contact (RFC 6350 section 6.1.4) in words.
func kindWords(kind string) string {
	switch kind {
	case "org":
		return "organisation"
	case "individual":
		return "person"
	}
	return kind
}

// acted writes the actions of the entity.
func (p *page) acted(events []rdap.Event) {
	var lines []line
	for _, e := range events[:min(len(events), maxRemarkLines)] {
		lines = append(lines, p.happened(e))
	}
	p.row("Event actor", lines...)
}

// held writes the networks and AS numbers of an entity.
func (p *page) held(rec *rdap.Record) {
	p.blank()
	networks := make([]line, len(rec.Networks))
	for i := range rec.Networks {
		networks[i] = summaryLine(&rec.Networks[i])
	}
	p.row("Networks", networks...)
	numbers := make([]line, len(rec.Autnums))
	for i := range rec.Autnums {
		numbers[i] = summaryLine(&rec.Autnums[i])
	}
	p.row("AS numbers", numbers...)
}
