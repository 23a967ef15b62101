package client

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rdapq/rdapq/internal/attemptclock"
	"github.com/rdapq/rdapq/internal/content"
	"github.com/rdapq/rdapq/internal/gate"
	"github.com/rdapq/rdapq/internal/httpcache"
	"github.com/rdapq/rdapq/internal/reqtrace"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/pool"
)

// acceptRDAP is the Accept field: RDAP's media type, and plain JSON because some servers use it
// (RFC 7480 section 4.2).
const acceptRDAP = "application/rdap+json, application/json;q=0.9"

// An attempt is one request to one server, with its redirects.
type attempt struct {
	c     *Client
	outer context.Context     // context of the caller
	ctx   context.Context     // context of the attempt, with its deadline
	steps *reqtrace.Steps     // nil with a pool, which reports the step itself
	clock *attemptclock.Clock // nil without a time limit
	start time.Time

	bound     attemptclock.Clock      // storage for clock
	stop      context.CancelCauseFunc // ends ctx; nil if the attempt has no limit of its own
	stopWhole context.CancelFunc      // ends the context that limits the whole attempt; nil if there is none

	task *task
	at   *gate.Host // host of the request; nil once the outcome has been reported
	sent time.Time  // when the request to at was sent

	check pool.Check     // check of the last response
	whole *http.Response // the last response, if its body was read to the end

	redirected bool             // a redirect was followed
	cached     bool             // the response is from the cache
	stale      *httpcache.Entry // cached response to revalidate; nil means none
}

// newAttempt starts an attempt with its time limits: Config.Timeout, which counts from
// when the request has its connection or stream, and Config.ConnectTimeout before that.
// Both are also limited by ReferralTimeout and, if there are more servers to try, by an
// equal share of the time until the caller's deadline. The caller must call end.
func (c *Client) newAttempt(ctx context.Context, t *task, start time.Time, more int) *attempt {
	a := &attempt{c: c, outer: ctx, ctx: ctx, task: t, start: start}
	whole := time.Duration(-1)
	if t.walk != nil && t.walk.current.relation == "" && c.cfg.ReferralTimeout > 0 && (c.cfg.Timeout < 0 || c.cfg.ReferralTimeout < c.cfg.Timeout) {
		whole = c.cfg.ReferralTimeout
	}
	if deadline, ok := ctx.Deadline(); ok && more > 0 {
		share := deadline.Sub(a.start) / time.Duration(more+1)
		if whole < 0 || share < whole {
			whole = share
		}
	}
	if whole >= 0 {
		a.ctx, a.stopWhole = context.WithTimeout(ctx, whole)
	}
	_, pooled := c.cfg.Transport.(*pool.Pool)
	if pooled && c.cfg.Timeout < 0 {
		return a
	}
	a.ctx, a.stop = context.WithCancelCause(a.ctx)
	if c.cfg.Timeout >= 0 {
		wait := time.Duration(-1) // a Pool limits its own waits
		if !pooled {
			wait = c.cfg.Timeout + c.cfg.ConnectTimeout
		}
		a.clock = &a.bound
		a.bound.Start(start, c.cfg.Timeout, wait, pooled, a.stop)
	}
	if !pooled {
		a.steps = reqtrace.NewSteps(c.cfg.ConnectTimeout, func() { a.stop(errConnectTimeout) })
		a.ctx = a.steps.WithTrace(a.ctx)
	}
	t.clock = a.clock
	return a
}

// end releases the time limits of the attempt.
func (a *attempt) end() {
	a.steps.Stop()
	a.clock.Stop()
	a.task.clock = nil
	if a.stop != nil {
		a.stop(nil)
	}
	if a.stopWhole != nil {
		a.stopWhole()
	}
}

// maxErrorBody limits the body of a response that is not a success, in bytes. Only its
// status and a few lines of text are used (RFC 9083 section 6).
const maxErrorBody = 1 << 20

func (c *Client) bodyLimit(status int) int64 {
	if status/100 != 2 {
		return min(c.cfg.MaxBody, maxErrorBody)
	}
	return c.cfg.MaxBody
}

// A response is an HTTP response with the body that was read.
type response struct {
	status      int
	contentType string
	retryAfter  string
	raw         []byte
	cut         string // reason why the body is truncated; empty if the body is complete
	url         *url.URL
}

// fetch requests u, follows redirects, and reads the body. It fills in the fields of r about
// the request. It returns an error if there is no response, or if the body of a success could
// not be read. If a request has to wait for its host, fetch returns neither and sets the
// redirect of the task; the task's next fetch continues there.
func (a *attempt) fetch(r *Result, u *url.URL) (response, *Error) {
	way := (*redirectChain)(nil) // nil before the first redirect
	if from := a.task.redirect; from != nil {
		u, way, a.task.redirect, a.redirected = from.to, from.chain, nil, true
	}
	for {
		resp := a.fromCache(r, u)
		if resp == nil {
			if !a.enter(u, way) {
				return response{}, nil
			}
			var err error
			if resp, err = a.get(r, u); err != nil {
				return response{}, a.transportError(u, err)
			}
			resp = a.revalidate(u, resp)
		}
		if resp.StatusCode == http.StatusSwitchingProtocols {
			resp.Body.Close() // after a switch of protocols no HTTP body follows
			return response{}, &Error{Code: CodeTransport, Message: visible(u.Host) + " switched protocols without a request to do so (101)"}
		}
		a.task.noteFirstByte() // not every transport calls the hook, and a cached response involves no transport
		r.Status, r.Header, r.Cached = resp.StatusCode, resp.Header, a.cached
		if way != nil {
			r.FinalURL = weburl.Redact(u.String())
		}
		if isRedirect(resp.StatusCode) {
			if location := resp.Header.Get("Location"); a.c.auth != nil {
				resp.Header.Set("Location", a.c.auth.StripKeys(location))
			}
			if way == nil {
				way = newRedirectChain(a.c)
			}
			next, e := way.next(u, resp)
			resp.Body.Close()
			a.observeRedirect(r)
			if e != nil {
				return response{}, e
			}
			a.storeInCache(u, resp, nil)
			a.redirected = true
			a.c.cfg.Logger.DebugContext(a.outer, "redirect", "from", weburl.Redact(u.String()), "to", weburl.Redact(next.String()), "status", resp.StatusCode)
			if a.c.isClosed() {
				return response{}, closedWhile("following the redirect to "+visible(weburl.Redact(next.String())), nil)
			}
			u = next
			continue
		}
		raw, err := a.c.read(a.outer, resp, a.task)
		resp.Body.Close()
		if err == nil {
			if err = content.CheckEncoding(raw); err != nil {
				raw = nil
			}
		}
		got := response{
			status: resp.StatusCode, raw: raw, url: u,
			contentType: fieldOf(resp.Header, "Content-Type"), retryAfter: fieldOf(resp.Header, "Retry-After"),
		}
		if err != nil {
			e := a.bodyError(u, resp.StatusCode, err)
			// The status of an error response is valid without its body, but
			// there is no verdict if the caller gave up.
			if resp.StatusCode/100 == 2 || a.outer.Err() != nil {
				return response{}, e
			}
			got.cut = e.Message
		} else {
			a.whole = resp
		}
		r.Raw = got.raw
		return got, nil
	}
}

// fieldOf returns the first value of a field, whose name must be in the form of
// [http.CanonicalHeaderKey].
func fieldOf(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

func (a *attempt) get(r *Result, u *url.URL) (*http.Response, error) {
	ctx := a.ctx
	if !a.trusts(u) {
		ctx = pool.WithGuard(ctx)
	}
	ctx = a.c.route(ctx, a.task)
	r.Conn = pool.Trace{}
	a.check = pool.Check{}
	ctx = pool.WithCheck(pool.WithTrace(ctx, &r.Conn), &a.check)
	if a.clock != nil {
		ctx = a.clock.WithTrace(ctx, a.task.noteFirstByte)
	} else {
		ctx = a.task.watchFirstByte(ctx)
	}
	req := (&http.Request{
		Method: http.MethodGet, URL: u, Host: u.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Accept": a.c.accept, "User-Agent": a.c.userAgent},
	}).WithContext(ctx)
	if a.c.languages != nil {
		req.Header["Accept-Language"] = a.c.languages
	}
	a.task.addHeader(req.Header, u)
	if a.stale != nil {
		a.stale.MakeConditional(req.Header)
	}
	resp, err := a.c.transport.RoundTrip(req)
	if err == nil && a.check.News() {
		a.task.desyncFound = true
	}
	if err == nil && a.steps != nil && r.Conn.ConnID == 0 { // otherwise the transport wraps a pool
		a.steps.Fill(&r.Conn, resp)
	}
	return resp, err
}

var (
	errTooLarge       = errors.New("the body is over the limit")
	errConnectTimeout = errors.New("the connection took too long")
)

// read returns the body, which the caller owns. If it fails, it returns the error with the part
// read so far. It waits for memory until ctx ends.
func (c *Client) read(ctx context.Context, resp *http.Response, t *task) ([]byte, error) {
	limit := c.bodyLimit(resp.StatusCode)
	body := io.Reader(resp.Body)
	length := resp.ContentLength
	switch coding := content.Coding(resp.Header); coding {
	case "":
	case "gzip":
		// The transport decodes the compression that it requested; some servers
		// compress without a request.
		z, err := content.NewGunzip(resp.Body)
		if err != nil {
			return nil, err
		}
		defer z.Close()
		body, length = z, -1
	default:
		return nil, &pool.EncodingError{Encoding: coding}
	}
	if length > limit {
		return nil, errTooLarge
	}
	if length >= 0 && length <= 64<<10 {
		// Read one byte more, because HTTP/1.1 reuses a connection only after the end of the
		// body was read.
		if err := t.memory.take(ctx, t, length+1); err != nil {
			return nil, err
		}
		raw := make([]byte, length+1)
		n, err := io.ReadFull(body, raw[:length])
		if err == nil {
			_, err = body.Read(raw[length:])
		}
		if errors.Is(err, io.EOF) && n == int(length) {
			err = nil
		}
		return raw[:n:n], err
	}
	return c.readAll(metered{body, ctx, t}, limit)
}

func (a *attempt) bodyError(u *url.URL, status int, err error) *Error {
	if errors.Is(err, errTooLarge) {
		return &Error{
			Code: CodeTooLarge, Err: err,
			Message: "the response from " + visible(u.Host) + " is too large: more than " + strconv.FormatInt(a.c.bodyLimit(status), 10) + " bytes",
		}
	}
	if why := content.Failure(err); why != "" {
		return &Error{
			Code: CodeNotRDAP, Err: err, Message: "cannot read the response from " + visible(u.Host) + ": " + why,
			Hint: "report this to the operator of the server",
		}
	}
	return a.failure(u, reqtrace.StepBody, err)
}

// pieceSize is the size of the buffers for bodies of unknown length, in bytes. A single buffer
// is enough for almost all bodies. A growing buffer would be copied several times and use three
// times the memory of the body. Larger pieces would waste more of the last piece.
const pieceSize = 64 << 10

// readAll reads a body of at most limit bytes. If it fails, it returns the part read so far. It
// returns no part that is longer than limit or maxErrorBody: only bodies of successes are
// longer, and a truncated body of a success is useless.
func (c *Client) readAll(body io.Reader, limit int64) ([]byte, error) {
	pieces := [][]byte{c.pieces.Get().(*[pieceSize]byte)[:0]}
	// Pieces are reused. Otherwise, bodies that are too large would make the heap several
	// times as large as the memory in use.
	defer func() {
		for _, piece := range pieces {
			c.pieces.Put((*[pieceSize]byte)(piece[:pieceSize]))
		}
	}()
	for total := int64(0); ; {
		last := pieces[len(pieces)-1]
		if len(last) == cap(last) {
			last = c.pieces.Get().(*[pieceSize]byte)[:0]
			pieces = append(pieces, last)
		}
		n, err := body.Read(last[len(last):cap(last)])
		pieces[len(pieces)-1] = last[:len(last)+n]
		total += int64(n)
		switch {
		case total > limit:
			return nil, errTooLarge
		case err == io.EOF:
			return slices.Concat(pieces...), nil
		case err != nil && total > maxErrorBody:
			return nil, err
		case err != nil:
			return slices.Concat(pieces...), err
		}
	}
}

// acceptLanguage returns the Accept-Language field for these languages (RFC 9110 section
// 12.5.4): "de-AT, en;q=0.9". The field is empty without languages.
func acceptLanguage(tags []string) string {
	var b strings.Builder
	for i, tag := range tags {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(tag)
		if i > 0 {
			b.WriteString(";q=0." + strconv.Itoa(10-i))
		}
	}
	return b.String()
}

// noteFailedConn records the connection that failed, so that the next attempt and a probe
// of the host avoid it.
func (c *Client) noteFailedConn(ctx context.Context, t *task) {
	r := t.result
	if ctx.Err() != nil {
		return
	}
	t.suspectSession = c.mayBeSession(t)
	if !t.suspectSession && !faulty(r) {
		return
	}
	t.faults++
	id := cmp.Or(r.Conn.FailedConn, r.Conn.ConnID)
	if id == 0 {
		return
	}
	if s, ok := c.cfg.Transport.(suspecter); ok && r.Status/100 == 2 {
		s.Suspect(id) // the body was truncated; the Pool detects other failures itself
	}
	if !slices.Contains(t.avoid, id) && len(t.avoid) < maxAvoided {
		t.avoid = append(t.avoid, id)
	}
	if t.host != nil {
		t.host.FaultyConn.Store(id)
	}
}

// mayBeSession reports whether a resumed TLS session may be the cause of a refusal that is not
// RDAP. If so, the request is repeated over a connection without a resumed session, once per
// query.
func (c *Client) mayBeSession(t *task) bool {
	r := t.result
	if t.sessionRetried || r.Conn.ConnID == 0 || !r.walled() {
		return false
	}
	if s, ok := c.cfg.Transport.(sessionSuspecter); !ok || !s.SuspectSession(r.Conn.ConnID) {
		return false
	}
	t.sessionRetried = true
	return true
}

// route makes the next attempt avoid the connections that failed. The last attempt, and a
// probe, also avoid all features that may cause failures: see [pool.WithPlain].
func (c *Client) route(ctx context.Context, t *task) context.Context {
	for _, id := range t.avoid {
		ctx = pool.AvoidConn(ctx, id)
	}
	if t.decision.Probe && t.host != nil {
		ctx = pool.AvoidConn(ctx, t.host.FaultyConn.Load())
	}
	if t.decision.Probe || t.faults > 0 && t.result.Attempts >= c.cfg.Attempts {
		ctx = pool.WithPlain(ctx)
	}
	if t.first != nil {
		ctx = pool.WithFreshConn(ctx, t.first.conn)
	}
	return ctx
}

// maxAvoided limits the connections that the attempts of one query avoid.
const maxAvoided = 4

// A suspecter is a transport that stops using connections with useless responses; see
// [pool.Pool.Suspect].
type suspecter interface {
	Suspect(id int64)
}

// A sessionSuspecter is a transport that resumes TLS sessions; see
// [pool.Pool.SuspectSession].
type sessionSuspecter interface {
	SuspectSession(id int64) bool
}

// faulty reports whether the connection may be the cause of a failure. It may be the cause if
// there was no response, or the response was truncated, or its status is not about the query.
func faulty(r *Result) bool {
	switch e := r.reason(); {
	case e == nil:
		return false
	case r.Status == 0, r.Status/100 == 2:
		switch e.Code {
		case CodeTransport, CodeRefused, CodeTimeout, CodeTLS:
			return true
		}
		return false
	case r.Status == http.StatusNotImplemented:
		return false
	default:
		return r.Status/100 == 5 || r.Status == http.StatusMisdirectedRequest
	}
}
