package client

import (
	"cmp"
	"slices"
	"time"

	"github.com/rdapq/rdapq/internal/merge"
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

// Facts of a [Claim]. Other facts are the actions of events, such as "registration", and the
// roles of contacts, such as "registrant".
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

	Time time.Time // parsed value, if the claim is a valid date
}

// A Merged combines the responses of the registry and of the registrar of a domain.
type Merged struct {
	// Record is the registry's record, completed with data of the registrar's record. The added
	// data is contacts, the registrar's expiration, the abuse contact, and members that the
	// registry did not send. Claims names the source of each.
	Record *rdap.Record

	Registry  *rdap.Record // record as the registry sent it
	Registrar *rdap.Record // record as the registrar sent it; nil if there is none
	Claims    []Claim      // ordered by fact; the registry's claim is first
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
	registryFacts := merge.Facts(registry, r.Summary())
	var registrarFacts []merge.Fact
	if g := r.registrarRecord(); g != nil {
		if rec, err := g.Record(); err == nil && sameDomain(rec, registry, r.Query) {
			registrarFacts = merge.Facts(rec, g.Summary())
			m.Registrar, m.Record = rec, merge.Records(registry, rec)
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
		if g.Verdict == VerdictRegistered {
			return g
		}
	}
	return nil
}

// compareClaims returns the claims of both parties, fact by fact.
func compareClaims(registry, registrar []merge.Fact) []Claim {
	var claims []Claim
	other := slices.Clone(registrar)
	for _, f := range registry {
		mine := Claim{Fact: f.Name, Party: PartyRegistry, Values: f.Values, Time: f.Time}
		i := slices.IndexFunc(other, func(o merge.Fact) bool { return o.Name == f.Name })
		if i < 0 {
			claims = append(claims, mine)
			continue
		}
		theirs := Claim{Fact: f.Name, Party: PartyRegistrar, Values: other[i].Values, Differs: f.Differs(other[i]), Time: other[i].Time}
		mine.Differs = theirs.Differs
		claims = append(claims, mine, theirs)
		other = slices.Delete(other, i, i+1)
	}
	for _, f := range other {
		claims = append(claims, Claim{Fact: f.Name, Party: PartyRegistrar, Values: f.Values, Time: f.Time})
	}
	return claims
}
