package client_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/internal/testrun"
)

// stuckAfter is the wait for memory after which a test considers a lookup stuck.
const stuckAfter = time.Minute

// A truncated body uses no memory while its query waits for a retry. Otherwise other readers
// would wait for that memory and hold the places that the query needs. The test uses the clock
// of a bubble, because the retries wait half a minute.
func TestMemoryOfBrokenBodies(t *testing.T) {
	t.Parallel()
	testrun.Bubble(t, testBrokenBodies)
}

func testBrokenBodies(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{Network: new(rdaptest.Network)}, client.Config{MaxMemory: 1000, Jobs: 4, PerHost: 4, Attempts: 5})
	var names []string
	for i := range 12 {
		names = append(names, fmt.Sprintf("n%d.example", i))
		// The responses are first a truncated body, then an error with a body, and then a valid
		// body.
		s.On("/domain/"+names[i], rdaptest.Size(3000),
			rdaptest.First(2, rdaptest.Status(503)), rdaptest.First(1, rdaptest.Status(200), rdaptest.Cut(2000)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), stuckAfter)
	defer cancel()
	check := func(how string, r *client.Result) {
		if r.Verdict != client.VerdictRegistered || r.Attempts != 3 {
			t.Errorf("%s: %s after %d attempts", how, describe(r), r.Attempts)
		}
	}
	for r := range a.Batch(ctx, client.Inputs(slices.Values(names[:8]))).All() {
		check("batch", r)
	}
	var wg sync.WaitGroup
	for _, name := range names[8:] {
		wg.Go(func() {
			r, _ := a.Client.Lookup(ctx, mustParse(t, "", name))
			check("lookup", r)
		})
	}
	wg.Wait()
}

// Searches that wait for their next page, with the pages read so far in memory, do not
// block other searches.
func TestMemoryOfSearches(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Searches: &rdaptest.Searches{Objects: directory(60), PageSize: 2}})
	texts := []string{"e*.example", "ex*.example", "exa*.example", "exam*.example"}
	for i := range 5 {
		texts = append(texts, fmt.Sprintf("exam%d*.example", i+1)) // each pattern matches 11 names
	}
	cfg := client.Config{Resolver: urls{s.URL()}, Jobs: len(texts), PerHost: len(texts)}
	for page, err := range newAsker(t, s.CA(), cfg).Search(t.Context(), mustParse(t, client.TypeDomains, texts[0])) {
		if err != nil {
			t.Fatal(err)
		}
		cfg.MaxMemory = int64(len(page.Raw)) * 8 // room for a page of all searches but one
		break
	}
	a := newAsker(t, s.CA(), cfg)
	ctx, cancel := context.WithTimeout(t.Context(), stuckAfter)
	defer cancel()
	n := 0
	for r := range a.Batch(ctx, func(yield func(client.Input, error) bool) {
		for i, text := range texts {
			if !yield(client.Input{Line: int64(i + 1), Text: text, Type: client.TypeDomains}, nil) {
				return
			}
		}
	}).All() {
		if r.Verdict != client.VerdictFound || r.Paging.Failure != nil || len(r.Paging.Pages) == 0 {
			t.Errorf("%s, %+v", describe(r), r.Paging)
		}
		n++
	}
	if n != len(texts) {
		t.Errorf("%d results", n)
	}
}
