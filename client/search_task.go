package client

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/rdap"
)

// A SearchConfig configures the searches of a [Client]. The zero value is ready to use.
type SearchConfig struct {
	SearchOptions // defaults for empty options of a search

	// MaxResults limits the results of a search. Once the search has so many results, the
	// Client requests no other page. 0 means DefaultMaxResults. If MaxResults is negative, only
	// the other limits apply.
	MaxResults int

	// Unannounced sends reverse searches and SearchOptions without reading the server's help,
	// announced or not.
	Unannounced bool
}

// DefaultMaxResults is the default of SearchConfig.MaxResults.
const DefaultMaxResults = 1000

// A search is the state of the task of a search; see task for its stages.
type search struct {
	options  SearchOptions
	base     string // base URL of the server whose help is needed
	next     string // URL of the page to request
	seen     map[string]bool
	empty    int   // pages without results in a row
	reserved int64 // bytes of pages charged to the memory budget
	each     func(*Page) bool
}

// helpStage reads the help of a search's server, which announces the searches and
// options that it supports.
type helpStage struct{}

func (helpStage) requestURL(t *task, base string) string {
	return t.result.Query.requestURL(base, SearchOptions{})
}

// complete continues with the search itself if the server supports the search.
func (helpStage) complete(_ context.Context, c *Client, t *task) (more bool) {
	s, got := t.search, t.result
	t.root.addTimes(got)
	s.base = t.servers.URLs[t.server]
	t.nextStage(lookupStage{}, t.root)
	var h *rdap.Help
	switch got.Verdict {
	case VerdictFound:
		if resp, err := got.Response(); err == nil {
			h = resp.Help()
		}
		c.helps.Put(s.base, h)
	case VerdictNotFound, VerdictRejected:
		c.helps.Put(s.base, nil) // the server announces nothing
	default:
		c.helps.Failed(s.base, time.Now())
		if e := got.reason(); got.Verdict != VerdictFailed || got.Status == 0 || e.canceled() {
			s.refuse(t, e)
			return false
		}
	}
	if e := s.checkOptions(t.root, h); e != nil {
		s.refuse(t, e)
		return false
	}
	return true
}

func (helpStage) interrupt(_ context.Context, _ *Client, t *task) (more bool) {
	if e := t.result.reason(); e != nil {
		t.root.addTimes(t.result)
		t.search.refuse(t, e)
	}
	return false
}

// pageStage reads a page of results after the first one.
type pageStage struct{}

func (pageStage) requestURL(t *task, _ string) string { return t.search.next }

func (p pageStage) complete(ctx context.Context, c *Client, t *task) (more bool) {
	got := t.result
	if got.Verdict != VerdictFound {
		return p.interrupt(ctx, c, t)
	}
	t.root.addTimes(got)
	t.root.Time = got.Time
	return c.nextPage(t, got)
}

func (pageStage) interrupt(_ context.Context, _ *Client, t *task) (more bool) {
	t.search.pageFailed(t.root, t.result)
	return false
}

// refuse ends a search without a request for it.
func (s *search) refuse(t *task, e *Error) {
	t.root.Server = weburl.Redact(s.base)
	e.Server = t.root.Server
	t.root.Time = time.Now()
	t.root.fail(e)
}

// checkOptions compares a search with the server's help h. It refuses a reverse search that the
// server does not announce, and omits unannounced options, because the results are the same
// without them.
func (s *search) checkOptions(root *Result, h *rdap.Help) *Error {
	q := root.Query
	server := weburl.Redact(s.base)
	if q.Search.Reverse != "" {
		if e := q.checkReverseSearch(h, server); e != nil {
			e.Server = server
			return e
		}
	}
	omit := func(what, extension string) {
		root.warn(WarnNotAnnounced, server+" does not announce "+extension+", so "+what+" was omitted")
	}
	if s.options.Sort != "" && !h.Announces("sorting") {
		omit("sort="+visible(s.options.Sort), "sorting")
		s.options.Sort = ""
	}
	if s.options.Count && !h.Announces("paging") {
		omit("count=true", "paging")
		s.options.Count = false
	}
	if s.options.FieldSet != "" && !h.Announces("subsetting") {
		omit("fieldSet="+visible(s.options.FieldSet), "subsetting")
		s.options.FieldSet = ""
	}
	return nil
}

// keep adds a page to the result.
func (s *search) keep(t *task, page *Result, found rdap.PageInfo) {
	root := t.root
	if root.Paging == nil {
		root.Paging = &Paging{}
		s.seen = make(map[string]bool)
	}
	p := root.Paging
	p.Results += found.Results
	p.Total = max(p.Total, found.Total)
	if found.Results == 0 {
		s.empty++
	} else {
		s.empty = 0
	}
	for _, w := range page.Warnings {
		if page != root {
			root.Warnings = append(root.Warnings, w)
		}
	}
	if s.each != nil {
		return // the consumer of the pages stores them
	}
	s.reserved += t.reserved
	t.reserved = 0
	if page != root {
		p.Pages = append(p.Pages, Page{Number: len(p.Pages) + 2, URL: page.URL, Raw: page.Raw})
	}
}

// follow returns the URL of the page after this one. It returns nil if there is none or
// if a limit is reached.
func (s *search) follow(c *Client, root, page *Result, found rdap.PageInfo) *url.URL {
	p := root.Paging
	p.Next, p.Complete, p.Stopped = found.Next, found.Next == "", ""
	if p.Complete {
		if p.Total > p.Results {
			p.Complete, p.Stopped = false, "the server reports "+strconv.Itoa(p.Total)+" in total and sent no link to the next page"
			root.warn(WarnIncomplete, "the results are not complete: after "+counted(p.Results)+" "+p.Stopped)
		}
		return nil
	}
	stop := func(why string) *url.URL {
		p.Stopped = "the next page was not read: " + why
		root.warn(WarnIncomplete, "the results are not complete: after "+counted(p.Results)+" "+p.Stopped)
		return nil
	}
	next, why := c.nextURL(page.FinalURL, found.Next)
	if why != "" {
		return stop(why)
	}
	p.Next = next.String()
	limit := cmp.Or(c.cfg.Search.MaxResults, DefaultMaxResults)
	switch normal := weburl.Normalize(next); {
	case s.seen[normal] || normal == normalOf(page.FinalURL) || normal == normalOf(root.FinalURL) || normal == normalOf(root.URL):
		return stop("the link points to an earlier page (loop)")
	case limit > 0 && p.Results >= limit:
		return stop("limit of " + strconv.Itoa(limit) + " results reached")
	case s.empty >= maxEmptyPages:
		return stop("the last " + strconv.Itoa(s.empty) + " pages had no results")
	case s.reserved > c.cfg.MaxMemory/memoryShare:
		return stop("memory limit of a search reached")
	case len(s.seen)+1 >= maxPages:
		return stop("limit of " + strconv.Itoa(maxPages) + " pages reached")
	}
	return next
}

func normalOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return weburl.Normalize(u)
}

// pageFailed marks the results as incomplete because the next page could not be read.
func (s *search) pageFailed(root, got *Result) {
	p := root.Paging
	root.addTimes(got)
	why := "no response"
	if e := got.reason(); e != nil {
		why, p.Failure = e.Message, e
	}
	p.Complete, p.Stopped = false, "page "+strconv.Itoa(len(s.seen)+1)+" could not be read: "+why
	root.warn(WarnIncomplete, "the results are not complete: after "+counted(p.Results)+" "+p.Stopped)
}
