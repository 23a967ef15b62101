package client

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/url"
	"strconv"
	"strings"

	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/rdap"
)

// A Paging says how far the answer to a search was read, and has what came after
// its first page, which is the Result itself (RFC 8977).
type Paging struct {
	Pages    []Page // all but the first
	Results  int    // objects on all pages
	Total    int    // how many the server says that there are in all; 0 when it did not say
	Complete bool   // the last page read points at none after it, and Total is not above Results. The server may have left out results even then, and say so in a notice
	Stopped  string // why not, unless Complete; in words
	Err      *Error // of the page that could not be read; nil if it was not asked for
	Next     string // URL of the page after the last one read, unless Complete; as the server gave it
}

// A Page is a part of the answer to a search.
type Page struct {
	Number int    // from 1
	URL    string // asked, without keys
	Raw    []byte // as the server sent it, decompressed
	Paging Paging // how far the search has come with this page; without Pages
}

// Record decodes the page: see [rdap.Read].
func (p *Page) Record() (*rdap.Record, error) { return rdap.Read(p.Raw) }

// Objects yields what a search found, page by page, in the order of the server.
// An error is that of a page that cannot be read; the next one is read all the
// same. For other answers it yields nothing.
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

// Bounds on what is read of one search, beside SearchConfig.MaxResults.
const (
	maxPages      = 1000
	maxEmptyPages = 3 // in a row
	memoryShare   = 4 // a search holds this part of Config.MaxMemory at most, and one page more
)

// nextURL is where the next page is, and why it is not followed if it is not. The
// cursor in it is the server's own; nothing is made of it or added to it.
func (c *Client) nextURL(from, href string) (next *url.URL, why string) {
	base, err := url.Parse(from)
	if err != nil {
		return nil, "the page's own URL cannot be read"
	}
	next, err = base.Parse(c.auth.stripKeys(strings.TrimSpace(href)))
	if err != nil {
		return nil, "it is no URL: " + quote(weburl.Redact(href))
	}
	next.User, next.Fragment, next.RawFragment = nil, "", ""
	next.Scheme = strings.ToLower(next.Scheme)
	if next.Scheme == "http" && base.Scheme == "https" && strings.EqualFold(next.Hostname(), base.Hostname()) && next.Port() == "" {
		// What stands behind a proxy that does its TLS does not know better.
		next.Scheme = "https"
		next.Host = base.Host
	}
	if next.Scheme != base.Scheme || weburl.Host(next) != weburl.Host(base) {
		return nil, "it is at another server: " + quote(weburl.Redact(next.String()))
	}
	return next, ""
}

// counted says how many results there are, for a message.
func counted(n int) string {
	if n == 1 {
		return "1 result"
	}
	return strconv.Itoa(n) + " results"
}

// ErrIncomplete is what [Client.Search] yields at last when the results are not
// complete: SearchConfig.MaxResults was reached, or a page could not be read.
var ErrIncomplete = errors.New("the results are not complete")

// Search asks what [Client.Lookup] asks, and yields the answer page by page as
// pages come, without keeping any. An error comes last and alone: when there is no
// answer, an *[Error], also for a 404; and after the pages that could be read, one
// that wraps [ErrIncomplete] and the [*Error] of the page that could not. Breaking
// out of the loop asks for no more. A query that finds one object, or is no search,
// yields that answer as its only page; its links are not followed.
func (c *Client) Search(ctx context.Context, q Query) iter.Seq2[*Page, error] {
	return func(yield func(*Page, error) bool) {
		r := &Result{Query: c.registrable(q)}
		servers, err := c.resolve(ctx, r.Query)
		if err != nil {
			yield(nil, err)
			return
		}
		gone := false
		t := c.newTask(r, servers)
		t.noLinks = true
		if q.Search != nil {
			t.search = &search{each: func(p *Page) bool {
				gone = !yield(p, nil)
				return !gone
			}}
		}
		c.run(ctx, t)
		switch {
		case gone:
		case r.failure() != nil || r.Err != nil:
			yield(nil, r.Err)
		case r.Paging == nil:
			yield(&Page{Number: 1, URL: r.URL, Raw: r.Raw, Paging: Paging{Complete: true}}, nil)
		case !r.Paging.Complete:
			yield(nil, &incompleteError{"the results are not complete: after " + counted(r.Paging.Results) + " " + r.Paging.Stopped, r.Paging.Err})
		}
	}
}

type incompleteError struct {
	why   string
	cause *Error // nil: no page failed
}

func (e *incompleteError) Error() string { return e.why }

func (e *incompleteError) Unwrap() []error {
	if e.cause == nil {
		return []error{ErrIncomplete}
	}
	return []error{ErrIncomplete, e.cause}
}

// Expand yields a Result for each object that a search found, with the object as
// the server sent it for Raw and a Query that names it; all else is that of the
// search, of which the first one has the warnings. Any other Result, and a search
// that found nothing, is yielded as it is.
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
				one.Verdict = Registered
			}
			if !yield(&one) {
				return
			}
		}
		if first {
			yield(r) // none of its pages can be read
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

// nameOf is the query that a search's object would be the answer to. It is for
// people and rows: nothing is asked.
func (q Query) nameOf(one *Result) Query {
	found := Query{Type: lookupType[q.Type], Text: q.Text, Server: q.Server}
	rec, err := one.Record()
	if err != nil {
		return found
	}
	text := cmp.Or(rdap.DisplayName(cmp.Or(rec.LDHName, rec.UnicodeName)), rec.Handle)
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
