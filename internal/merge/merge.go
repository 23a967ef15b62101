// Package merge combines the records of a domain from its registry and its registrar. It
// does not deal with lookups.
package merge

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/rdapq/rdapq/rdap"
)

// A Fact is one statement of a record about its domain.
type Fact struct {
	Name   string    // name of the fact: a name below, the action of an event or the role of a contact
	Values []string  // values of the fact; never empty
	Time   time.Time // date, if the fact is a date that could be parsed
}

// Names of facts.
const (
	factStatus      = "status"
	factNameservers = "nameservers"
	factDNSSEC      = "dnssec"
	factRegistrar   = "registrar"
	factAbuse       = "abuse"
)

// Facts returns the facts in a record; s is its summary.
func Facts(rec *rdap.Record, s rdap.Summary) []Fact {
	var list []Fact
	add := func(name string, at time.Time, values ...string) {
		values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
		if len(values) > 0 {
			list = append(list, Fact{name, values, at})
		}
	}
	add(factStatus, time.Time{}, s.Statuses...)
	add(factNameservers, time.Time{}, s.Nameservers...)
	add(factDNSSEC, time.Time{}, s.DNSSEC)
	for _, e := range allEvents(rec) {
		if !slices.ContainsFunc(list, func(f Fact) bool { return f.Name == e.Action }) {
			add(e.Action, e.Time, e.Raw)
		}
	}
	add(factRegistrar, time.Time{}, s.Registrar, s.RegistrarID)
	add(factAbuse, time.Time{}, s.AbuseEmail, s.AbusePhone)
	for i := range rec.Entities {
		e := &rec.Entities[i]
		values := contactDetails(e)
		for _, role := range e.Roles {
			if role = roleOf(role); isContact(role) {
				add(role, time.Time{}, values...)
			}
		}
	}
	return list
}

// allEvents returns the events of a domain, and the registrar's expiration if it is in
// the registrar's entity. The actions are in lower case.
func allEvents(rec *rdap.Record) []rdap.Event {
	var list []rdap.Event
	add := func(events []rdap.Event, only rdap.EventAction) {
		for _, e := range events {
			action, _ := rdap.ParseEventAction(e.Action)
			e.Action = string(action)
			if e.Raw != "" && action != "" && action != rdap.EventLastUpdateDatabase && (only == "" || action == only) {
				list = append(list, e)
			}
		}
	}
	add(rec.Events, "")
	if e := rdap.FindRole(rec.Entities, rdap.RoleRegistrar); e != nil {
		add(e.Events, rdap.EventRegistrarExpiration)
	}
	return list
}

// contactDetails returns the names and addresses of a contact.
func contactDetails(e *rdap.Entity) []string {
	c := e.Contact()
	values := []string{c.Name}
	if c.Org != c.Name {
		values = append(values, c.Org)
	}
	values = append(values, c.Emails...)
	for _, p := range c.Phones {
		values = append(values, p.String())
	}
	return append(values, c.ContactURIs...)
}

// isReachable reports whether a contact has more than a handle.
func isReachable(e *rdap.Entity) bool {
	return slices.ContainsFunc(contactDetails(e), func(v string) bool { return v != "" })
}

func roleOf(role string) string {
	parsed, _ := rdap.ParseRole(role)
	return string(parsed)
}

// isContact reports whether the registrar is the source for contacts with the role.
func isContact(role string) bool { return role != factRegistrar && role != factAbuse && role != "" }

// Differs reports whether two claims about one fact differ. Dates may be a day apart, because
// many registrars store days in their own time zone. The last change is a different fact for
// each of the two records.
func (f Fact) Differs(o Fact) bool {
	switch {
	case f.Name == string(rdap.EventLastChanged):
		return false
	case !f.Time.IsZero() && !o.Time.IsZero():
		return f.Time.Sub(o.Time).Abs() > 24*time.Hour
	case f.Name == factRegistrar && len(f.Values) == 2 && len(o.Values) == 2:
		return f.Values[1] != o.Values[1] // compare the IANA numbers, because names vary
	}
	return !slices.Equal(sortedFold(f.Values), sortedFold(o.Values))
}

func sortedFold(values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = strings.ToLower(strings.Join(strings.Fields(v), " "))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Records returns the registry's record, completed with data of the registrar's record. These
// are contacts, the registrar's expiration, the abuse contact, and members that the registry
// did not send.
func Records(registry, registrar *rdap.Record) *rdap.Record {
	out := *registry
	if len(out.Status) == 0 {
		out.Status = registrar.Status
	}
	if len(out.Nameservers) == 0 {
		out.Nameservers = registrar.Nameservers
	}
	if out.SecureDNS.Signed() == rdap.TriUnknown && registrar.SecureDNS.Signed() != rdap.TriUnknown {
		out.SecureDNS = registrar.SecureDNS
	}
	out.UnicodeName = cmp.Or(out.UnicodeName, registrar.UnicodeName)
	out.Events = mergeEvents(registry, registrar)
	out.Entities = mergeEntities(registry.Entities, registrar.Entities)
	out.Redacted = slices.Clip(out.Redacted)
	for _, red := range registrar.Redacted {
		if !slices.ContainsFunc(out.Redacted, func(o rdap.Redaction) bool { return strings.EqualFold(o.Name, red.Name) }) {
			out.Redacted = append(out.Redacted, red)
		}
	}
	return &out
}

func mergeEvents(registry, registrar *rdap.Record) []rdap.Event {
	is := func(e rdap.Event, action rdap.EventAction) bool {
		parsed, _ := rdap.ParseEventAction(e.Action)
		return parsed == action
	}
	has := func(list []rdap.Event, action rdap.EventAction) bool {
		return slices.ContainsFunc(list, func(e rdap.Event) bool { return is(e, action) })
	}
	theirs := allEvents(registrar)
	var out []rdap.Event
	for _, e := range registry.Events {
		if !is(e, rdap.EventRegistrarExpiration) || !has(theirs, rdap.EventRegistrarExpiration) {
			out = append(out, e)
		}
	}
	for _, e := range theirs {
		if action, _ := rdap.ParseEventAction(e.Action); !has(out, action) {
			out = append(out, e)
		}
	}
	return out
}

func mergeEntities(registry, registrar []rdap.Entity) []rdap.Entity {
	known := make(map[string]bool) // roles for which the registrar has a contact
	for i := range registrar {
		e := &registrar[i]
		if !isReachable(e) {
			continue
		}
		for _, role := range e.Roles {
			known[roleOf(role)] = isContact(roleOf(role))
		}
	}
	var out []rdap.Entity
	for _, e := range registry {
		contact := slices.ContainsFunc(e.Roles, func(role string) bool { return isContact(roleOf(role)) })
		if contact && !slices.ContainsFunc(e.Roles, func(role string) bool { return !known[roleOf(role)] }) {
			continue
		}
		if e.HasRole("registrar") {
			e = withAbuseContacts(e, rdap.FindRole(registrar, "registrar"))
		}
		out = append(out, e)
	}
	for _, e := range registrar {
		switch {
		case e.HasRole("registrar") && rdap.FindRole(out, "registrar") != nil:
		case slices.ContainsFunc(e.Roles, func(role string) bool { return known[roleOf(role)] }),
			!slices.ContainsFunc(e.Roles, func(role string) bool { return rdap.FindRole(out, rdap.Role(role)) != nil }):
			out = append(out, e)
		}
	}
	return out
}

// withAbuseContacts returns the registrar e with the abuse contacts of its own
// record.
func withAbuseContacts(e rdap.Entity, itself *rdap.Entity) rdap.Entity {
	if itself == nil {
		return e
	}
	var abuse []rdap.Entity
	for i := range itself.Entities {
		if in := &itself.Entities[i]; in.HasRole("abuse") && isReachable(in) {
			abuse = append(abuse, *in)
		}
	}
	if abuse == nil {
		return e
	}
	list := slices.DeleteFunc(slices.Clone(e.Entities), func(in rdap.Entity) bool { return in.HasRole("abuse") })
	e.Entities = append(list, abuse...)
	return e
}
