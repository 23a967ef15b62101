package client

import (
	"context"
	"errors"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/attemptclock"
	"github.com/rdapq/rdapq/internal/gate"
	"github.com/rdapq/rdapq/internal/helpcache"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/rdap"
)

// A task is a lookup on its way to its result. It advances one request at a time, so
// that no worker blocks while it waits. Its life:
//
//	resolve  find the servers (lookup.go)
//	await    wait for the host and take a place from it; a batch parks the task instead
//	step     send one request (doRequest) and follow its redirects (fetch); judge the
//	         response; then one of
//	         - send it again: decide (retry.go), checkDesync (desync.go); back to await
//	         - wait for the host of a redirect; back to await
//	         - complete the stage: it starts another one, or the task is complete
//	finish   attach the partial result of an interrupted stage: its caller gave up, its
//	         host rejects more requests, or the batch was ended
//
// The stages in the order in which they can follow each other:
//
//	stage        sends                   its result becomes                    then
//	helpStage    the help of the server  known to all searches at the server;  lookupStage
//	             of a search             if it fails, the root's Err
//	lookupStage  the query               the root itself                       pageStage, linkStage
//	pageStage    the URL of a next page  a Page of the root; if it fails,      pageStage
//	                                     Paging.Stopped
//	linkStage    a link of a record      Registrar or an element of Related    linkStage
//
// The root is the caller's Result from the beginning to the end.
type task struct {
	root    *Result // result of the lookup; nil before the first step
	result  *Result // result of the stage: the root, or a result attached to it
	stage   stage   // nil before the first step, and when the task is complete
	servers bootstrap.Answer
	server  int           // index of the server to send the request to
	search  *search       // state of a search; nil for other queries, and before the first step
	walk    *linkWalk     // nil before links are followed
	memory  *memoryBudget // budget to which the body is charged
	batch   bool          // the task belongs to a batch
	noLinks bool          // links are not followed
	options *options      // settings of the call; nil without any

	redirect *pendingRedirect // nil means the next request goes to the server
	host     *gate.Host       // host of the next request
	taken    bool             // the host has admitted it
	decision gate.Decision    // decision of the host that admitted the request
	beside   int              // lookups of the batch at the host, including this one
	at       time.Time        // earliest time of the next request
	waited   time.Duration    // time waited since the last attempt
	limited  time.Time        // when a rate limit first refused a request

	clock          *attemptclock.Clock // clock of the attempt in flight; nil means no limit
	avoid          []int64             // connections that failed; see noteFailedConn
	faults         int                 // attempts whose connection may be the cause of their failure
	suspectSession bool                // a resumed session may be why the last response was a refusal
	sessionRetried bool                // a request was sent again without a resumed session
	walled         bool                // the last response was a refusal that is not RDAP
	outageFailures int                 // requests that failed in an outage and do not count as attempts
	failedAt       time.Time           // time of the last failure that was retried

	reserved int64 // bytes of the body charged to memory

	yields      yielder // lets other lookups start while this one waits; nil outside a batch
	desyncs     int     // requests sent again by checkDesync
	otherObject string  // other object that the last response to these requests was about
	desyncFound bool    // a response was the first one after a mismatch on a connection was found

	first *unproved // first response to a request that is sent again; nil if none

	responseStarted atomic.Bool            // no further query may share the response
	hooks           *httptrace.ClientTrace // see watchFirstByte; nil before the first request
}

// A stage is a part of a task whose requests have a separate result. Retries and limits work
// the same for all stages.
type stage interface {
	// requestURL returns the URL of the stage's request to the server with the given base URL.
	requestURL(t *task, base string) string
	// complete attaches the stage's result, which is final, to the root. It reports
	// whether it has prepared another stage.
	complete(ctx context.Context, c *Client, t *task) (more bool)
	// interrupt attaches the result of a stage that ends early. It reports whether it has
	// prepared another stage.
	interrupt(ctx context.Context, c *Client, t *task) (more bool)
}

// lookupStage sends the query itself. Its result is the root.
type lookupStage struct{}

func (lookupStage) requestURL(t *task, base string) string {
	if t.search != nil {
		return t.root.Query.requestURL(base, t.search.options)
	}
	return t.root.Query.requestURL(base, SearchOptions{})
}

func (lookupStage) complete(ctx context.Context, c *Client, t *task) (more bool) {
	if t.search != nil && t.root.Verdict == VerdictFound && c.nextPage(t, t.root) {
		return true
	}
	return !t.noLinks && c.startWalk(ctx, t) && c.nextLink(t)
}

func (lookupStage) interrupt(context.Context, *Client, *task) (more bool) { return false }

// A pendingRedirect waits until its host admits a request.
type pendingRedirect struct {
	to    *url.URL
	chain *redirectChain
}

// newTask returns the task of sending r.Query to servers.
func (c *Client) newTask(r *Result, servers bootstrap.Answer) *task {
	r.Source, r.Entry = servers.Source, servers.Entry
	return &task{result: r, servers: servers, memory: c.memory}
}

// run completes a task outside of a batch.
func (c *Client) run(ctx context.Context, t *task) {
	defer t.memory.release(t)
	for more := true; more; more = c.finish(ctx, t) {
		for c.await(ctx, t) && c.step(ctx, t) {
			t.memory.yield(t)
			t.restart()
		}
	}
	t.result.Time = time.Now()
}

// step sends one request and follows its redirects. It reports whether there is another request
// to send, to t.host and not before t.at. Without another request, the task is complete.
func (c *Client) step(ctx context.Context, t *task) (more bool) {
	if t.stage == nil {
		if wait, e := c.start(t); e != nil {
			t.giveBack()
			t.search.refuse(t, e)
			return false
		} else if wait {
			t.giveBack()
			t.at = time.Now().Add(helpcache.Poll)
			return true
		}
	}
	if c.doRequest(ctx, t) {
		return true
	}
	return t.completed(t.stage.complete(ctx, c, t))
}

// finish attaches the partial results of a task whose stage was interrupted. It reports whether
// the task continues, because other links may still be followed.
func (c *Client) finish(ctx context.Context, t *task) (more bool) {
	return t.stage != nil && t.completed(t.stage.interrupt(ctx, c, t))
}

// start chooses the first stage. The task has to wait if another search is already fetching the
// help that the task needs.
func (c *Client) start(t *task) (wait bool, e *Error) {
	t.root = t.result
	if t.root.Query.Search == nil {
		t.stage = lookupStage{}
		return false, nil
	}
	return c.startSearch(t)
}

// completed ends a task that has no other stage.
func (t *task) completed(more bool) bool {
	if more {
		return true
	}
	t.stage, t.result = nil, t.root
	if t.search != nil {
		t.reserved += t.search.reserved
		t.search.reserved = 0
	}
	return false
}

// nextStage prepares a task for the first request of another stage.
func (t *task) nextStage(s stage, r *Result) {
	t.stage, t.result = s, r
	t.redirect, t.at, t.limited = nil, time.Time{}, time.Time{}
}

// doRequest sends one request, follows its redirects, and judges the response. It
// reports whether the request has to be sent again, to t.host and not before t.at.
func (c *Client) doRequest(ctx context.Context, t *task) (more bool) {
	r := t.result
	start := time.Now()
	defer func() {
		r.Time = time.Now()
		r.Elapsed += r.Time.Sub(start)
	}()
	base := t.servers.URLs[t.server]
	r.Server = weburl.Redact(base)
	if ctx.Err() != nil || c.isClosed() {
		t.giveBack()
		c.stop(ctx, t, "waiting for "+visible(r.Server))
		return false
	}
	u := (*url.URL)(nil)
	if t.redirect == nil {
		var e *Error
		if u, e = c.begin(t, base); e != nil {
			t.giveBack()
			r.fail(e)
			return c.decideRetry(ctx, t, true)
		}
	}
	a := c.newAttempt(ctx, t, start, c.alternatives(t))
	defer a.end()
	defer func() {
		if a.at != nil { // the transport panicked
			a.observe(gate.Outcome{Kind: gate.Canceled})
		}
	}()
	warnings := len(r.Warnings)
	got, e := a.fetch(r, u)
	if t.redirect != nil {
		return true
	}
	unreachable := false
	if e != nil {
		e.Server, e.URL, e.Status = r.Server, r.URL, r.Status
		r.fail(e)
		unreachable = r.Status == 0
	} else {
		r.judge(got, c.speakers.Has(base))
		if saysRDAP(got, r.parsed) && (r.Verdict.Answered() || got.status/100 != 2) {
			c.speakers.Add(base)
		}
	}
	c.noteFailedConn(ctx, t)
	a.report(r)
	a.note(r)
	if e == nil && c.checkDesync(ctx, a, got.status) {
		t.resend(warnings)
		return true
	}
	if a.whole != nil {
		// cached only now, because the response may have belonged to another request
		a.storeInCache(got.url, a.whole, got.raw)
	}
	if more = c.decideRetry(ctx, t, unreachable); more && !unreachable {
		r.Warnings = r.Warnings[:warnings] // the next response gets warnings of its own
	}
	if !more {
		t.warnDesyncFound()
	}
	return more
}

// begin clears the result of an earlier request and returns the URL of the next one.
func (c *Client) begin(t *task, base string) (*url.URL, *Error) {
	r := t.result
	r.Attempts++
	if r.Query.note != "" && r.Attempts == 1 {
		r.warn(WarnQuery, r.Query.note)
	}
	target := t.stage.requestURL(t, base)
	r.URL = weburl.Redact(target)
	r.FinalURL = r.URL
	r.Status, r.Header, r.Raw, r.Other, r.namesObject, r.otherHandle = 0, nil, nil, "", false, ""
	r.Refusal, r.Failure = nil, nil
	t.memory.release(t)
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return nil, &Error{Code: CodeTransport, Message: "the server's URL cannot be used: " + quote(weburl.Redact(target)), Server: r.Server, Err: err}
	}
	return u, nil
}

// giveBack returns an unused admission to the host.
func (t *task) giveBack() {
	if t.taken {
		t.host.Refund(t.decision)
		t.taken, t.decision = false, gate.Decision{}
	}
}

// alternatives returns the number of servers that can be tried after this one.
func (c *Client) alternatives(t *task) int {
	return max(min(len(t.servers.URLs)-1-t.server, c.cfg.Attempts-t.result.Attempts), 0)
}

// stop sets the error of a lookup whose caller gave up or closed the Client.
func (c *Client) stop(ctx context.Context, t *task, doing string) {
	e := new(Error)
	if ctx.Err() != nil {
		stopped(ctx, e, doing)
	} else {
		e = closedWhile(doing, nil)
	}
	e.Server = t.result.Server
	t.result.end(e)
}

// closedWhile returns the error of a lookup that Close ended.
func closedWhile(doing string, cause error) *Error {
	return &Error{Code: CodeCanceled, Message: "the client was closed while " + doing, Err: errors.Join(ErrClosed, cause)}
}

// startSearch prepares the first stage of a search. The task has to wait if another search is
// already fetching the help that the task needs.
func (c *Client) startSearch(t *task) (wait bool, e *Error) {
	s := t.search
	if s == nil {
		s = &search{}
		t.search = s
	}
	q := t.root.Query
	s.base = t.servers.URLs[t.server]
	if e := q.requireTLS(s.base); e != nil {
		return false, e
	}
	t.stage = lookupStage{}
	if q.URL != "" {
		return false, nil // parameters of a URL stay unchanged
	}
	s.options = q.Search.SearchOptions.withDefaults(c.cfg.Search.SearchOptions)
	if c.cfg.Search.Unannounced || q.Search.Reverse == "" && s.options == (SearchOptions{}) {
		return false, nil
	}
	if h, ok := c.helps.Get(s.base); ok {
		if e = s.checkOptions(t.root, h); e != nil {
			t.stage = nil
		}
		return false, e
	}
	if !c.helps.Claim(s.base, time.Now()) {
		t.stage = nil
		return true, nil
	}
	t.stage = helpStage{}
	t.result = &Result{Query: Query{Text: "help", Type: TypeHelp, Server: q.Server}}
	return false, nil
}

// nextPage adds a page to the root and reports whether it has prepared the stage of the
// page after it.
func (c *Client) nextPage(t *task, page *Result) (more bool) {
	s, root := t.search, t.root
	var found rdap.PageInfo
	if resp, err := page.Response(); err == nil {
		found = resp.Paging()
	}
	if !found.IsList {
		if page != root {
			s.pageFailed(root, &Result{Failure: &Error{Code: CodeNotRDAP, Message: "the response is not a list of results"}})
		}
		return false
	}
	s.keep(t, page, found)
	p := root.Paging
	next := s.follow(c, root, page, found)
	if s.each != nil {
		t.memory.release(t) // the page belongs to the consumer now
		if !s.each(&Page{Number: len(s.seen) + 1, URL: page.URL, Raw: page.Raw, Paging: *p}) {
			return false
		}
	}
	if next == nil {
		return false
	}
	s.next = next.String()
	s.seen[weburl.Normalize(next)] = true
	q := root.Query
	q.note = "" // the root has the warning
	// Until the response arrives, Conn is that of the previous page.
	t.nextStage(pageStage{}, &Result{Query: q, Conn: page.Conn})
	return true
}
