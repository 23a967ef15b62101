package render

import (
	"slices"
	"strings"

	"github.com/rdapq/rdapq/rdap"
)

// maxContacts limits the contacts in text that is not verbose.
const maxContacts = 8

// roleLabels maps roles to abbreviations (RFC 9083 section 10.2.4).
var roleLabels = map[string]string{
	"administrative": "Admin",
	"technical":      "Tech",
	"noc":            "NOC",
	"notifications":  "Notify",
}

func roleLabel(roles []string) string {
	if len(roles) == 0 {
		return "Contact"
	}
	role := strings.ToLower(strings.TrimSpace(roles[0]))
	if l, ok := roleLabels[role]; ok {
		return l
	}
	if role != "" && role[0] >= 'a' && role[0] <= 'z' {
		role = string(role[0]-'a'+'A') + role[1:]
	}
	return role
}

// A person is a contact with all its roles in the response.
type person struct {
	roles   []string
	handles []string
	contact rdap.Contact
	remarks []rdap.Notice
	status  []string
}

// personOf returns an entity as a person. Roles are in lower case.
func (p *page) personOf(e *rdap.Entity) person {
	one := person{contact: e.ContactIn(p.opt.Languages), remarks: e.Remarks, status: e.Status}
	for _, role := range e.Roles {
		if role = strings.ToLower(strings.TrimSpace(role)); role != "" && !slices.Contains(one.roles, role) {
			one.roles = append(one.roles, role)
		}
	}
	if e.Handle != "" {
		one.handles = []string{e.Handle}
	}
	return one
}

// bare reports whether c has nothing but a handle.
func (c *person) bare() bool {
	return c.contact.Name == "" && c.contact.Org == "" && len(c.contact.Emails)+len(c.contact.Phones)+
		len(c.contact.Addresses)+len(c.contact.ContactURIs) == 0
}

// maxPeople limits the entities that are compared with each other, and maxRedactions limits the
// redactions that are shown. A response may list a million.
const (
	maxPeople     = 200
	maxRedactions = 500
)

// people returns the contacts among entities and nested in entities, except those that leftOut
// excludes. An entity that is listed once per role becomes one person, and contacts with only a
// handle share a row.
func (p *page) people(entities []rdap.Entity, without []string) []person {
	var out []person
next:
	for _, e := range within(entities, without) {
		one := p.personOf(e)
		for j := range out {
			same := &out[j]
			switch {
			case one.bare() && same.bare() && len(one.handles) > 0 && slices.Equal(one.roles, same.roles):
				same.handles = append(same.handles, one.handles...)
				same.remarks = append(same.remarks[:len(same.remarks):len(same.remarks)], one.remarks...)
				continue next
			case !one.bare() && (sameContact(&one.contact, &same.contact) || sameHandle(&one, same)):
				same.roles = union(same.roles, one.roles)
				same.handles = union(same.handles, one.handles)
				if one.reaches() > same.reaches() {
					same.contact = one.contact
				}
				if len(same.remarks) == 0 {
					same.remarks = one.remarks
				}
				continue next
			}
		}
		out = append(out, one)
	}
	for i := range out {
		slices.SortStableFunc(out[i].roles, func(a, b string) int { return roleRank(a) - roleRank(b) })
	}
	slices.SortStableFunc(out, func(a, b person) int { return rank(&a) - rank(&b) })
	return out
}

// within returns the entities to show. It includes nested entities that have more than a
// handle, because registries list maintainers there.
func within(entities []rdap.Entity, without []string) []*rdap.Entity {
	var out, inner []*rdap.Entity
	for i := range entities[:min(len(entities), maxPeople)] {
		e := &entities[i]
		if leftOut(e, without) {
			continue
		}
		out = append(out, e)
		for k := range e.Entities[:min(len(e.Entities), maxPeople)] {
			if in := &e.Entities[k]; !in.IsZero() && !leftOut(in, without) {
				inner = append(inner, in)
			}
		}
	}
	return append(out, inner[:min(len(inner), maxPeople)]...)
}

// leftOut reports whether a contact has no row among the other contacts. Registrars have their
// own row, and so do contacts whose roles are all in without.
func leftOut(e *rdap.Entity, without []string) bool {
	if len(e.Roles) == 0 {
		return false
	}
	if e.HasRole("registrar") && contains(without, "registrar") {
		return true
	}
	return !slices.ContainsFunc(e.Roles, func(role string) bool { return !contains(without, role) })
}

// union appends the elements of more that list lacks.
func union(list, more []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// rank returns the position of a contact: the registrant is first, and contacts with an address
// precede bare handles.
func rank(c *person) int {
	best := len(roleOrder)
	for _, role := range c.roles {
		best = min(best, roleRank(role))
	}
	if c.bare() {
		best += len(roleOrder) + 1
	}
	return best
}

var roleOrder = [...]string{"registrant", "administrative", "technical", "billing"}

func roleRank(role string) int {
	for i, r := range roleOrder {
		if strings.EqualFold(role, r) {
			return i
		}
	}
	return len(roleOrder)
}

// sameHandle reports whether both persons are the same contact, described in different detail.
func sameHandle(a, b *person) bool {
	return len(a.handles) == 1 && slices.Contains(b.handles, a.handles[0]) && a.contact.Name == b.contact.Name
}

// reaches returns the number of addresses and numbers of a contact.
func (c *person) reaches() int {
	return len(c.contact.Emails) + len(c.contact.Phones) + len(c.contact.Addresses) + len(c.contact.ContactURIs)
}

func sameContact(a, b *rdap.Contact) bool {
	return a.Name == b.Name && a.Org == b.Org && slices.Equal(a.Emails, b.Emails) &&
		slices.Equal(a.ContactURIs, b.ContactURIs) &&
		slices.EqualFunc(a.Addresses, b.Addresses, func(a, b rdap.Address) bool { return address(a) == address(b) }) &&
		slices.EqualFunc(a.Phones, b.Phones, func(a, b rdap.Phone) bool { return a.String() == b.String() })
}

// contacts writes a row for each contact, with its redactions.
func (p *page) contacts(entities []rdap.Entity, redacted []rdap.Redaction, without []string) {
	p.blank()
	rest := redacted[:min(len(redacted), maxRedactions)]
	list := p.people(entities, without)
	for i := range list {
		c := &list[i]
		var of []rdap.Redaction
		of, rest = redactionsOf(rest, c.roles, entities)
		if i >= maxContacts && !p.opt.Verbose {
			continue
		}
		p.row(roleLabel(c.roles), p.person(c, of)...)
	}
	shown := len(list)
	if !p.opt.Verbose {
		shown = min(shown, maxContacts)
	}
	if more := len(list) - shown + max(len(entities)-maxPeople, 0); more > 0 {
		p.row("", line{{"and " + count(more, "more contact"), styleDim}})
	}
	p.redactions(rest)
	if more := len(redacted) - maxRedactions; more > 0 {
		p.row("", line{{"and " + grouped(int64(more)) + " more", styleDim}})
	}
}

// person returns the data of a contact, its name first.
func (p *page) person(c *person, redacted []rdap.Redaction) []line {
	lines := p.contactLines(&c.contact)
	hidden := redactionLines(redacted)
	privacy := privacyNote(c.remarks)
	switch {
	case len(lines) > 0 || privacy != "":
		if privacy != "" {
			lines = append(lines, line{{privacy, styleWarn}})
		}
		if p.opt.Verbose && len(c.handles) > 0 {
			lines[0] = lines[0].note(strings.Join(c.handles, ", "))
		}
	case len(c.handles) > 0:
		lines = []line{text(strings.Join(c.handles, ", "))}
	case slices.ContainsFunc(c.contact.Problems, func(problem rdap.Problem) bool { return problem.Discarded }):
		lines = []line{{{"unreadable", styleDim}}}
	case len(hidden) == 0:
		lines = []line{{{notPublished, styleDim}}}
	}
	if len(c.roles) > 1 && len(lines) > 0 {
		lines[0] = lines[0].and(styleDim, " (also "+strings.Join(c.roles[1:], ", ")+")")
	}
	if p.opt.Verbose && len(c.status) > 0 {
		lines = append(lines, line{{"status " + strings.Join(c.status, ", "), styleDim}})
	}
	return slices.Concat(lines, hidden, p.remarkLines(c.remarks))
}

func (p *page) contactLines(c *rdap.Contact) []line {
	var lines []line
	add := func(s string) {
		if s = strings.TrimSpace(flat(s)); s != "" {
			lines = append(lines, text(s))
		}
	}
	add(c.Name)
	if c.Org != c.Name {
		add(c.Org)
	}
	for _, a := range c.Addresses {
		add(address(a))
	}
	add(reach(c))
	add(strings.Join(c.URLs, " · "))
	if p.opt.Verbose {
		add(c.Title)
		for _, problem := range c.Problems {
			if problem.Discarded {
				lines = append(lines, line{{"part of this contact is unreadable", styleDim}})
				break
			}
		}
	}
	return lines
}

// reach returns the addresses and numbers of a contact.
func reach(c *rdap.Contact) string {
	parts := slices.Clone(c.Emails)
	slices.Sort(parts)
	parts = slices.Compact(parts)
	if len(parts) == len(c.Emails) {
		parts = slices.Clone(c.Emails) // use the server's order if it has no duplicates
	}
	for _, uri := range c.ContactURIs {
		scheme, address, ok := strings.Cut(uri, ":")
		address, _, _ = strings.Cut(address, "?")
		if !ok || !strings.EqualFold(scheme, "mailto") {
			parts = append(parts, uri)
		} else if !slices.Contains(parts, address) {
			parts = append(parts, address)
		}
	}
	for _, t := range c.Phones {
		number := t.String()
		if t.Fax() {
			number = "fax " + number
		}
		if !slices.Contains(parts, number) {
			parts = append(parts, number)
		}
	}
	return strings.Join(parts, " · ")
}

func address(a rdap.Address) string {
	parts := slices.Clone(a.Lines)
	switch country := firstOf(a.Country, a.CountryCode); {
	case country == "" || slices.Contains(parts, country):
	case len(parts) == 0: // without other parts, it would look like a name
		return "country " + country
	default:
		parts = append(parts, country)
	}
	return strings.Join(parts, ", ")
}
