package client

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/rdapq/rdapq/internal/rdaplink"
	"github.com/rdapq/rdapq/rdap"
)

// A Party is the source of a [Claim].
type Party string

// Parties of a [Claim].
const (
	PartyRegistry  Party = "registry"
	PartyRegistrar Party = "registrar"
)

// Facts of a [Claim]. Others are the actions of events, such as "registration",
// and the roles of contacts, such as "registrant".
const (
	FactStatus      = "status"
	FactNameservers = "nameservers"
	FactDNSSEC      = "dnssec"
	FactRegistrar   = "registrar"
	FactAbuse       = "abuse"
)

// A Claim is the statement of one party about one fact of a domain.
type Claim struct {
	Fact    string   // see the Fact constants
	Party   Party    // source of the claim
	Values  []string // statuses in RDAP's words, names in lower case, dates and contacts as sent; never empty
	Differs bool     // the other party's claim differs

	Time time.Time // of valid dates
}

// A Merged combines the responses of the registry and of the registrar of a domain.
type Merged struct {
	// Record is the registry's record, with contacts, the registrar's expiration, the
	// abuse contact and data that the registry lacks from the registrar's record.
	// Claims has the sources.
	Record *rdap.Record

	Registry  *rdap.Record // as the registry sent it
	Registrar *rdap.Record // as the registrar sent it; nil if there is none
	Claims    []Claim      // by fact, the registry's first
}

// Merged combines the responses of the registry and of the registrar; see
// Result.Registrar. Merged returns the error of Record for the registry's response. A
// registrar's response that is invalid, or about another domain, is ignored.
func (r *Result) Merged() (*Merged, error) {
	registry, err := r.Record()
	if err != nil {
		return nil, err
	}
	m := &Merged{Record: registry, Registry: registry}
	registryFacts := claimsOf(registry, r.Summary())
	var registrarFacts []fact
	if g := r.registrarRecord(); g != nil {
		if rec, err := g.Record(); err == nil && sameDomain(rec, registry, r.Query) {
			registrarFacts = claimsOf(rec, g.Summary())
			m.Registrar, m.Record = rec, merge(registry, rec)
		}
	}
	m.Claims = compareClaims(registryFacts, registrarFacts)
	return m, nil
}

// sameDomain reports whether a registrar's record is about the domain of the query or
// of the registry's record. A record without a name is accepted.
func sameDomain(rec, registry *rdap.Record, q Query) bool {
	name := cmp.Or(rec.LDHName, rec.UnicodeName)
	return name == "" || rdaplink.IsNameOf(name, registry, q.Name)
}

// registrarRecord returns the first registrar's response with a record.
func (r *Result) registrarRecord() *Result {
	for g := r.Registrar; g != nil; g = g.Registrar {
		if g.Verdict == Registered {
			return g
		}
	}
	return nil
}

// A fact is a claim before it is compared.
type fact struct {
	name   string
	values []string
	at     time.Time // of dates that could be read
}

// claimsOf returns the facts in a record.
func claimsOf(rec *rdap.Record, s rdap.Summary) []fact {
	var list []fact
	add := func(name string, at time.Time, values ...string) {
		values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
		if len(values) > 0 {
			list = append(list, fact{name, values, at})
		}
	}
	add(FactStatus, time.Time{}, s.Statuses...)
	add(FactNameservers, time.Time{}, s.Nameservers...)
	add(FactDNSSEC, time.Time{}, s.DNSSEC)
	for _, e := range allEvents(rec) {
		if !slices.ContainsFunc(list, func(f fact) bool { return f.name == e.Action }) {
			add(e.Action, e.Time, e.Raw)
		}
	}
	add(FactRegistrar, time.Time{}, s.Registrar, s.RegistrarID)
	add(FactAbuse, time.Time{}, s.AbuseEmail, s.AbusePhone)
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
	add := func(events []rdap.Event, only string) {
		for _, e := range events {
			e.Action = strings.ToLower(strings.TrimSpace(e.Action))
			if e.Raw != "" && e.Action != "" && e.Action != eventDatabase && (only == "" || e.Action == only) {
				list = append(list, e)
			}
		}
	}
	add(rec.Events, "")
	if e := rdap.FindRole(rec.Entities, "registrar"); e != nil {
		add(e.Events, rdap.EventRegistrarExpiration)
	}
	return list
}

// eventDatabase is about the copy of the record, not about the domain.
const eventDatabase = "last update of rdap database"

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

func roleOf(role string) string { return strings.ToLower(strings.TrimSpace(role)) }

// isContact reports whether the registrar is the source for contacts of a role.
func isContact(role string) bool { return role != "registrar" && role != "abuse" && role != "" }

// compareClaims returns the claims of both parties, fact by fact.
func compareClaims(registry, registrar []fact) []Claim {
	var claims []Claim
	other := slices.Clone(registrar)
	for _, f := range registry {
		mine := Claim{Fact: f.name, Party: PartyRegistry, Values: f.values, Time: f.at}
		i := slices.IndexFunc(other, func(o fact) bool { return o.name == f.name })
		if i < 0 {
			claims = append(claims, mine)
			continue
		}
		theirs := Claim{Fact: f.name, Party: PartyRegistrar, Values: other[i].values, Differs: f.differs(other[i]), Time: other[i].at}
		mine.Differs = theirs.Differs
		claims = append(claims, mine, theirs)
		other = slices.Delete(other, i, i+1)
	}
	for _, f := range other {
		claims = append(claims, Claim{Fact: f.name, Party: PartyRegistrar, Values: f.values, Time: f.at})
	}
	return claims
}

// differs compares two claims about one fact. Dates may differ by a day: many
// registrars store days, in their own time zone. The last change is a different fact
// for each of the two records.
func (f fact) differs(o fact) bool {
	switch {
	case f.name == rdap.EventLastChanged:
		return false
	case !f.at.IsZero() && !o.at.IsZero():
		return f.at.Sub(o.at).Abs() > 24*time.Hour
	case f.name == FactRegistrar && len(f.values) == 2 && len(o.values) == 2:
		return f.values[1] != o.values[1] // its number; names vary
	}
	return !slices.Equal(sortedFold(f.values), sortedFold(o.values))
}

func sortedFold(values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = strings.ToLower(strings.Join(strings.Fields(v), " "))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// merge returns the combined record.
func merge(registry, registrar *rdap.Record) *rdap.Record {
	out := *registry
	if len(out.Status) == 0 {
		out.Status = registrar.Status
	}
	if len(out.Nameservers) == 0 {
		out.Nameservers = registrar.Nameservers
	}
	if out.SecureDNS.Signed() == rdap.Unknown && registrar.SecureDNS.Signed() != rdap.Unknown {
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
	is := func(e rdap.Event, action string) bool { return strings.EqualFold(strings.TrimSpace(e.Action), action) }
	has := func(list []rdap.Event, action string) bool {
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
		if !has(out, e.Action) {
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
			!slices.ContainsFunc(e.Roles, func(role string) bool { return rdap.FindRole(out, role) != nil }):
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
