package client_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
)

func TestReverseSearch(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{Log: true, Searches: &rdaptest.Searches{Objects: directory(3)}}, client.Config{})
	ask := func(typ client.Type, text string) *client.Result {
		q := mustParse(t, typ, text)
		q.Server = s.URL()
		return a.lookup(t, q)
	}
	r := ask(client.TypeDomains, "entity:email=alice@holders.example&role=registrant")
	if got := found(t, r); r.Verdict != client.VerdictFound || !slices.Equal(got, []string{"exam1.example", "exam3.example"}) {
		t.Errorf("%s: %q", describe(r), got)
	}
	if got := asked(s); !slices.Equal(got, []string{"/help", "/domains/reverse_search/entity?email=alice%40holders.example&role=registrant"}) {
		t.Errorf("asked %q", got)
	}

	// A search that the server does not announce is not sent.
	r = ask(client.TypeIPs, "entity:email=alice@holders.example")
	if r.Verdict != client.VerdictRejected || client.ErrorOf(r).Code != client.CodeUnsupported || !strings.Contains(client.ErrorOf(r).Hint, "handle") || r.Server != s.URL() {
		t.Errorf("%s, hint %q", describe(r), client.ErrorOf(r).Hint)
	}
	if got := asked(s); len(got) != 2 {
		t.Errorf("asked %q", got)
	}
	s, a = newPair(t, rdaptest.Config{Log: true, Searches: &rdaptest.Searches{Announce: []string{"rdap_level_0"}}}, client.Config{})
	r = ask(client.TypeDomains, "entity:fn=Alice*")
	if r.Verdict != client.VerdictRejected || !strings.Contains(client.ErrorOf(r).Message, "does not announce a reverse search") || strings.Contains(strings.Join(asked(s), " "), "Alice") {
		t.Errorf("%s, asked %q", describe(r), asked(s))
	}

	// The error is that the server cannot be reached, not that the server announces nothing.
	s, a = newPair(t, rdaptest.Config{Log: true}, client.Config{Attempts: 1})
	s.On("/help", rdaptest.HangUp())
	if r = ask(client.TypeDomains, "entity:fn=Alice*"); r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeTransport {
		t.Error(describe(r))
	}

	// A reverse search is never sent over plain http, even with AllowHTTP.
	_, a = newPair(t, rdaptest.Config{}, client.Config{AllowHTTP: true, Search: client.SearchConfig{Unannounced: true}})
	q := mustParse(t, client.TypeDomains, "entity:fn=Alice*")
	q.Server = "http://127.0.0.1:1/"
	if r = a.lookup(t, q); client.ErrorOf(r).Code != client.CodeHTTPOnly || r.Attempts != 0 {
		t.Error(describe(r))
	}
}

// Many concurrent reverse searches yield one result each, even if some are at a server that is
// down.
func TestReverseSearchBatch(t *testing.T) {
	t.Parallel() // the test waits for the server that is down
	s, a := newPair(t, rdaptest.Config{Searches: &rdaptest.Searches{Objects: directory(9), PageSize: 2}}, client.Config{Jobs: 4, Attempts: 1, MaxWait: 2 * time.Second})
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
	}).All() {
		n++
		checkResult(t, r)
		switch text := r.Query.Text; {
		case strings.HasPrefix(text, "https"):
			if r.Verdict != client.VerdictFailed {
				t.Error(text, describe(r))
			}
		case strings.HasSuffix(text, "alice-ex"):
			if r.Verdict != client.VerdictFound || r.Paging.Results != 5 || !r.Paging.Complete {
				t.Errorf("%s: %s %+v", text, describe(r), r.Paging)
			}
		case r.Verdict != client.VerdictFound && r.Verdict != client.VerdictRegistered:
			t.Error(text, describe(r))
		}
	}
	if n != len(inputs) {
		t.Errorf("%d results for %d lines", n, len(inputs))
	}
}

// Concurrent searches that need a server's help send one request for it.
func TestHelpIsAskedOnce(t *testing.T) {
	for _, tt := range []struct {
		name  string
		help  []rdaptest.Behaviour
		helps func(n int) bool
		found bool
	}{
		{"slow", []rdaptest.Behaviour{rdaptest.Latency(200 * time.Millisecond)}, func(n int) bool { return n == 1 }, true},
		{"none", []rdaptest.Behaviour{rdaptest.Status(404)}, func(n int) bool { return n == 1 }, false},
		{"broken", []rdaptest.Behaviour{rdaptest.Status(500)}, func(n int) bool { return n >= 1 && n <= 30 }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, a := newPair(t, rdaptest.Config{Log: true, Searches: &rdaptest.Searches{Objects: directory(3)}}, client.Config{Jobs: 16, PerHost: 16, Attempts: 1})
			s.On("/help", tt.help...)
			var inputs []client.Input
			for i := range 30 {
				inputs = append(inputs, client.Input{Line: int64(i + 1), Text: fmt.Sprintf("domains/reverse_search/entity?email=alice@holders.example&handle=A%d*", i), Server: s.URL()})
			}
			results := 0
			for r := range a.Batch(t.Context(), func(yield func(client.Input, error) bool) {
				for _, in := range inputs {
					if !yield(in, nil) {
						return
					}
				}
			}).All() {
				results++
				checkResult(t, r)
				if (r.Verdict == client.VerdictFound) != tt.found {
					t.Error(describe(r))
				}
			}
			helps := 0
			for _, entry := range s.Log() {
				if entry.URI == "/help" {
					helps++
				}
			}
			if results != len(inputs) || !tt.helps(helps) {
				t.Errorf("%d results, %d requests for help", results, helps)
			}
		})
	}
	// A single lookup does not wait for a canceled one either.
	s, a := newPair(t, rdaptest.Config{Searches: &rdaptest.Searches{Objects: directory(3)}}, client.Config{})
	s.On("/help", rdaptest.First(1, rdaptest.Hang()))
	q := mustParse(t, client.TypeDomains, "entity:handle=alice-ex")
	q.Server = s.URL()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if r, err := a.Lookup(ctx, q); err == nil {
			t.Error(describe(r))
		}
	}()
	if err := s.AwaitRequests(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-ended
	if r := a.lookup(t, q); r.Verdict != client.VerdictFound {
		t.Error(describe(r))
	}
}
