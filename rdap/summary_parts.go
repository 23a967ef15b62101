package rdap

import (
	"strconv"
	"strings"
)

// dates sets the three dates. An unrecognized date is a problem and stays absent.
func (s *summarizer) dates(events []Event) {
	var byRegistrar, lastUpdate string
	for i, e := range events {
		var dst *string
		action, _ := ParseEventAction(e.Action)
		switch action {
		case EventRegistration:
			dst = &s.out.Created
		case EventLastChanged:
			dst = &s.out.Updated
		case EventExpiration:
			dst = &s.out.Expires
		case EventRegistrarExpiration:
			dst = &byRegistrar
		case EventLastUpdate:
			dst = &lastUpdate
		default:
			continue
		}
		if e.Raw == "" {
			continue
		}
		t, _, form := parseDate(e.Raw)
		if form != dateRFC3339 {
			p := Problem{Path: "events[" + strconv.Itoa(i) + "].eventDate", Message: nonstandardDate}
			if form == dateInvalid {
				p.Message, p.Discarded = invalidDate, true
			}
			s.addProblem(p)
			if p.Discarded {
				continue
			}
		}
		// Of several changes the last counts, and of several registrations the first.
		if *dst != "" {
			other, _, _ := parseDate(*dst)
			if t.Before(other) == (dst != &s.out.Created) || t.Equal(other) {
				continue
			}
		}
		*dst = e.Raw
	}
	if s.out.Expires == "" {
		s.out.Expires = byRegistrar
	}
	if s.out.Updated == "" {
		s.out.Updated = lastUpdate
	}
}

// registrar sets the registrar's name and IANA number.
func (s *summarizer) registrar(entities []Entity) {
	e := FindRole(entities, "registrar")
	if e == nil {
		return
	}
	s.out.RegistrarID = RegistrarID(e.PublicIDs)
	s.out.Registrar = nameOf(e, s.contact(&e.Card))
	if s.out.Registrar == "" && s.out.RegistrarID != "" {
		s.out.Registrar = "IANA " + s.out.RegistrarID
	}
}

// RegistrarID returns the registrar's IANA number. Registries add their own numbers, in
// any order.
func RegistrarID(ids []PublicID) string {
	for _, id := range ids {
		if strings.EqualFold(strings.TrimSpace(id.Type), "IANA Registrar ID") {
			return strings.TrimSpace(id.Identifier)
		}
	}
	return ""
}

func nameOf(e *Entity, c *Contact) string {
	switch {
	case c.Name != "":
		return c.Name
	case c.Org != "":
		return c.Org
	}
	return e.Handle
}

// holder sets the registrant. It prefers organisations, because registries list maintainers and
// persons under the same role. Otherwise it takes the first registrant with a name, or else the
// first.
func (s *summarizer) holder(entities []Entity) {
	best := 0
	for i := range entities {
		e := &entities[i]
		if !e.HasRole("registrant") {
			continue
		}
		c := s.contact(&e.Card)
		rank := 1
		switch {
		case c.Kind == "org":
			rank = 3
		case c.Name != "" || c.Org != "":
			rank = 2
		}
		if name := nameOf(e, c); name != "" && rank > best {
			best, s.out.Holder = rank, name
		}
	}
}

// abuse sets the e-mail address and phone number for abuse reports, from the registrar's
// contact if there is one. Both come from one contact: the first contact with an address, else
// the first with a number.
func (s *summarizer) abuse(rec *Record) {
	if registrar := FindRole(rec.Entities, "registrar"); registrar != nil {
		s.abuseIn(registrar.Entities)
		if s.out.AbuseEmail == "" && registrar.HasRole("abuse") {
			s.abuseOf(&registrar.Card)
		}
		if s.out.AbuseEmail != "" || s.out.AbusePhone != "" {
			return
		}
	}
	if rec.Class == ClassEntity && (s.out.AbuseEmail != "" || containsFold(rec.Roles, "abuse")) {
		s.abuseOf(&rec.Card)
	}
	s.abuseIn(rec.Entities)
}

// abuseIn checks the entities of one level before the entities nested in them.
func (s *summarizer) abuseIn(entities []Entity) {
	for i := range entities {
		if s.out.AbuseEmail != "" {
			return
		}
		if e := &entities[i]; e.HasRole("abuse") {
			s.abuseOf(&e.Card)
		}
	}
	for i := range entities {
		if s.out.AbuseEmail != "" {
			return
		}
		if e := &entities[i]; len(e.Entities) > 0 {
			s.abuseIn(e.Entities)
		}
	}
}

// abuseOf sets address and number from a contact if it has an address or no number is
// known yet.
func (s *summarizer) abuseOf(card *Card) {
	c := s.contact(card)
	if mail, phone := c.mail(), c.phone(); mail != "" || s.out.AbusePhone == "" {
		s.out.AbuseEmail, s.out.AbusePhone = mail, phone
	}
}

// mail returns the e-mail address for abuse reports, else the first address, which may be a
// contact URI.
func (c *Contact) mail() string {
	if c.AbuseEmail != "" {
		return c.AbuseEmail
	}
	if len(c.Emails) > 0 {
		return c.Emails[0]
	}
	for _, uri := range c.ContactURIs {
		if address := mailAddress(uri); address != "" {
			return address
		}
	}
	return ""
}

// phone returns the first number that is not a fax number.
func (c *Contact) phone() string {
	for _, p := range c.Phones {
		if !p.Fax() {
			return p.String()
		}
	}
	return ""
}

// FindRole returns the first entity with the role, or nil.
func FindRole(entities []Entity, role Role) *Entity {
	for i := range entities {
		if e := &entities[i]; e.HasRole(role) {
			return e
		}
	}
	return nil
}
