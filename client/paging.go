package client

import (
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
