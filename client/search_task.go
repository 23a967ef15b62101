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

// A SearchConfig says how a [Client] searches. The zero value is ready to use.
type SearchConfig struct {
	SearchOptions // for all searches that don't say otherwise themselves

	// MaxResults bounds how many results of a search are read: no page is asked
	// for once there are so many. 0 means DefaultMaxResults, negative that only
	// other bounds hold.
	MaxResults int

	// Unannounced sends reverse searches and SearchOptions to servers whose help
	// does not announce them, without asking for it.
	Unannounced bool
}

// DefaultMaxResults is the default of SearchConfig.MaxResults.
const DefaultMaxResults = 1000

// A search is how the task of a search gets from one request to the next: the
// server's help if it is needed, the first page, and those after it. Each has a
// result of its own while it is being asked, so that repetition and limits work as
// for any other request; main is what becomes of them all.
type search struct {
	main     *Result
	options  SearchOptions
	stage    stage
	base     string // of the server whose help is asked
	next     string // URL of the page to ask for; empty: the first
	seen     map[string]bool
	empty    int   // pages without results in a row
	reserved int64 // octets of pages that are accounted for
	each     func(*Page) bool
}

type stage int

const (
	stageHelp stage = iota + 1
	stageFirst
	stageMore
)

// try makes one request, with the redirects that it leads to, and reports whether
// there is another one to make: at t.host, not before t.at. If not, the result is
// complete.
func (c *Client) step(ctx context.Context, t *task) (more bool) {
	if t.search == nil && t.result.Query.Search == nil {
		return c.doRequest(ctx, t)
	}
	if t.search == nil || t.search.stage == 0 {
		if e := c.beginSearch(t); e != nil {
			t.giveBack()
			t.search.refuse(e)
			return false
		}
		if t.search.stage == 0 { // another search asks for the help that this one needs
			t.giveBack()
			t.at = time.Now().Add(helpPoll)
			return true
		}
	}
	return c.doRequest(ctx, t) || c.advanceSearch(ctx, t)
}

// requestURL is the URL of the next request to the server with that base.
func (t *task) requestURL(base string) string {
	switch s := t.search; {
	case s == nil || s.stage == stageHelp:
		return t.result.Query.requestURL(base, SearchOptions{})
	case s.next != "":
		return s.next
	default:
		return t.result.Query.requestURL(base, s.options)
	}
}

// beginSearch decides what is asked first.
func (c *Client) beginSearch(t *task) *Error {
	s := t.search
	if s == nil {
		s = &search{}
		t.search = s
	}
	s.main, s.stage = t.result, stageFirst
	q := s.main.Query
	s.base = t.servers.URLs[t.server]
	if e := q.requireTLS(s.base); e != nil {
		return e
	}
	if q.URL != "" {
		return nil // as it is
	}
	s.options = q.Search.SearchOptions.withDefaults(c.cfg.Search.SearchOptions)
	if c.cfg.Search.Unannounced || q.Search.Reverse == "" && s.options == (SearchOptions{}) {
		return nil
	}
	if h, ok := c.helps.get(s.base); ok {
		return s.settleOptions(h)
	}
	if !c.helps.claim(s.base, time.Now()) {
		s.stage = 0
		return nil
	}
	s.stage = stageHelp
	t.result = &Result{Query: Query{Text: "help", Type: TypeHelp, Server: q.Server}}
	return nil
}

// goOn decides what to do when a request has led to something.
func (c *Client) advanceSearch(ctx context.Context, t *task) (more bool) {
	s, got := t.search, t.result
	switch {
	case s.stage == stageHelp:
		return c.afterHelp(t, got)
	case s.main.Verdict != Found:
		return false
	case s.stage == stageFirst:
		return c.nextPage(t, got)
	case got.Verdict != Found:
		t.result = s.main
		s.pageFailed(got)
		return false
	}
	t.result = s.main
	s.main.Elapsed += got.Elapsed
	s.main.Time = got.Time
	return c.nextPage(t, got)
}

// helped goes on to the search itself, if the server can do it.
func (c *Client) afterHelp(t *task, got *Result) (more bool) {
	s := t.search
	s.leaveHelp(t)
	s.stage = stageFirst
	t.at, t.limited = time.Time{}, time.Time{}
	s.base = t.servers.URLs[t.server]
	var h *rdap.Help
	switch got.Verdict {
	case Found:
		if resp, err := got.Response(); err == nil {
			h = resp.Help()
		}
		c.helps.put(s.base, h)
	case NotFound, Rejected:
		c.helps.put(s.base, nil) // nothing is announced
	default:
		c.helps.failed(s.base, time.Now())
		if got.Verdict != Failed || got.Status == 0 || got.Err.Code == CodeCanceled {
			s.refuse(got.Err)
			return false
		}
	}
	if e := s.settleOptions(h); e != nil {
		s.refuse(e)
		return false
	}
	return true
}

// leave makes the search's own result that of the task again, after its help.
func (s *search) leaveHelp(t *task) {
	s.main.Elapsed += t.result.Elapsed
	t.result = s.main
}

// refuse ends a search that was not asked.
func (s *search) refuse(e *Error) {
	s.main.Server = weburl.Redact(s.base)
	e.Server = s.main.Server
	s.main.Time = time.Now()
	s.main.fail(e)
}

// settleOptions keeps to what the server announces: a reverse search that it does
// not is refused, options that it does not are left out, since the results are
// the same without them.
func (s *search) settleOptions(h *rdap.Help) *Error {
	q := s.main.Query
	server := weburl.Redact(s.base)
	if q.Search.Reverse != "" {
		if e := q.checkReverseSearch(h, server); e != nil {
			e.Server = server
			return e
		}
	}
	omit := func(what, extension string) {
		s.main.warn(WarnNotAnnounced, server+" does not announce "+extension+", so "+what+" was left out")
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

// turnPage takes a page and decides whether another one is asked for.
func (c *Client) nextPage(t *task, page *Result) (more bool) {
	s, main := t.search, t.search.main
	var found rdap.PageInfo
	if resp, err := page.Response(); err == nil {
		found = resp.Paging()
	}
	if !found.IsList {
		if page != main {
			s.pageFailed(&Result{Err: &Error{Code: CodeNotRDAP, Message: "it is no list of results"}})
		}
		return false
	}
	s.keep(t, page, found)
	p := main.Paging
	next := s.follow(c, page, found)
	if s.each != nil {
		t.memory.release(t) // the page is the consumer's now
		if !s.each(&Page{Number: len(s.seen) + 1, URL: page.URL, Raw: page.Raw, Paging: *p}) {
			return false
		}
	}
	if next == nil {
		return false
	}
	s.stage, s.next = stageMore, next.String()
	s.seen[weburl.Normalize(next)] = true
	t.at, t.limited, t.redirect = time.Time{}, time.Time{}, nil
	q := main.Query
	q.Note = ""                                   // it has been told
	t.result = &Result{Query: q, Conn: page.Conn} // where the page before it came from
	return true
}

// keep adds a page to the result.
func (s *search) keep(t *task, page *Result, found rdap.PageInfo) {
	main := s.main
	if main.Paging == nil {
		main.Paging = &Paging{}
		s.seen = make(map[string]bool)
	}
	p := main.Paging
	p.Results += found.Results
	p.Total = max(p.Total, found.Total)
	if found.Results == 0 {
		s.empty++
	} else {
		s.empty = 0
	}
	for _, w := range page.Warnings {
		if page != main {
			main.Warnings = append(main.Warnings, w)
		}
	}
	if s.each != nil {
		return // whoever reads page by page keeps what is wanted
	}
	s.reserved += t.reserved
	t.reserved = 0
	if page != main {
		p.Pages = append(p.Pages, Page{Number: len(p.Pages) + 2, URL: page.URL, Raw: page.Raw})
	}
}

// follow is the URL of the page after this one; nil if there is none, or none to
// be read.
func (s *search) follow(c *Client, page *Result, found rdap.PageInfo) *url.URL {
	main, p := s.main, s.main.Paging
	p.Next, p.Complete, p.Stopped = found.Next, found.Next == "", ""
	if p.Complete {
		if p.Total > p.Results {
			p.Complete, p.Stopped = false, "the server has "+strconv.Itoa(p.Total)+" and gave no link to the next page"
			main.warn(WarnIncomplete, "the results are not complete: after "+counted(p.Results)+" "+p.Stopped)
		}
		return nil
	}
	stop := func(why string) *url.URL {
		p.Stopped = "the next page was not read: " + why
		main.warn(WarnIncomplete, "the results are not complete: after "+counted(p.Results)+" "+p.Stopped)
		return nil
	}
	next, why := c.nextURL(page.FinalURL, found.Next)
	if why != "" {
		return stop(why)
	}
	p.Next = next.String()
	limit := cmp.Or(c.cfg.Search.MaxResults, DefaultMaxResults)
	switch normal := weburl.Normalize(next); {
	case s.seen[normal] || normal == normalOf(page.FinalURL) || normal == normalOf(main.FinalURL) || normal == normalOf(main.URL):
		return stop("it has been read already, so the pages go round in a circle")
	case limit > 0 && p.Results >= limit:
		return stop("no more than " + strconv.Itoa(limit) + " were wanted")
	case s.empty >= maxEmptyPages:
		return stop("the last " + strconv.Itoa(s.empty) + " pages have none")
	case s.reserved > c.cfg.MaxMemory/memoryShare:
		return stop("they take up too much memory")
	case len(s.seen)+1 >= maxPages:
		return stop("there have been " + strconv.Itoa(maxPages) + " pages")
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

// broken keeps what was read when the page after it could not be.
func (s *search) pageFailed(got *Result) {
	main, p := s.main, s.main.Paging
	main.Elapsed += got.Elapsed
	why := "nothing came"
	if got.Err != nil {
		why, p.Err = got.Err.Message, got.Err
	}
	p.Complete, p.Stopped = false, "page "+strconv.Itoa(len(s.seen)+1)+" could not be read: "+why
	main.warn(WarnIncomplete, "the results are not complete: after "+counted(p.Results)+" "+p.Stopped)
}

// settle makes the result of a search that has come to its end, or was ended, the
// result of its task.
func (t *task) finishSearch() {
	s := t.search
	if s == nil || s.main == nil {
		return
	}
	if got := t.result; got != s.main {
		t.result = s.main
		switch {
		case s.stage == stageMore:
			s.pageFailed(got)
		case got.Err != nil:
			s.main.Elapsed += got.Elapsed
			s.refuse(got.Err)
		}
	}
	t.reserved += s.reserved
	s.reserved = 0
}
