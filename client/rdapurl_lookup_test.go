package client_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
)

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
