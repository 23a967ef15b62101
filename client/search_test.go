package client_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
)

// directory returns searchable objects: n domains, some of them Alice's, and number
// resources.
func directory(n int) []rdaptest.Object {
	alice := rdaptest.Contact{Handle: "ALICE-EX", FN: "Alice Example", Email: "alice@holders.example", Role: "registrant"}
	objects := []rdaptest.Object{
		{Class: "nameserver", Name: "ns1.exam1.example", Addresses: []string{"192.0.2.1"}},
		{Class: "entity", Entity: alice},
		{Class: "ip network", Name: "TOP", Prefix: "192.0.0.0/16"},
		{Class: "ip network", Name: "UP", Prefix: "192.0.2.0/24"},
		{Class: "ip network", Name: "SMALL", Prefix: "192.0.2.0/25"},
		{Class: "autnum", Name: "BLOCK", First: 64496, Last: 64511},
		{Class: "autnum", Name: "ONE", First: 64500, Last: 64500},
	}
	for i := range n {
		o := rdaptest.Object{Class: "domain", Name: fmt.Sprintf("exam%d.example", i+1), Created: fmt.Sprintf("20%02d-01-01T00:00:00Z", 60-i)}
		if i%2 == 0 {
			o.Entity, o.Nameservers = alice, []string{"ns1.exam1.example"}
		}
		objects = append(objects, o)
	}
	return objects
}

// found returns the names of the objects on all pages.
func found(t testing.TB, r *client.Result) []string {
	t.Helper()
	var names []string
	for rec, err := range r.Objects() {
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{rec.LDHName, rec.Name, rec.Handle} {
			if name != "" {
				names = append(names, name)
				break
			}
		}
	}
	return names
}

func asked(s *rdaptest.Server) []string {
	var list []string
	for _, e := range s.Log() {
		list = append(list, e.URI)
	}
	return list
}

func TestSearch(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{Log: true, Searches: &rdaptest.Searches{Objects: directory(3)}}, client.Config{})
	for _, tt := range []struct {
		typ  client.Type
		text string
		uri  string
		want []string
	}{
		{client.TypeDomains, "exam*.example", "/domains?name=exam*.example", []string{"exam1.example", "exam2.example", "exam3.example"}},
		{client.TypeDomains, "none*.example", "/domains?name=none*.example", nil},
		{client.TypeDomains, "nsLdhName=ns1.exam1.example", "/domains?nsLdhName=ns1.exam1.example", []string{"exam1.example", "exam3.example"}},
		{client.TypeNameservers, "ip=192.0.2.1", "/nameservers?ip=192.0.2.1", []string{"ns1.exam1.example"}},
		{client.TypeEntities, "fn=Alice E*", "/entities?fn=Alice%20E*", []string{"ALICE-EX"}},
		{client.TypeIPs, "name=SM*", "/ips?name=SM*", []string{"SMALL"}},
		{client.TypeAutnums, "handle=H-ONE", "/autnums?handle=H-ONE", []string{"ONE"}},
		{client.TypeIPs, "rdap-up:192.0.2.0/25", "/ips/rirSearch1/rdap-up/192.0.2.0/25", []string{"UP"}},
		{client.TypeIPs, "bottom:192.0/16", "/ips/rirSearch1/rdap-bottom/192.0.0.0/16", []string{"SMALL"}},
		{client.TypeAutnums, "down:AS64496", "/autnums/rirSearch1/rdap-down/64496", nil},
	} {
		q := mustParse(t, tt.typ, tt.text)
		q.Server = s.URL()
		r := a.lookup(t, q)
		all := asked(s)
		if r.Verdict != client.VerdictFound || r.Paging == nil || !slices.Equal(found(t, r), tt.want) || all[len(all)-1] != tt.uri {
			t.Errorf("%s: %s, %q; asked %q", tt.text, describe(r), found(t, r), all[len(all)-1])
			continue
		}
		if p := r.Paging; p.Results != len(tt.want) || !p.Complete || len(p.Pages) != 0 || p.Next != "" {
			t.Errorf("%s: %+v", tt.text, p)
		}
		if notes := len(r.Warnings); notes != 0 && (notes != 1 || r.Warnings[0].Code != client.WarnQuery || r.Warnings[0].Message == "") {
			t.Errorf("%s: warnings %q", tt.text, r.Warnings)
		}
	}

	// The server returns a single object, and no object.
	s2, b := newPair(t, rdaptest.Config{Searches: &rdaptest.Searches{Objects: directory(1), Alone: true}}, client.Config{})
	r := b.lookup(t, mustParse(t, client.TypeIPs, "up:192.0.2.0/25"))
	if r.Verdict != client.VerdictFound || len(r.Warnings) != 0 || r.Paging != nil || r.Summary().Name != "UP" {
		t.Errorf("%s, %q", describe(r), r.Warnings)
	}
	if r = b.lookup(t, mustParse(t, client.TypeIPs, "up:192.0.0.0/16")); r.Verdict != client.VerdictNotFound {
		t.Error(describe(r))
	}
	s2.On("/domains", rdaptest.JSON(`{"objectClassName":"domain","ldhName":"exam1.example"}`))
	if r = b.lookup(t, mustParse(t, client.TypeDomains, "exam1*.example")); r.Verdict != client.VerdictFound || len(r.Warnings) != 1 || r.Paging != nil {
		t.Errorf("%s, %q", describe(r), r.Warnings)
	}
	s2.On("/domains", rdaptest.JSON(`{"rdapConformance":["rdap_level_0"],"notices":[{"title":"Busy"}]}`))
	if r = b.lookup(t, mustParse(t, client.TypeDomains, "exam1*.example")); r.Verdict != client.VerdictFailed {
		t.Error(describe(r))
	}
	s2.On("/domains", rdaptest.Status(501))
	if r = b.lookup(t, mustParse(t, client.TypeDomains, "exam1*.example")); r.Verdict != client.VerdictRejected || client.ErrorOf(r).Code != client.CodeUnsupported {
		t.Error(describe(r))
	}
}

// A search goes to the registry of the names in its pattern. A search without a responsible
// registry is not sent.
func TestSearchServer(t *testing.T) {
	ca := newCA(t)
	s := rdaptest.Start(t, rdaptest.Config{CA: ca, Searches: &rdaptest.Searches{Objects: directory(1)}})
	a := newAsker(t, ca, client.Config{Resolver: resolverFunc(func(q bootstrap.Question) (bootstrap.Answer, error) {
		if q.For != bootstrap.ForDomain || q.Name != "example" {
			t.Errorf("asked for %+v", q)
		}
		return bootstrap.Answer{Entry: "example", URLs: []string{s.URL()}, Source: bootstrap.SourceIANA}, nil
	})})
	if r := a.lookup(t, mustParse(t, client.TypeDomains, "exam*.example")); r.Verdict != client.VerdictFound || r.Source != bootstrap.SourceIANA {
		t.Error(describe(r))
	}
	for typ, text := range map[client.Type]string{client.TypeDomains: "exam*", client.TypeEntities: "fn=A*", client.TypeNameservers: "ip=192.0.2.1"} {
		r := a.lookup(t, mustParse(t, typ, text))
		if r.Verdict != client.VerdictInvalid || !strings.Contains(client.ErrorOf(r).Hint, "specify the server") {
			t.Error(describe(r))
		}
	}
	if n := s.Counts().Requests; n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestSearchOptions(t *testing.T) {
	objects := directory(3)
	s, a := newPair(t, rdaptest.Config{Log: true, Searches: &rdaptest.Searches{Objects: objects}}, client.Config{
		Search: client.SearchConfig{SearchOptions: client.SearchOptions{Sort: "registrationDate", Count: true, FieldSet: "id"}},
	})
	r := a.lookup(t, mustParse(t, client.TypeDomains, "exam*.example"))
	if got := found(t, r); !slices.Equal(got, []string{"exam3.example", "exam2.example", "exam1.example"}) || r.Paging.Total != 3 || strings.Contains(string(r.Raw), "active") {
		t.Errorf("%q, %+v, %s", got, r.Paging, r.Raw)
	}
	a.lookup(t, mustParse(t, "", "domains?name=exam1.example&sort=name:d"))
	want := []string{
		"/help",
		"/domains?name=exam*.example&count=true&sort=registrationDate&fieldSet=id",
		"/domains?name=exam1.example&count=true&sort=name:d&fieldSet=id", // the help is requested once
	}
	if got := asked(s); !slices.Equal(got, want) {
		t.Errorf("asked %q", got)
	}

	// The client omits options that a server does not announce, and adds a warning.
	for name, cfg := range map[string]rdaptest.Config{
		"announces nothing": {Log: true, Searches: &rdaptest.Searches{Objects: objects, Announce: []string{"rdap_level_0"}}},
		"has no help":       {Log: true, Searches: &rdaptest.Searches{Objects: objects}},
	} {
		s, a := newPair(t, cfg, client.Config{})
		if name == "has no help" {
			s.On("/help", rdaptest.Status(404))
		}
		r := a.lookup(t, mustParse(t, "", "domains?name=exam*.example&count=true&sort=name&fieldSet=id"))
		if got := asked(s); r.Verdict != client.VerdictFound || len(r.Warnings) != 3 || got[len(got)-1] != "/domains?name=exam*.example" {
			t.Errorf("%s: %s, %q, %q", name, describe(r), r.Warnings, got)
		}
	}

	// With Unannounced, the client sends the options.
	s, a = newPair(t, rdaptest.Config{Log: true, Searches: &rdaptest.Searches{Objects: objects, Announce: []string{"rdap_level_0"}}},
		client.Config{Search: client.SearchConfig{Unannounced: true}})
	a.lookup(t, mustParse(t, "", "domains?name=exam*.example&fieldSet=id"))
	if got := asked(s); !slices.Equal(got, []string{"/domains?name=exam*.example&fieldSet=id"}) {
		t.Errorf("asked %q", got)
	}
}
