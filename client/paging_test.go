package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
)

func TestPages(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{Log: true, Searches: &rdaptest.Searches{Objects: directory(7), PageSize: 2}}, client.Config{})
	q := mustParse(t, client.TypeDomains, "exam*.example")
	r := a.lookup(t, q)
	want := []string{"exam1.example", "exam2.example", "exam3.example", "exam4.example", "exam5.example", "exam6.example", "exam7.example"}
	if got := found(t, r); r.Verdict != client.VerdictFound || !slices.Equal(got, want) {
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

	// The client reads pages one by one, only as far as the caller iterates.
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

	// A batch reads the pages as well. The second search joins the first if the first has no
	// response yet, and otherwise reads four pages itself.
	n := 0
	for r := range a.Batch(t.Context(), lines("domains?name=exam*.example", "domains?name=EXAM*.example", "exam1.example")).All() {
		n++
		checkResult(t, r)
		if r.Line < 3 && (!slices.Equal(found(t, r), want) || !r.Paging.Complete) {
			t.Errorf("%s: %q", describe(r), found(t, r))
		}
	}
	if sent := len(asked(s)); n != 3 || sent != 7+4+1 && sent != 7+4+4+1 {
		t.Errorf("%d results, %d requests", n, len(asked(s)))
	}
}

func TestPagesBounded(t *testing.T) {
	t.Parallel() // the test mostly waits
	q := mustParse(t, client.TypeDomains, "exam*.example")
	second := ""
	for _, tt := range []struct {
		name     string
		server   rdaptest.Searches
		most     int
		results  int
		requests int64
		want     string // part of the last warning
	}{
		{"enough", rdaptest.Searches{PageSize: 2}, 3, 4, 2, "limit of 3 results reached"},
		{"all is wanted", rdaptest.Searches{PageSize: 2}, -1, 7, 4, ""},
		{"just enough", rdaptest.Searches{PageSize: 7}, 7, 7, 1, ""},
		{"loop", rdaptest.Searches{PageSize: 2, Next: func(page int, href string) string {
			if page == 1 {
				second = href
			}
			if page == 3 {
				return second
			}
			return href
		}}, 0, 6, 3, "an earlier page (loop)"},
		{"to itself", rdaptest.Searches{PageSize: 2, Next: func(_ int, href string) string { return "?name=exam*.example" }}, 0, 2, 1, "an earlier page (loop)"},
		{"elsewhere", rdaptest.Searches{PageSize: 2, Next: func(_ int, href string) string { return "https://rdap.other.example/domains?cursor=x" }}, 0, 2, 1, "another server"},
		{"without TLS", rdaptest.Searches{PageSize: 2, Next: func(_ int, href string) string { return strings.Replace(href, "https:", "http:", 1) }}, 0, 2, 1, "another server"},
		{"relative", rdaptest.Searches{PageSize: 2, Next: func(_ int, href string) string { return "?" + strings.SplitN(href, "?", 2)[1] }}, 0, 7, 4, ""},
		{"not a URL", rdaptest.Searches{PageSize: 2, Next: func(_ int, href string) string { return "https://[" }}, 0, 2, 1, "the URL of the page is not valid"},
		{"refused", rdaptest.Searches{PageSize: 2, Refuse: func(page int) int { return map[int]int{3: 400}[page] }}, 0, 4, 3, "after 4 results page 3 could not be read"},
		{"gone", rdaptest.Searches{PageSize: 2, Refuse: func(page int) int { return map[int]int{2: 404}[page] }}, 0, 2, 2, "after 2 results page 2 could not be read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.server.Objects = directory(7)
			s, a := newPair(t, rdaptest.Config{Log: true, Searches: &tt.server}, client.Config{Search: client.SearchConfig{MaxResults: tt.most}})
			r := a.lookup(t, q)
			if r.Verdict != client.VerdictFound || r.Paging.Results != tt.results || len(found(t, r)) != tt.results || s.Counts().Requests != tt.requests {
				t.Fatalf("%s: %+v, %d requests: %q", describe(r), r.Paging, s.Counts().Requests, asked(s))
			}
			complete := tt.want == ""
			if r.Paging.Complete != complete || !complete && (len(r.Warnings) == 0 || !strings.Contains(r.Warnings[len(r.Warnings)-1].Message, tt.want)) {
				t.Errorf("%+v, warnings %q", r.Paging, r.Warnings)
			}
			if failed := r.Paging.Failure != nil; failed != (tt.server.Refuse != nil) {
				t.Errorf("error %v", r.Paging.Failure)
			}
			pages, incomplete := 0, false
			for p, err := range a.Search(t.Context(), q) {
				if err != nil {
					incomplete = errors.Is(err, client.ErrIncomplete)
					if e, failed := errors.AsType[*client.Error](err); failed != (tt.server.Refuse != nil) || e != nil && e.Status < 400 {
						t.Errorf("the cause of %v: %v", err, e)
					}
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

// A search stops after a number of empty pages that link to further pages.
func TestEndlessPages(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{})
	n := 0
	s.On("/domains", rdaptest.JSON(emptyPage(s.URL(), n)))
	for ; n < 20; n++ {
		s.On(fmt.Sprintf("/more/%d", n), rdaptest.JSON(emptyPage(s.URL(), n+1)))
	}
	r := a.lookup(t, mustParse(t, client.TypeDomains, "exam*.example"))
	if r.Verdict != client.VerdictFound || r.Paging.Complete || r.Paging.Results != 0 || s.Counts().Requests > 4 || len(r.Warnings) == 0 {
		t.Errorf("%s: %+v, %q, %d requests", describe(r), r.Paging, r.Warnings, s.Counts().Requests)
	}
}

func emptyPage(base string, n int) string {
	return fmt.Sprintf(`{"rdapConformance":["rdap_level_0","paging"],"domainSearchResults":[],"paging_metadata":{"links":[{"rel":"next","href":"%smore/%d","type":"application/rdap+json"}]}}`, base, n)
}

// The pages of one search do not fill the whole memory budget. Pages that the caller reads one
// by one have no such limit.
func TestPagesInMemory(t *testing.T) {
	_, a := newPair(t, rdaptest.Config{Searches: &rdaptest.Searches{Objects: directory(40), PageSize: 2}}, client.Config{MaxMemory: 8 << 10})
	q := mustParse(t, client.TypeDomains, "exam*.example")
	r := a.lookup(t, q)
	if p := r.Paging; p.Complete || p.Results < 4 || p.Results > 20 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Message, "memory") {
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

// The request for a truncated page is retried like any other request.
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
	if r.Verdict != client.VerdictFound || !r.Paging.Complete || r.Paging.Results != 5 || s.Counts().Requests != 4 {
		t.Errorf("%s: %+v, %d requests", describe(r), r.Paging, s.Counts().Requests)
	}
}

// A canceled search has the pages read so far.
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
	if r.Verdict != client.VerdictFound || r.Paging.Complete || r.Paging.Results != 2 && r.Paging.Results != 4 || len(r.Warnings) != 1 {
		t.Errorf("%s: %+v, %q", describe(r), r.Paging, r.Warnings)
	}
}

// A Page cannot hold linked objects, so that links are not followed.
func TestSearchFollowsNothing(t *testing.T) {
	registry, registrar, a := newReferrer(t, rdaptest.H2Only, client.Config{})
	registry.On("/domain/harbour.example", rdaptest.JSON(fixture(t, "registry-thin.json", "https://rdap.lighthouse.example/", registrar.URL())))
	pages := 0
	for page, err := range a.Search(t.Context(), mustParse(t, "", "harbour.example")) {
		if err != nil || len(page.Raw) == 0 {
			t.Errorf("%+v, %v", page, err)
		}
		pages++
	}
	if n := registrar.Counts().Requests; pages != 1 || n != 0 {
		t.Errorf("%d pages, %d requests to the registrar", pages, n)
	}
}
