package render

import (
	"strings"

	"github.com/rdapq/rdapq/rdap"
)

// maxAbuse limits the abuse contacts in text that is not verbose.
const maxAbuse = 4

// abuse writes the abuse contacts, which are all contacts with that role, in the order of
// [rdap.Summary.AbuseEmail].
func (p *page) abuse(s *rdap.Summary, entities []rdap.Entity, otherwise string) {
	list := p.abuseContacts(entities)
	shown := len(list)
	if !p.opt.Verbose && shown > maxAbuse+1 {
		shown = maxAbuse
	}
	var lines []line
	first := strings.Join(nonEmpty(s.AbuseEmail, s.AbusePhone), " · ")
	if first != "" && (len(list) == 0 || !strings.Contains(reach(&list[0].contact), firstOf(s.AbuseEmail, s.AbusePhone))) {
		lines = append(lines, text(first))
	}
	for i := range list[:shown] {
		lines = append(lines, p.abuseContact(&list[i], len(list) > 1)...)
	}
	if more := len(list) - shown; more > 0 {
		lines = append(lines, line{{"and " + count(more, "more contact"), styleDim}})
	}
	if len(lines) == 0 && otherwise != "" {
		lines = []line{{{otherwise, styleDim}}}
	}
	p.row("Abuse", lines...)
}

// abuseContact returns the addresses of an abuse contact, or its name if it has no address.
// With named, the name is always included.
func (p *page) abuseContact(c *person, named bool) []line {
	name := firstOf(c.contact.Name, c.contact.Org, strings.Join(c.handles, ", "))
	ways := reach(&c.contact)
	var l line
	switch {
	case ways != "" && (named || p.opt.Verbose):
		l = text(ways).note(name)
	case ways != "":
		l = text(ways)
	default:
		parts, missing := nonEmpty(name), "no contact address published"
		for _, a := range c.contact.Addresses {
			parts, missing = append(parts, address(a)), "no e-mail address or phone number published"
		}
		if words := privacyNote(c.remarks); words != "" {
			missing = words
		}
		l = text(strings.Join(parts, ", ")).note(missing)
	}
	return append([]line{l}, p.remarkLines(c.remarks)...)
}

// abuseContacts returns the abuse contacts: the registrar's first, then the contacts of each
// level before nested contacts.
func (p *page) abuseContacts(entities []rdap.Entity) []person {
	var found []*rdap.Entity
	for i := range entities[:min(len(entities), maxPeople)] {
		if e := &entities[i]; e.HasRole("registrar") {
			found = appendAbuse(found, e.Entities)
		}
	}
	found = appendAbuse(found, entities)
	var out []person
	for _, e := range found {
		one := p.personOf(e)
		if one.bare() && len(one.handles) == 0 && len(one.remarks) == 0 {
			continue
		}
		if same := sameAs(out, &one); same != nil {
			same.handles = union(same.handles, one.handles)
			continue
		}
		out = append(out, one)
	}
	return out
}

// sameAs returns the entry of list that is the same contact, or nil.
func sameAs(list []person, one *person) *person {
	for i := range list {
		if o := &list[i]; sameContact(&o.contact, &one.contact) && (!one.bare() || equalLists(o.handles, one.handles)) {
			return o
		}
	}
	return nil
}

func equalLists(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }

// appendAbuse appends the entities with the role abuse, then such entities nested in any
// entity.
func appendAbuse(found []*rdap.Entity, entities []rdap.Entity) []*rdap.Entity {
	entities = entities[:min(len(entities), maxPeople)]
	add := func(e *rdap.Entity) {
		if len(found) < maxPeople {
			found = append(found, e)
		}
	}
	for i := range entities {
		if e := &entities[i]; e.HasRole("abuse") {
			add(e)
		}
	}
	for i := range entities {
		if len(found) < maxPeople && len(entities[i].Entities) > 0 {
			found = appendAbuse(found, entities[i].Entities)
		}
	}
	return found
}

func nonEmpty(list ...string) []string {
	out := list[:0]
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}
