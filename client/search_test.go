package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// directory is something to search: n domains, some of them Alice's, and numbers.
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

// found lists what all pages have, by the names that the objects bear.
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
		if r.Verdict != client.Found || r.Paging == nil || !slices.Equal(found(t, r), tt.want) || all[len(all)-1] != tt.uri {
			t.Errorf("%s: %s, %q; asked %q", tt.text, describe(r), found(t, r), all[len(all)-1])
			continue
		}
		if p := r.Paging; p.Results != len(tt.want) || !p.Complete || len(p.Pages) != 0 || p.Next != "" {
			t.Errorf("%s: %+v", tt.text, p)
		}
		if notes := len(r.Warnings); notes != 0 && (q.Note == "" || notes != 1 || r.Warnings[0] != q.Note) {
			t.Errorf("%s: warnings %q", tt.text, r.Warnings)
		}
	}

	// One that is answered with a single object, and one with nothing.
	s2, b := newPair(t, rdaptest.Config{Searches: &rdaptest.Searches{Objects: directory(1), Alone: true}}, client.Config{})
	r := b.lookup(t, mustParse(t, client.TypeIPs, "up:192.0.2.0/25"))
	if r.Verdict != client.Found || len(r.Warnings) != 0 || r.Paging != nil || r.Summary().Name != "UP" {
		t.Errorf("%s, %q", describe(r), r.Warnings)
	}
	if r = b.lookup(t, mustParse(t, client.TypeIPs, "up:192.0.0.0/16")); r.Verdict != client.NotFound {
		t.Error(describe(r))
	}
	s2.On("/domains", rdaptest.JSON(`{"objectClassName":"domain","ldhName":"exam1.example"}`))
	if r = b.lookup(t, mustParse(t, client.TypeDomains, "exam1*.example")); r.Verdict != client.Found || len(r.Warnings) != 1 || r.Paging != nil {
		t.Errorf("%s, %q", describe(r), r.Warnings)
	}
	s2.On("/domains", rdaptest.JSON(`{"rdapConformance":["rdap_level_0"],"notices":[{"title":"Busy"}]}`))
	if r = b.lookup(t, mustParse(t, client.TypeDomains, "exam1*.example")); r.Verdict != client.Failed {
		t.Error(describe(r))
	}
	s2.On("/domains", rdaptest.Status(501))
	if r = b.lookup(t, mustParse(t, client.TypeDomains, "exam1*.example")); r.Verdict != client.Rejected || r.Err.Code != client.CodeUnsupported {
		t.Error(describe(r))
	}
}

// TestSearchServer: the registry of the names that are looked for is asked, and
// without one nobody.
func TestSearchServer(t *testing.T) {
	ca := newCA(t)
	s := rdaptest.Start(t, rdaptest.Config{CA: ca, Searches: &rdaptest.Searches{Objects: directory(1)}})
	a := newAsker(t, ca, client.Config{Resolver: resolverFunc(func(q bootstrap.Question) (bootstrap.Answer, error) {
		if q.Class != bootstrap.Domain || q.Name != "example" {
			t.Errorf("asked for %+v", q)
		}
		return bootstrap.Answer{Entry: "example", URLs: []string{s.URL()}, Source: bootstrap.SourceIANA}, nil
	})})
	if r := a.lookup(t, mustParse(t, client.TypeDomains, "exam*.example")); r.Verdict != client.Found || r.Source != bootstrap.SourceIANA {
		t.Error(describe(r))
	}
	for typ, text := range map[client.Type]string{client.TypeDomains: "exam*", client.TypeEntities: "fn=A*", client.TypeNameservers: "ip=192.0.2.1"} {
		r := a.lookup(t, mustParse(t, typ, text))
		if r.Verdict != client.Invalid || !strings.Contains(r.Err.Hint, "name the server") {
			t.Error(describe(r))
		}
	}
	if n := s.Counts().Requests; n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestPages(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{Log: true, Searches: &rdaptest.Searches{Objects: directory(7), PageSize: 2}}, client.Config{})
	q := mustParse(t, client.TypeDomains, "exam*.example")
	r := a.lookup(t, q)
	want := []string{"exam1.example", "exam2.example", "exam3.example", "exam4.example", "exam5.example", "exam6.example", "exam7.example"}
	if got := found(t, r); r.Verdict != client.Found || !slices.Equal(got, want) {
		t.Fatalf("%s: %q", describe(r), got)
	}
	if p := r.Paging; !p.Complete || p.Results != 7 || len(p.Pages) != 3 || p.Total != 0 || p.Pages[2].Number != 4 || !strings.Contains(p.Pages[0].URL, "cursor=") {
		t.Errorf("%+v", p)
	}
	if r.URL != s.URL()+"domains?name=exam*.example" || len(r.Warnings) != 0 || r.Attempts != 1 {
		t.Errorf("%s, URL %s, warnings %q", describe(r), r.URL, r.Warnings)
	}
	if n := len(asked(s)); n != 4 {
		t.Errorf("%d requests: %q", n, asked(s))
	}

	// Page by page, and no further than is wanted.
	var numbers []int
	for p, err := range a.Search(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		rec, err := p.Record()
		if err != nil || len(rec.Results) == 0 {
			t.Fatal(err)
		}
		if numbers = append(numbers, p.Number); p.Number == 3 {
			break
		}
	}
	if !slices.Equal(numbers, []int{1, 2, 3}) || len(asked(s)) != 7 {
		t.Errorf("pages %d, requests %q", numbers, asked(s))
	}

	// A batch reads the pages as well, and twins are asked once.
	n := 0
	for r := range a.Batch(t.Context(), lines("domains?name=exam*.example", "domains?name=EXAM*.example", "exam1.example")) {
		n++
		checkResult(t, r)
		if r.Line < 3 && (!slices.Equal(found(t, r), want) || !r.Paging.Complete) {
			t.Errorf("%s: %q", describe(r), found(t, r))
		}
	}
	if n != 3 || len(asked(s)) != 7+4+1 {
		t.Errorf("%d results, %d requests", n, len(asked(s)))
	}
}

func TestPagesBounded(t *testing.T) {
	q := mustParse(t, client.TypeDomains, "exam*.example")
	second := ""
	for _, tt := range []struct {
		name     string
		server   rdaptest.Searches
		most     int
		results  int
		requests int64
		want     string // in the last warning
	}{
		{"enough", rdaptest.Searches{PageSize: 2}, 3, 4, 2, "no more than 3 were wanted"},
		{"all is wanted", rdaptest.Searches{PageSize: 2}, -1, 7, 4, ""},
		{"just enough", rdaptest.Searches{PageSize: 7}, 7, 7, 1, ""},
		{"round in a circle", rdaptest.Searches{PageSize: 2, Next: func(page int, href string) string {
			if page == 1 {
				second = href
			}
			if page == 3 {
				return second
			}
			return href
		}}, 0, 6, 3, "circle"},
		{"to itself", rdaptest.Searches{PageSize: 2, Next: func(_ int, href string) string { return "?name=exam*.example" }}, 0, 2, 1, "circle"},
		{"elsewhere", rdaptest.Searches{PageSize: 2, Next: func(_ int, href string) string { return "https://rdap.other.example/domains?cursor=x" }}, 0, 2, 1, "another server"},
		{"without TLS", rdaptest.Searches{PageSize: 2, Next: func(_ int, href string) string { return strings.Replace(href, "https:", "http:", 1) }}, 0, 2, 1, "another server"},
		{"relative", rdaptest.Searches{PageSize: 2, Next: func(_ int, href string) string { return "?" + strings.SplitN(href, "?", 2)[1] }}, 0, 7, 4, ""},
		{"no URL", rdaptest.Searches{PageSize: 2, Next: func(_ int, href string) string { return "https://[" }}, 0, 2, 1, "no URL"},
		{"refused", rdaptest.Searches{PageSize: 2, Refuse: func(page int) int { return map[int]int{3: 400}[page] }}, 0, 4, 3, "after 4 results page 3 could not be read"},
		{"gone", rdaptest.Searches{PageSize: 2, Refuse: func(page int) int { return map[int]int{2: 404}[page] }}, 0, 2, 2, "after 2 results page 2 could not be read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.server.Objects = directory(7)
			s, a := newPair(t, rdaptest.Config{Log: true, Searches: &tt.server}, client.Config{Search: client.SearchConfig{MaxResults: tt.most}})
			r := a.lookup(t, q)
			if r.Verdict != client.Found || r.Paging.Results != tt.results || len(found(t, r)) != tt.results || s.Counts().Requests != tt.requests {
				t.Fatalf("%s: %+v, %d requests: %q", describe(r), r.Paging, s.Counts().Requests, asked(s))
			}
			complete := tt.want == ""
			if r.Paging.Complete != complete || !complete && (len(r.Warnings) == 0 || !strings.Contains(r.Warnings[len(r.Warnings)-1], tt.want)) {
				t.Errorf("%+v, warnings %q", r.Paging, r.Warnings)
			}
			pages, incomplete := 0, false
			for p, err := range a.Search(t.Context(), q) {
				if err != nil {
					incomplete = errors.Is(err, client.ErrIncomplete)
					continue
				}
				pages = p.Number
			}
			if pages != 1+len(r.Paging.Pages) || incomplete == complete {
				t.Errorf("%d pages, incomplete %v", pages, incomplete)
			}
		})
	}
}

// TestEndlessPages: empty pages that point on do so in vain.
func TestEndlessPages(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{})
	n := 0
	s.On("/domains", rdaptest.JSON(emptyPage(s.URL(), n)))
	for ; n < 20; n++ {
		s.On(fmt.Sprintf("/more/%d", n), rdaptest.JSON(emptyPage(s.URL(), n+1)))
	}
	r := a.lookup(t, mustParse(t, client.TypeDomains, "exam*.example"))
	if r.Verdict != client.Found || r.Paging.Complete || r.Paging.Results != 0 || s.Counts().Requests > 4 || len(r.Warnings) == 0 {
		t.Errorf("%s: %+v, %q, %d requests", describe(r), r.Paging, r.Warnings, s.Counts().Requests)
	}
}

func emptyPage(base string, n int) string {
	return fmt.Sprintf(`{"rdapConformance":["rdap_level_0","paging"],"domainSearchResults":[],"paging_metadata":{"links":[{"rel":"next","href":"%smore/%d","type":"application/rdap+json"}]}}`, base, n)
}

// TestPagesInMemory: the pages of one search don't fill all memory; read one by
// one they may be as many as they like.
func TestPagesInMemory(t *testing.T) {
	_, a := newPair(t, rdaptest.Config{Searches: &rdaptest.Searches{Objects: directory(40), PageSize: 2}}, client.Config{MaxMemory: 8 << 10})
	q := mustParse(t, client.TypeDomains, "exam*.example")
	r := a.lookup(t, q)
	if p := r.Paging; p.Complete || p.Results < 4 || p.Results > 20 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "memory") {
		t.Errorf("%d results, warnings %q", p.Results, r.Warnings)
	}
	n := 0
	for p, err := range a.Search(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		n = p.Paging.Results
	}
	if n != 40 {
		t.Errorf("%d results", n)
	}
}

// TestPageRepeated: a page that breaks off is asked for again, as any answer is.
func TestPageRepeated(t *testing.T) {
	bad := 0
	s, a := newPair(t, rdaptest.Config{Searches: &rdaptest.Searches{Objects: directory(5), PageSize: 2, Refuse: func(page int) int {
		if page == 2 && bad < 1 {
			bad++
			return 503
		}
		return 0
	}}}, client.Config{})
	r := a.lookup(t, mustParse(t, client.TypeDomains, "exam*.example"))
	if r.Verdict != client.Found || !r.Paging.Complete || r.Paging.Results != 5 || s.Counts().Requests != 4 {
		t.Errorf("%s: %+v, %d requests", describe(r), r.Paging, s.Counts().Requests)
	}
}

// TestSearchGivenUp keeps what was read when the caller gives up.
func TestSearchGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, a := newPair(t, rdaptest.Config{Searches: &rdaptest.Searches{Objects: directory(5), PageSize: 2, Refuse: func(page int) int {
		if page == 2 {
			cancel()
		}
		return 0
	}}}, client.Config{})
	q := mustParse(t, client.TypeDomains, "exam*.example")
	r, _ := a.Lookup(ctx, q)
	checkResult(t, r)
	if r.Verdict != client.Found || r.Paging.Complete || r.Paging.Results != 2 && r.Paging.Results != 4 || len(r.Warnings) != 1 {
		t.Errorf("%s: %+v, %q", describe(r), r.Paging, r.Warnings)
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
		"/domains?name=exam1.example&count=true&sort=name:d&fieldSet=id", // help is asked for once
	}
	if got := asked(s); !slices.Equal(got, want) {
		t.Errorf("asked %q", got)
	}

	// What a server does not announce is left out, and the result says so.
	for name, cfg := range map[string]rdaptest.Config{
		"announces nothing": {Log: true, Searches: &rdaptest.Searches{Objects: objects, Announce: []string{"rdap_level_0"}}},
		"has no help":       {Log: true, Searches: &rdaptest.Searches{Objects: objects}},
	} {
		s, a := newPair(t, cfg, client.Config{})
		if name == "has no help" {
			s.On("/help", rdaptest.Status(404))
		}
		r := a.lookup(t, mustParse(t, "", "domains?name=exam*.example&count=true&sort=name&fieldSet=id"))
		if got := asked(s); r.Verdict != client.Found || len(r.Warnings) != 3 || got[len(got)-1] != "/domains?name=exam*.example" {
			t.Errorf("%s: %s, %q, %q", name, describe(r), r.Warnings, got)
		}
	}

	// Unless it is to be sent all the same.
	s, a = newPair(t, rdaptest.Config{Log: true, Searches: &rdaptest.Searches{Objects: objects, Announce: []string{"rdap_level_0"}}},
		client.Config{Search: client.SearchConfig{Unannounced: true}})
	a.lookup(t, mustParse(t, "", "domains?name=exam*.example&fieldSet=id"))
	if got := asked(s); !slices.Equal(got, []string{"/domains?name=exam*.example&fieldSet=id"}) {
		t.Errorf("asked %q", got)
	}
}

func TestReverseSearch(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{Log: true, Searches: &rdaptest.Searches{Objects: directory(3)}}, client.Config{})
	ask := func(typ client.Type, text string) *client.Result {
		q := mustParse(t, typ, text)
		q.Server = s.URL()
		return a.lookup(t, q)
	}
	r := ask(client.TypeDomains, "entity:email=alice@holders.example&role=registrant")
	if got := found(t, r); r.Verdict != client.Found || !slices.Equal(got, []string{"exam1.example", "exam3.example"}) {
		t.Errorf("%s: %q", describe(r), got)
	}
	if got := asked(s); !slices.Equal(got, []string{"/help", "/domains/reverse_search/entity?email=alice%40holders.example&role=registrant"}) {
		t.Errorf("asked %q", got)
	}

	// What is not announced is not asked.
	r = ask(client.TypeIPs, "entity:email=alice@holders.example")
	if r.Verdict != client.Rejected || r.Err.Code != client.CodeUnsupported || !strings.Contains(r.Err.Hint, "handle") || r.Server != s.URL() {
		t.Errorf("%s, hint %q", describe(r), r.Err.Hint)
	}
	if got := asked(s); len(got) != 2 {
		t.Errorf("asked %q", got)
	}
	s, a = newPair(t, rdaptest.Config{Log: true, Searches: &rdaptest.Searches{Announce: []string{"rdap_level_0"}}}, client.Config{})
	r = ask(client.TypeDomains, "entity:fn=Alice*")
	if r.Verdict != client.Rejected || !strings.Contains(r.Err.Message, "announces no reverse search") || strings.Contains(strings.Join(asked(s), " "), "Alice") {
		t.Errorf("%s, asked %q", describe(r), asked(s))
	}

	// A server that cannot be reached is what is wrong, not that it announces nothing.
	s, a = newPair(t, rdaptest.Config{Log: true}, client.Config{Attempts: 1})
	s.On("/help", rdaptest.HangUp())
	if r = ask(client.TypeDomains, "entity:fn=Alice*"); r.Verdict != client.Failed || r.Err.Code != client.CodeTransport {
		t.Error(describe(r))
	}

	// Nothing of it goes over plain http, whatever is allowed.
	_, a = newPair(t, rdaptest.Config{}, client.Config{AllowHTTP: true, Search: client.SearchConfig{Unannounced: true}})
	q := mustParse(t, client.TypeDomains, "entity:fn=Alice*")
	q.Server = "http://127.0.0.1:1/"
	if r = a.lookup(t, q); r.Err.Code != client.CodeHTTPOnly || r.Attempts != 0 {
		t.Error(describe(r))
	}
}

// TestReverseSearchBatch has many of them at once, a server that is gone among
// those asked, and one result for each.
func TestReverseSearchBatch(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{Searches: &rdaptest.Searches{Objects: directory(9), PageSize: 2}}, client.Config{Jobs: 4, Attempts: 1})
	var inputs []client.Input
	for i := range 40 {
		for _, text := range []string{
			fmt.Sprintf("domains/reverse_search/entity?email=alice@holders.example&handle=A%d*", i%20),
			"domains/reverse_search/entity?handle=alice-ex", "https://127.0.0.1:1/domain/alpha.example", fmt.Sprintf("exam%d.example", i),
		} {
			in := client.Input{Line: int64(len(inputs) + 1), Text: text, Server: s.URL()}
			if strings.HasPrefix(text, "https") {
				in.Server = ""
			}
			inputs = append(inputs, in)
		}
	}
	n := 0
	for r := range a.Batch(t.Context(), func(yield func(client.Input, error) bool) {
		for _, in := range inputs {
			if !yield(in, nil) {
				return
			}
		}
	}) {
		n++
		checkResult(t, r)
		switch text := r.Query.Text; {
		case strings.HasPrefix(text, "https"):
			if r.Verdict != client.Failed {
				t.Error(text, describe(r))
			}
		case strings.HasSuffix(text, "alice-ex"):
			if r.Verdict != client.Found || r.Paging.Results != 5 || !r.Paging.Complete {
				t.Errorf("%s: %s %+v", text, describe(r), r.Paging)
			}
		case r.Verdict != client.Found && r.Verdict != client.Registered:
			t.Error(text, describe(r))
		}
	}
	if n != len(inputs) {
		t.Errorf("%d results for %d lines", n, len(inputs))
	}
}

func TestURLQuery(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{Log: true, Searches: &rdaptest.Searches{Objects: directory(5), PageSize: 2}}, client.Config{
		Resolver: resolverFunc(func(q bootstrap.Question) (bootstrap.Answer, error) {
			t.Errorf("bootstrap was asked for %+v", q)
			return bootstrap.Answer{}, bootstrap.ErrNoService
		}),
		Registrable: true,
	})
	for path, want := range map[string]client.Verdict{
		"domain/WWW.Alpha.example?x=1": client.Registered, "ip/192.0.2.1": client.Found, "rdap/entity/ABC%2F1": client.Found, "domain/free.example": client.NotFound,
		"rdap/domains?name=exam*.example": client.Found, "rdap/help": client.Found,
	} {
		q := mustParse(t, "", s.URL()+path)
		r := a.lookup(t, q)
		all := asked(s)
		if r.Verdict != want || r.Source != bootstrap.SourceServer || r.URL != s.URL()+path || !strings.HasPrefix(s.URL()+path, r.Server) {
			t.Errorf("%s: %s from %s %s, URL %s", path, describe(r), r.Server, r.Source, r.URL)
		}
		if !slices.Contains(all, "/"+path) {
			t.Errorf("asked %q", all)
		}
		if len(r.Warnings) != 0 {
			t.Errorf("%s: %q", path, r.Warnings)
		}
		if strings.Contains(path, "domains") && (r.Paging.Results != 5 || !r.Paging.Complete) {
			t.Errorf("%+v", r.Paging)
		}
	}
	for r := range a.Batch(t.Context(), lines(s.URL()+"domain/alpha.example")) {
		if r.Verdict != client.Registered || r.Source != bootstrap.SourceServer {
			t.Error(describe(r))
		}
	}
	q := mustParse(t, "", "http://127.0.0.1/domain/alpha.example")
	if r := a.lookup(t, q); r.Verdict != client.NoService || r.Err.Code != client.CodeHTTPOnly {
		t.Error(describe(r))
	}
}

// TestNotes: the result says how a query was read that can be read otherwise.
func TestNotes(t *testing.T) {
	_, a := newPair(t, rdaptest.Config{}, client.Config{})
	if r := a.lookup(t, mustParse(t, "", "192.0.2/24")); len(r.Warnings) != 1 || r.Warnings[0] != "192.0.2/24 is short for 192.0.2.0/24" {
		t.Errorf("%q", r.Warnings)
	}
	n := 0
	for r := range a.Batch(t.Context(), lines("10/8", "10.0.0.0/8", "a\u200db.example")) {
		if n++; (r.Line == 2) != (len(r.Warnings) == 0) {
			t.Errorf("line %d: %q", r.Line, r.Warnings)
		}
	}
	if n != 3 {
		t.Error(n)
	}
}

// TestRedirector: who only sends clients on says nothing about a name by not
// knowing where to.
func TestRedirector(t *testing.T) {
	ca := newCA(t)
	registry := rdaptest.Start(t, rdaptest.Config{CA: ca})
	hub := rdaptest.Start(t, rdaptest.Config{CA: ca, Names: []string{"rdap.org"}})
	hub.On("/domain/free.example", rdaptest.Redirect(302, registry.URL()+"domain/free.example"))
	hub.On("/domain/alpha.zz", rdaptest.Status(404))
	p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: ca.Pool()}, AllowPrivate: true, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == "rdap.org:443" {
			addr = hub.Addr()
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	a := newAsker(t, ca, client.Config{Transport: p})
	ask := func(server, name string) *client.Result {
		q := mustParse(t, "", name)
		q.Server = server
		return a.lookup(t, q)
	}
	r := ask("https://rdap.org/", "alpha.zz")
	if r.Verdict != client.NoService || r.Err.Code != client.CodeNoService || r.Status != 404 || !strings.Contains(r.Err.Message, "no RDAP service known for .zz") || !strings.Contains(r.Err.Message, "https://rdap.org/") {
		t.Error(describe(r))
	}
	if r = ask("https://rdap.org/", "free.example"); r.Verdict != client.NotFound {
		t.Error("what a registry said behind a redirect:", describe(r))
	}

	// Another one that says so itself, and a registry that speaks of something else.
	registry.On("/domain/beta.zz", rdaptest.Status(404), rdaptest.JSON(`{"errorCode":404,"title":"No RDAP service is available for this resource"}`))
	registry.On("/domain/gamma.zz", rdaptest.Status(404), rdaptest.JSON(`{"errorCode":404,"title":"Not found","description":["see the terms of our RDAP service"]}`))
	if r = ask(registry.URL(), "beta.zz"); r.Verdict != client.NoService || r.Status != 404 {
		t.Error(describe(r))
	}
	if r = ask(registry.URL(), "gamma.zz"); r.Verdict != client.NotFound {
		t.Error(describe(r))
	}
}
