package client_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/rdap"
)

// answered returns the result of a lookup with the response body.
func answered(body string) *client.Result {
	return &client.Result{Query: client.Query{Type: client.TypeDomain, Name: "harbour.example"}, Verdict: client.VerdictRegistered, Status: 200, Raw: []byte(body)}
}

func mustMerge(t *testing.T, registry, registrar string) *client.Merged {
	t.Helper()
	r := answered(registry)
	if registrar != "" {
		r.Registrar = answered(registrar)
	}
	m, err := r.Merged()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Responses of a thin registry and an older registrar, in their usual shapes.
const (
	thinBody = `{"objectClassName":"domain","handle":"90210_DOMAIN","ldhName":"HARBOUR.EXAMPLE",
		"status":["client transfer prohibited","client delete prohibited"],
		"nameservers":[{"ldhName":"NS1.HARBOUR.EXAMPLE"},{"ldhName":"NS2.HARBOUR.EXAMPLE"}],
		"secureDNS":{"delegationSigned":true},
		"events":[{"eventAction":"registration","eventDate":"1997-09-15T04:00:00Z"},{"eventAction":"expiration","eventDate":"2028-09-14T04:00:00Z"},
			{"eventAction":"last changed","eventDate":"2024-01-01T00:00:00Z"},{"eventAction":"last update of RDAP database","eventDate":"2026-03-14T06:25:11Z"}],
		"entities":[{"roles":["registrar"],"handle":"9994","publicIds":[{"type":"IANA Registrar ID","identifier":"9994"}],
			"vcardArray":["vcard",[["fn",{},"text","Lighthouse Names"]]],
			"entities":[{"roles":["abuse"],"vcardArray":["vcard",[["email",{},"text","old-abuse@lighthouse.example"]]]}]}],
		"redacted":[{"name":{"description":"Registrant Name"},"method":"removal"}]}`
	olderBody = `{"objectClassName":"domain","ldhName":"harbour.example","unicodeName":"harbour.example",
		"status":["Client Delete Prohibited","clientTransferProhibited"],
		"nameservers":[{"ldhName":"ns2.harbour.example."},{"ldhName":"ns3.harbour.example"}],
		"secureDNS":{"delegationSigned":false},
		"events":[{"eventAction":"registration","eventDate":"1997-09-15T07:00:00.000+0000"},{"eventAction":"expiration","eventDate":"2027-09-13T07:00:00.000+0000"},
			{"eventAction":"last changed","eventDate":"2019-09-09T15:39:04.000+0000"}],
		"entities":[{"roles":["registrant"],"vcardArray":["vcard",[["fn",{},"text","Ada Example"],["email",{},"text","ada@holders.example"]]]},
			{"roles":["administrative","technical"],"vcardArray":["vcard",[["org",{},"text","Desk"]]]},
			{"roles":["registrar"],"handle":"9994","publicIds":[{"type":"IANA Registrar ID","identifier":"9994"}],
			"events":[{"eventAction":"registrar expiration","eventDate":"2030-09-14T04:00:00.000+0000"}],
			"vcardArray":["vcard",[["fn",{},"text","Lighthouse Names Ltd."]]],
			"entities":[{"roles":["abuse"],"vcardArray":["vcard",[["email",{},"text","abuse@lighthouse.example"],["tel",{"type":"voice"},"uri","tel:+999.5551"]]]}]}]}`
)

func TestMerged(t *testing.T) {
	m := mustMerge(t, thinBody, olderBody)
	const registry, registrar = client.PartyRegistry, client.PartyRegistrar
	want := []client.Claim{
		{Fact: "status", Party: registry, Values: []string{"client transfer prohibited", "client delete prohibited"}},
		{Fact: "status", Party: registrar, Values: []string{"client delete prohibited", "client transfer prohibited"}},
		{Fact: "nameservers", Party: registry, Values: []string{"ns1.harbour.example", "ns2.harbour.example"}, Differs: true},
		{Fact: "nameservers", Party: registrar, Values: []string{"ns2.harbour.example", "ns3.harbour.example"}, Differs: true},
		{Fact: "dnssec", Party: registry, Values: []string{"signed"}, Differs: true},
		{Fact: "dnssec", Party: registrar, Values: []string{"unsigned"}, Differs: true},
		{Fact: "registration", Party: registry, Values: []string{"1997-09-15T04:00:00Z"}},
		{Fact: "registration", Party: registrar, Values: []string{"1997-09-15T07:00:00.000+0000"}},
		{Fact: "expiration", Party: registry, Values: []string{"2028-09-14T04:00:00Z"}, Differs: true},
		{Fact: "expiration", Party: registrar, Values: []string{"2027-09-13T07:00:00.000+0000"}, Differs: true},
		{Fact: "last changed", Party: registry, Values: []string{"2024-01-01T00:00:00Z"}},
		{Fact: "last changed", Party: registrar, Values: []string{"2019-09-09T15:39:04.000+0000"}},
		{Fact: "registrar", Party: registry, Values: []string{"Lighthouse Names", "9994"}},
		{Fact: "registrar", Party: registrar, Values: []string{"Lighthouse Names Ltd.", "9994"}},
		{Fact: "abuse", Party: registry, Values: []string{"old-abuse@lighthouse.example"}, Differs: true},
		{Fact: "abuse", Party: registrar, Values: []string{"abuse@lighthouse.example", "+999.5551"}, Differs: true},
		{Fact: "registrar expiration", Party: registrar, Values: []string{"2030-09-14T04:00:00.000+0000"}},
		{Fact: "registrant", Party: registrar, Values: []string{"Ada Example", "ada@holders.example"}},
		{Fact: "administrative", Party: registrar, Values: []string{"Desk"}},
		{Fact: "technical", Party: registrar, Values: []string{"Desk"}},
	}
	if d := cmp.Diff(want, m.Claims, cmpopts.IgnoreFields(client.Claim{}, "Time")); d != "" {
		t.Errorf("claims (-want +got):\n%s", d)
	}

	for _, c := range m.Claims {
		if dated := strings.HasSuffix(c.Fact, "expiration"); dated && c.Time.Year() < 2027 || !dated && c.Fact == client.FactStatus && !c.Time.IsZero() {
			t.Errorf("%s at %s", c.Fact, c.Time)
		}
	}

	rec := m.Record
	var events, roles []string
	for _, e := range rec.Events {
		events = append(events, e.Action+" "+e.Raw[:4])
	}
	for _, e := range rec.Entities {
		roles = append(roles, strings.Join(e.Roles, "+")+" "+e.Contact().Name+e.Contact().Org)
	}
	if want := []string{"registration 1997", "expiration 2028", "last changed 2024", "last update of RDAP database 2026", "registrar expiration 2030"}; !slices.Equal(events, want) {
		t.Errorf("events %q, want %q", events, want)
	}
	if want := []string{"registrar Lighthouse Names", "registrant Ada Example", "administrative+technical Desk"}; !slices.Equal(roles, want) {
		t.Errorf("entities %q, want %q", roles, want)
	}
	if got := rec.Entities[0].Entities; len(got) != 1 || got[0].Contact().Emails[0] != "abuse@lighthouse.example" {
		t.Errorf("abuse %+v", got)
	}
	if len(rec.Nameservers) != 2 || rec.Nameservers[0].LDHName != "NS1.HARBOUR.EXAMPLE" || rec.SecureDNS.Signed() != rdap.TriYes || rec.Handle != "90210_DOMAIN" || len(rec.Redacted) != 1 {
		t.Errorf("the registry's word does not count: %+v", rec)
	}
	// Merging changes neither record.
	if m.Registry.Entities[0].Entities[0].Contact().Emails[0] != "old-abuse@lighthouse.example" || len(m.Registrar.Entities) != 3 {
		t.Error("an original was changed")
	}
}

// If one party has no value, the value of the other party is used. An empty contact does not
// count as a value.
func TestMergedGaps(t *testing.T) {
	m := mustMerge(t,
		`{"objectClassName":"domain","ldhName":"harbour.example","events":[{"eventAction":"registrar expiration","eventDate":"2026-01-01T00:00:00Z"}],
			"entities":[{"roles":["registrant"],"vcardArray":["vcard",[["fn",{},"text","Known to the registry"]]]},{"roles":["technical"],"handle":"T1"},{"roles":["sponsor"],"handle":"S1"}]}`,
		`{"objectClassName":"domain","ldhName":"harbour.example","status":["active"],"nameservers":[{"ldhName":"ns1.harbour.example"}],"secureDNS":{"delegationSigned":false},
			"events":[{"eventAction":"registrar expiration","eventDate":"2027-01-01T00:00:00Z"}],
			"entities":[{"roles":["registrant"],"vcardArray":["vcard",[["fn",{},"text",""]]]},{"roles":["technical"],"vcardArray":["vcard",[["fn",{},"text","Tech"]]]},{"roles":["registrar"],"handle":"9994"}]}`)
	rec := m.Record
	if len(rec.Status) != 1 || len(rec.Nameservers) != 1 || rec.SecureDNS.Signed() != rdap.TriNo {
		t.Errorf("gaps %+v", rec)
	}
	if len(rec.Events) != 1 || rec.Events[0].Raw[:4] != "2027" {
		t.Errorf("events %+v", rec.Events)
	}
	var roles []string
	for _, e := range rec.Entities {
		roles = append(roles, e.Roles[0]+" "+e.Contact().Name+e.Handle)
	}
	if want := []string{"registrant Known to the registry", "sponsor S1", "technical Tech", "registrar 9994"}; !slices.Equal(roles, want) {
		t.Errorf("entities %q, want %q", roles, want)
	}
}

func TestMergedWithoutRegistrar(t *testing.T) {
	alone := mustMerge(t, thinBody, "")
	if alone.Registrar != nil || alone.Record != alone.Registry || len(alone.Claims) == 0 {
		t.Errorf("%+v", alone)
	}
	for _, registrar := range []*client.Result{
		{Verdict: client.VerdictNotFound, Status: 404, Raw: []byte(`{"errorCode":404}`)},
		{Verdict: client.VerdictRateLimited, Status: 429},
		{Verdict: client.VerdictRegistered, Raw: []byte("{")},
		{Verdict: client.VerdictRegistered, Raw: []byte(`{"objectClassName":"domain","ldhName":"other.example","status":["active"]}`)},
	} {
		r := answered(thinBody)
		r.Registrar = registrar
		m, err := r.Merged()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(alone.Claims, m.Claims); d != "" || m.Registrar != nil || m.Record != m.Registry {
			t.Errorf("%s: (-without +with)\n%s", registrar.Verdict, d)
		}
	}
	// If a registrar in a chain fails, the next registrar is used.
	r := answered(thinBody)
	r.Registrar = answered(olderBody)
	r.Registrar.Verdict, r.Registrar.Registrar = client.VerdictFailed, answered(olderBody)
	if m, err := r.Merged(); err != nil || m.Registrar == nil {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := (&client.Result{Verdict: client.VerdictFailed, Failure: &client.Error{Message: "no"}}).Merged(); err == nil {
		t.Error("no error without an answer")
	}
}
