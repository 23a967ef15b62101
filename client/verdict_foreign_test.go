package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
)

// A 404 that is not RDAP is inconclusive if the user named the server and the server has not
// sent RDAP before. Otherwise the 404 counts, with a warning.
func TestNotFoundWithoutRDAP(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]; name {
		case "there.example":
			w.Header().Set("Content-Type", "application/rdap+json")
			_, _ = io.WriteString(w, `{"objectClassName":"domain","ldhName":"there.example"}`)
		case "rdap.example":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"errorCode":404,"title":"none"}`)
		case "empty.example":
			w.WriteHeader(http.StatusNotFound)
		case "cut.example", "nothing.example": // the response is truncated, with a part of the body or no body
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(http.StatusNotFound)
			if name == "cut.example" {
				_, _ = io.WriteString(w, "<p>gone")
			}
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "large.example":
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, strings.Repeat("<p>gone", 1<<18)) // more than the client reads of an error
		default:
			http.Error(w, "404 page not found", http.StatusNotFound)
		}
	}))
	defer s.Close()
	for _, tt := range []struct {
		source bootstrap.Source
		names  string // names to look up in this order
		want   client.Verdict
		warned bool // the last result must have a warning
	}{
		{bootstrap.SourceServer, "free.example", client.VerdictRejected, false},
		{bootstrap.SourceOverride, "free.example", client.VerdictRejected, false},
		{bootstrap.SourceServer, "empty.example", client.VerdictRejected, false},
		{bootstrap.SourceServer, "free.example free.example", client.VerdictRejected, false},
		{bootstrap.SourceServer, "cut.example", client.VerdictRejected, false},
		{bootstrap.SourceServer, "nothing.example", client.VerdictRejected, false},
		{bootstrap.SourceServer, "large.example", client.VerdictRejected, false},
		{bootstrap.SourceServer, "there.example nothing.example", client.VerdictNotFound, true},
		{bootstrap.SourceServer, "there.example large.example", client.VerdictNotFound, true},
		{bootstrap.SourceIANA, "cut.example", client.VerdictNotFound, true},
		{bootstrap.SourceIANA, "nothing.example", client.VerdictNotFound, true},
		{bootstrap.SourceServer, "rdap.example", client.VerdictNotFound, false},
		{bootstrap.SourceServer, "there.example free.example", client.VerdictNotFound, true},
		{bootstrap.SourceServer, "rdap.example free.example", client.VerdictNotFound, true},
		{bootstrap.SourceServer, "there.example empty.example", client.VerdictNotFound, false},
		{bootstrap.SourceIANA, "free.example", client.VerdictNotFound, true},
		{bootstrap.SourceSnapshot, "free.example", client.VerdictNotFound, true},
		{bootstrap.SourceIANA, "empty.example", client.VerdictNotFound, false},
		{bootstrap.SourceUnlisted, "empty.example", client.VerdictNotFound, true},
	} {
		c, err := client.New(client.Config{Transport: s.Client().Transport, Resolver: resolverFunc(func(bootstrap.Question) (bootstrap.Answer, error) {
			return bootstrap.Answer{URLs: []string{s.URL + "/"}, Source: tt.source}, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		var r *client.Result
		for name := range strings.FieldsSeq(tt.names) {
			r, _ = c.Lookup(t.Context(), mustParse(t, "", name))
		}
		if r.Verdict != tt.want || r.IsNotFoundWithoutRDAP() != tt.warned {
			t.Errorf("%s, %s: %s, warnings %q", tt.source, tt.names, describe(r), r.Warnings)
		}
		if tt.want == client.VerdictRejected && (client.ErrorOf(r).Code != client.CodeNotRDAP || !strings.Contains(client.ErrorOf(r).Hint, "check the base URL")) {
			t.Errorf("%s, %s: %s: %s", tt.source, tt.names, client.ErrorOf(r).Code, client.ErrorOf(r).Hint)
		}
		c.Close()
	}
}

// TestOddSearches covers search responses without results, with a class in addition to the
// results, and with a total above the number received.
func TestOddSearches(t *testing.T) {
	for body, want := range map[string]struct {
		results  int
		complete bool
		warning  string
	}{
		`{"rdapConformance":["rdap_level_0"]}`: {0, true, "no list of results"},
		`{"objectClassName":"DomainSearchResults","domainSearchResults":[{"objectClassName":"domain","ldhName":"a.example"}]}`: {1, true, ""},
		`{"domainSearchResults":[{"objectClassName":"domain","ldhName":"a.example"}],"paging_metadata":{"totalCount":3000}}`:   {1, false, "not complete"},
		`{"objectClassName":"domain","domainSearchResults":[{"objectClassName":"domain","ldhName":"a.example"}]}`:              {1, true, ""},
		`{"objectClassName":"domainSearchResults","status":["active"],"domainSearchResults":[{"objectClassName":"domain"}]}`:   {1, true, ""},
		`{"objectClassName":"domainSearchResults","domainsearchresults":[{"objectClassName":"domain"}]}`:                       {1, true, ""},
		`{"objectClassName":"domain","domainSearchResults":[]}`:                                                                {0, true, ""},
		`{"domainSearchResults":[],"paging_metadata":{"totalCount":0}}`:                                                        {0, true, ""},
	} {
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/rdap+json")
			_, _ = io.WriteString(w, body)
		}))
		c, err := client.New(client.Config{Transport: s.Client().Transport, Resolver: urls{s.URL + "/"}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Lookup(t.Context(), mustParse(t, "domains", "a*.example"))
		switch {
		case err != nil || r.Paging == nil:
			t.Errorf("%s: %s", body, describe(r))
		case r.Paging.Results != want.results || r.Paging.Complete != want.complete || (want.warning == "") != (len(r.Warnings) == 0) || !strings.Contains(fmt.Sprint(r.Warnings), want.warning):
			t.Errorf("%s: %+v, warnings %q", body, r.Paging, r.Warnings)
		}
		var last error
		for _, err := range c.Search(t.Context(), mustParse(t, "domains", "a*.example")) {
			last = err
		}
		if errors.Is(last, client.ErrIncomplete) == want.complete || want.complete && last != nil {
			t.Errorf("%s: page by page: %v", body, last)
		}
		c.Close()
		s.Close()
	}
}
