package render

import (
	"slices"
	"strings"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/rdap"
)

// registrarRecord is the heading of the rows from the registrar; the rows above it come from
// the registry.
const registrarRecord = "Registrar's record"

// registrarRecords writes the registrar's record of a domain, or the reason why there is none;
// see [client.Result.Registrar].
func (p *page) registrarRecords(r *client.Result) {
	shown := false
	for g := r.Registrar; g != nil; g = g.Registrar {
		p.blank()
		head := line{{registrarRecord, styleLabel}, {"  " + weburl.Redact(g.Server), stylePlain}}
		if g.Verdict != client.VerdictRegistered {
			p.headline(head.and(styleWarn, " ("+registrarFailure(g)+")"))
			switch {
			case ErrorOf(g) != nil:
				p.row("", line{{ErrorOf(g).Message, styleDim}})
			case len(g.Warnings) > 0:
				p.row("", line{{g.Warnings[0].Message, styleDim}})
			}
			continue
		}
		p.headline(head.note(foundRegistrar(r, g)))
		if s := connection(g); s != nil {
			p.row("Connection", s)
		}
		if !shown {
			shown = true
			p.registrarFacts(r, g)
		}
		if p.opt.Verbose {
			p.details(g)
		}
	}
}

func registrarFailure(g *client.Result) string {
	words := verdictText(g.Verdict)
	if g.Status != 0 {
		words += ", HTTP status " + number(int64(g.Status))
	}
	return words
}

// foundRegistrar returns how the registrar's server was found.
func foundRegistrar(r, g *client.Result) string {
	how := "linked by the previous record"
	switch {
	case g.Entry != "":
		how = foundBy(g.Source, g.Entry)
	case g == r.Registrar:
		how = "linked by the registry"
	}
	return how
}

// registrarFacts writes the registrar's additional data and its differences from the
// registry.
func (p *page) registrarFacts(r, g *client.Result) {
	m, err := r.Merged()
	if err != nil {
		return // the registry's response is not a record, and already on the page
	}
	if m.Registrar == nil {
		p.otherObject(g)
		return
	}
	for _, e := range m.Record.Events {
		if strings.EqualFold(e.Action, eventRegistrarExpiration) && !hasEvent(m.Registry.Events, e) {
			p.row("Expires", p.deadline(e).and(styleDim, " according to the registrar"))
		}
	}
	p.differences(m.Claims)
	s := rdap.Summary{}
	for _, c := range m.Claims {
		if c.Fact == client.FactAbuse && c.Party == client.PartyRegistrar {
			s = g.Summary()
			if !c.Differs && claimed(m.Claims, client.FactAbuse, client.PartyRegistry) {
				s = rdap.Summary{} // the summary is already on the page
			}
		}
	}
	if s.AbuseEmail != "" || s.AbusePhone != "" {
		p.abuse(&s, m.Registrar.Entities, "")
	}
	p.contacts(newContacts(m), m.Registrar.Redacted, []string{"registrar", "abuse"})
	p.truncations(m.Registrar)
}

func hasEvent(events []rdap.Event, e rdap.Event) bool {
	return slices.ContainsFunc(events, func(o rdap.Event) bool {
		return strings.EqualFold(o.Action, e.Action) && o.Raw == e.Raw
	})
}

func claimed(claims []client.Claim, fact string, party client.Party) bool {
	return slices.ContainsFunc(claims, func(c client.Claim) bool { return c.Fact == fact && c.Party == party })
}

// newContacts returns the registrar's contacts that the registry lacks.
func newContacts(m *client.Merged) []rdap.Entity {
	known := m.Registry.Entities[:min(len(m.Registry.Entities), maxPeople)]
	return slices.DeleteFunc(slices.Clone(m.Registrar.Entities), func(e rdap.Entity) bool {
		mine := e.Contact()
		if bare := (person{contact: mine}); bare.bare() {
			return false
		}
		return slices.ContainsFunc(known, func(o rdap.Entity) bool {
			if !slices.Equal(o.Roles, e.Roles) {
				return false
			}
			theirs := o.Contact()
			return sameContact(&mine, &theirs)
		})
	})
}

// differences writes the differences between registry and registrar, except contacts and
// addresses, which have their own rows.
func (p *page) differences(claims []client.Claim) {
	var lines []line
	for i := 1; i < len(claims); i++ {
		registry, registrar := claims[i-1], claims[i]
		if !registrar.Differs || registrar.Party != client.PartyRegistrar || registry.Fact != registrar.Fact {
			continue
		}
		switch registry.Fact {
		case client.FactStatus, client.FactNameservers, client.FactDNSSEC, client.FactRegistrar, eventRegistration, eventExpiration, eventTransfer:
		default:
			continue
		}
		l := text(registry.Fact+": "+p.claim(registry)).and(styleDim, " (registry)")
		lines = append(lines, l.and(stylePlain, " · "+p.claim(registrar)).and(styleDim, " (registrar)"))
	}
	p.row("Differs", lines...)
}

func (p *page) claim(c client.Claim) string {
	if !c.Time.IsZero() && len(c.Values) == 1 {
		_, dateOnly, _ := rdap.ParseDate(c.Values[0])
		return p.date(rdap.Event{Raw: c.Values[0], Time: c.Time, DateOnly: dateOnly})
	}
	return strings.Join(c.Values, ", ")
}

// relatedRecords writes the linked records, each as a separate page; see
// [client.Result.Related].
func (p *page) relatedRecords(r *client.Result) {
	for _, g := range r.Related {
		p.buf = append(p.buf, '\n')
		p.begun, p.pending = false, false
		p.headline(line{{"Link " + string(g.Relation) + " from " + p.subject(r) + ":", styleDim}})
		p.buf = appendText(p.buf, g, p.opt, p.palette)
	}
}

// others appends the registrar's result as a nested row, without the members that both rows
// share. It appends the linked records as "related", by relation:
// {"up":[{…}],"down":[{…},{…}]}.
func (o *object) others(r *client.Result, traced bool) {
	if r.Registrar != nil {
		o.key("registrar")
		o.dst = appendOther(o.dst, r.Registrar, client.Query{}, traced)
	}
	if len(r.Related) == 0 {
		return
	}
	o.key("related")
	related := object{dst: append(o.dst, '{')}
	for _, relation := range client.Relations() {
		begun := false
		for _, g := range r.Related {
			if g.Relation != relation {
				continue
			}
			if begun {
				related.dst = append(related.dst, ',')
			} else {
				related.key(string(relation))
				related.dst = append(related.dst, '[')
			}
			begun = true
			related.dst = appendOther(related.dst, g, g.Query, traced)
		}
		if begun {
			related.dst = append(related.dst, ']')
		}
	}
	o.dst = append(related.dst, '}')
}

// appendOther appends a result that belongs to another result.
func appendOther(dst []byte, r *client.Result, q client.Query, traced bool) []byte {
	bare := *r
	bare.Line, bare.Extra, bare.Query = 0, nil, q
	dst = appendRow(dst, &bare, traced)
	return dst[:len(dst)-len("\n")]
}
