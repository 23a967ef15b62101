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
		"domain/WWW.Alpha.example?x=1": client.VerdictRegistered, "ip/192.0.2.1": client.VerdictFound, "rdap/entity/ABC%2F1": client.VerdictFound, "domain/free.example": client.VerdictNotFound,
		"rdap/domains?name=exam*.example": client.VerdictFound, "rdap/help": client.VerdictFound,
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
	for r := range a.Batch(t.Context(), lines(s.URL()+"domain/alpha.example")).All() {
		if r.Verdict != client.VerdictRegistered || r.Source != bootstrap.SourceServer {
			t.Error(describe(r))
		}
	}
	q := mustParse(t, "", "http://127.0.0.1/domain/alpha.example")
	if r := a.lookup(t, q); r.Verdict != client.VerdictNoService || client.ErrorOf(r).Code != client.CodeHTTPOnly {
		t.Error(describe(r))
	}
}

// The result has a note if the query could have been interpreted in another way.
func TestNotes(t *testing.T) {
	_, a := newPair(t, rdaptest.Config{}, client.Config{})
	if r := a.lookup(t, mustParse(t, "", "192.0.2/24")); len(r.Warnings) != 1 || r.Warnings[0].Message != "192.0.2/24 is short for 192.0.2.0/24" {
		t.Errorf("%q", r.Warnings)
	}
	n := 0
	for r := range a.Batch(t.Context(), lines("10/8", "10.0.0.0/8", "a\u200db.example")).All() {
		if n++; (r.Line == 2) != (len(r.Warnings) == 0) {
			t.Errorf("line %d: %q", r.Line, r.Warnings)
		}
	}
	if n != 3 {
		t.Error(n)
	}
}

// Texts that yield the same query are sent once, and each result has the note for its own
// text.
func TestNotesOfDuplicates(t *testing.T) {
	s, c := newStagedServer(t, true)
	inputs := func(yield func(client.Input, error) bool) {
		for i, text := range []string{"alpha.example", "alpha[.]example", "https://alpha.example/a", "alpha.example"} {
			if !yield(client.Input{Line: int64(i) + 1, Text: text}, nil) {
				return
			}
		}
		close(s.begin)
		close(s.end)
	}
	for r := range c.Batch(t.Context(), inputs).All() {
		noted := len(r.Warnings) == 1 && r.Warnings[0].Message == "the query was read as alpha.example"
		if r.Verdict != client.VerdictRegistered || noted != (r.Line == 2 || r.Line == 3) || !noted && len(r.Warnings) > 0 {
			t.Errorf("line %d: %s, %q", r.Line, r.Verdict, r.Warnings)
		}
	}
	if n := s.requests.Load(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// A URL at the origin of the server that the user named is an RDAP URL, with any path.
func TestURLAtNamedServer(t *testing.T) {
	server, a := newPair(t, rdaptest.Config{}, client.Config{})
	base := server.URL()
	inputs := func(yield func(client.Input, error) bool) {
		for i, path := range []string{"help", "entity/A-EX", "domains?name=alpha*", "domain/example", "domain/bücher.example", "", "index.html"} {
			if !yield(client.Input{Line: int64(i) + 1, Text: base + path, Server: base}, nil) {
				return
			}
		}
	}
	want := []string{"help", "entity/A-EX", "domains?name=alpha*", "domain/example", "domain/xn--bcher-kva.example", "", ""}
	for r := range a.Batch(t.Context(), inputs).All() {
		switch path := want[r.Line-1]; {
		case path == "" && (r.Verdict != client.VerdictInvalid || client.ErrorOf(r).Hint == ""):
			t.Errorf("%s: %s", r.Query.Text, describe(r))
		case path != "" && r.URL != base+path:
			t.Errorf("%s: %s, URL %s", r.Query.Text, describe(r), r.URL)
		}
	}
	if n := server.Counts().Requests; n != 5 {
		t.Errorf("%d requests, want 5", n)
	}
}
