package client

import (
	"cmp"
	"errors"
	"iter"
	"strconv"

	"github.com/rdapq/rdapq/internal/dnsname"
	"github.com/rdapq/rdapq/rdap"
)

// A Paging describes how far the results of a search were read, and holds the pages after
// the first one, which is the Result itself (RFC 8977).
type Paging struct {
	Pages   []Page // all pages but the first
	Results int    // number of objects on all pages
	Total   int    // total number reported by the server; 0 if not reported
	// the last page read has no next page, and Total is not above Results. Even so, a notice
	// may state that the server omitted results.
	Complete bool
	Stopped  string // reason why the results are not complete, for people
	Failure  *Error // error of the page that could not be read; nil if that page was not requested
	Next     string // URL of the page after the last one read, as the server sent it; empty if Complete
}

// A Page is one page of the results of a search.
type Page struct {
	Number int    // number of the page, from 1
	URL    string // URL of the request, without keys
	Raw    []byte // body as the server sent it, decompressed
	Paging Paging // state of the search after this page; Pages is empty
}

// Record decodes the page: see [rdap.Read].
func (p *Page) Record() (*rdap.Record, error) { return rdap.Read(p.Raw) }

// Objects yields the objects that a search found, page by page, in the order of the server. It
// yields an error for a page that cannot be read, and continues with the next page. For results
// of other queries, it yields nothing.
func (r *Result) Objects() iter.Seq2[*rdap.Record, error] {
	return func(yield func(*rdap.Record, error) bool) {
		if r.Paging == nil {
			return
		}
		page, err := r.Record()
		for i := 0; ; i++ {
			if err != nil {
				if !yield(nil, err) {
					return
				}
			} else {
				for k := range page.Results {
					if !yield(&page.Results[k], nil) {
						return
					}
				}
			}
			if i >= len(r.Paging.Pages) {
				return
			}
			page, err = r.Paging.Pages[i].Record()
		}
	}
}

// Limits of one search, in addition to SearchConfig.MaxResults.
const (
	maxPages      = 1000
	maxEmptyPages = 3 // empty pages in a row
	memoryShare   = 4 // a search uses at most this fraction of Config.MaxMemory, and one more page
)

// counted formats a number of results.
func counted(n int) string {
	if n == 1 {
		return "1 result"
	}
	return strconv.Itoa(n) + " results"
}

// ErrIncomplete is wrapped by the last error of [Client.Search] if the results are not
// complete: SearchConfig.MaxResults was reached, or a page could not be read.
var ErrIncomplete = errors.New("the results are not complete")

type incompleteError struct {
	why   string
	cause *Error // nil means no page failed
}

func (e *incompleteError) Error() string { return e.why }

func (e *incompleteError) Unwrap() []error {
	if e.cause == nil {
		return []error{ErrIncomplete}
	}
	return []error{ErrIncomplete, e.cause}
}

// Expand yields a Result for each object that a search found. Raw is the object as the server
// sent it, and Query identifies the object. The other fields are those of the search. Only the
// first Result has the warnings. Expand yields the result of any other query, and of a search
// that found nothing, unchanged.
func (r *Result) Expand() iter.Seq[*Result] {
	return func(yield func(*Result) bool) {
		if r.Paging == nil || r.Paging.Results == 0 {
			yield(r)
			return
		}
		first := true
		for raw := range r.rawObjects() {
			one := *r
			one.Raw, one.Paging, one.parsed = raw, nil, nil
			if !first {
				one.Warnings = nil
			}
			first = false
			one.Query = r.Query.nameOf(&one)
			if class, err := rdap.Classify(raw); err == nil && class == rdap.ClassDomain {
				one.Verdict = VerdictRegistered
			}
			if !yield(&one) {
				return
			}
		}
		if first {
			yield(r) // no page can be read
		}
	}
}

// rawObjects yields the objects of all pages.
func (r *Result) rawObjects() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		resp, err := r.Response()
		for i := 0; ; i++ {
			if err == nil {
				for raw := range resp.Objects() {
					if !yield(raw) {
						return
					}
				}
			}
			if i >= len(r.Paging.Pages) {
				return
			}
			resp, err = rdap.Parse(r.Paging.Pages[i].Raw)
		}
	}
}

// nameOf returns the query that looks up an object of a search. The query is only shown, never
// sent.
func (q Query) nameOf(one *Result) Query {
	found := Query{Type: lookupType[q.Type], Text: q.Text, Server: q.Server}
	rec, err := one.Record()
	if err != nil {
		return found
	}
	text := cmp.Or(dnsname.Display(cmp.Or(rec.LDHName, rec.UnicodeName)), rec.Handle)
	switch {
	case found.Type == TypeIP && rec.StartAddress != "":
		text = rec.StartAddress
		if len(rec.CIDRs) > 0 {
			text = rec.CIDRs[0].String()
		}
	case found.Type == TypeAutnum && rec.StartAutnum != nil:
		text = Query{Type: TypeAutnum, Autnum: *rec.StartAutnum}.String()
	case text == "":
		text = rec.Name
	}
	if parsed, err := ParseAs(found.Type, text); err == nil {
		parsed.Server = q.Server
		return parsed
	}
	found.Text = text
	return found
}
