package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rdapq/rdapq/internal/gate"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/pool"
)

// acceptRDAP asks for RDAP and admits what some servers call it (RFC 7480
// section 4.2).
const acceptRDAP = "application/rdap+json, application/json;q=0.9"

// An attempt is one request to one server, with the redirects that it leads to.
type attempt struct {
	c     *Client
	outer context.Context // the caller's
	ctx   context.Context // the attempt's own, with its deadline
	steps *traceSteps     // nil with a pool, which tells the step itself
	clock *clock          // nil: no bound
	start time.Time

	task *task
	at   *gate.Host // asked, and not told yet what came of it
	sent time.Time  // when it was

	check pool.Check     // of the last response
	whole *http.Response // the last response, if its body was read to the end

	redirected bool        // by a redirect
	cached     bool        // the response is from the cache
	stale      *cacheEntry // what it has and is asked about; nil: nothing
}

// newAttempt bounds an attempt that has so many alternatives left: by the
// timeout, which counts from when the request has its connection or stream, and
// by the connect timeout before that. While there are alternatives its fair share
// of the caller's deadline bounds both, and so does ReferralTimeout.
func (c *Client) newAttempt(ctx context.Context, t *task, more int) (*attempt, context.CancelFunc) {
	a := &attempt{c: c, outer: ctx, ctx: ctx, task: t, start: time.Now()}
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
	end := context.CancelFunc(func() {})
	if whole >= 0 {
		a.ctx, end = context.WithTimeout(ctx, whole)
	}
	_, pooled := c.cfg.Transport.(*pool.Pool)
	if pooled && c.cfg.Timeout < 0 {
		return a, end
	}
	bounded, stop := context.WithCancelCause(a.ctx)
	a.ctx = bounded
	if c.cfg.Timeout >= 0 {
		wait := time.Duration(-1) // a Pool bounds what it waits for
		if !pooled {
			wait = c.cfg.Timeout + c.cfg.ConnectTimeout
		}
		a.clock = newClock(c.cfg.Timeout, wait, pooled, stop)
	}
	if !pooled {
		a.steps = newTraceSteps(c.cfg.ConnectTimeout, func() { stop(errConnectTimeout) })
		a.ctx = a.steps.withTrace(a.ctx)
	}
	t.clock = a.clock
	return a, func() {
		a.steps.stop()
		a.clock.stop()
		t.clock = nil
		stop(nil)
		end()
	}
}

// maxErrorBody bounds the body of a response that is not a success, in bytes. Its
// status counts, and so do a few lines of what it says (RFC 9083 section 6).
const maxErrorBody = 1 << 20

func (c *Client) bodyLimit(status int) int64 {
	if status/100 != 2 {
		return min(c.cfg.MaxBody, maxErrorBody)
	}
	return c.cfg.MaxBody
}

// answer is a response with its body read.
type response struct {
	status      int
	contentType string
	retryAfter  string
	raw         []byte
	cut         string // why the body is not whole; empty if it is
	url         *url.URL
}

// fetch asks u, follows redirects, and reads the body. It fills in what r says
// about the way there. An error means that there is no response to judge, or
// one whose body would have been the answer and could not be read. If a request
// has to wait for its host, there is neither, and the task's hop says where to go
// on; a fetch of such a task does so.
func (a *attempt) fetch(r *Result, u *url.URL) (response, *Error) {
	way := (*redirectChain)(nil)
	if from := a.task.redirect; from != nil {
		u, way, a.task.redirect, a.redirected = from.to, from.chain, nil, true
	} else {
		way = newRedirectChain(&a.c.cfg)
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
			resp.Body.Close() // what follows is no body, and need not end
			return response{}, &Error{Code: CodeTransport, Message: visible(u.Host) + " switched protocols without being asked to (101)"}
		}
		a.task.noteFirstByte() // not every transport calls the hook, and what is cached comes without
		r.Status, r.Header, r.Cached = resp.StatusCode, resp.Header, a.cached
		if len(way.urls) > 0 {
			r.FinalURL = weburl.Redact(u.String())
		}
		if isRedirect(resp.StatusCode) {
			if location := resp.Header.Get("Location"); a.c.auth != nil {
				resp.Header.Set("Location", a.c.auth.stripKeys(location))
			}
			next, e := way.next(u, resp)
			resp.Body.Close()
			a.observeRedirect(r)
			if e != nil {
				return response{}, e
			}
			a.storeInCache(u, resp, nil)
			a.redirected = true
			a.c.cfg.Logger.Debug("redirect", "from", weburl.Redact(u.String()), "to", weburl.Redact(next.String()), "status", resp.StatusCode)
			if a.c.isClosed() {
				return response{}, closedWhile("following the redirect to "+visible(weburl.Redact(next.String())), nil)
			}
			u = next
			continue
		}
		raw, err := a.c.read(a.outer, resp, a.task)
		resp.Body.Close()
		if err == nil {
			if err = foreignEncoding(raw); err != nil {
				raw = nil
			}
		}
		got := response{
			status: resp.StatusCode, raw: raw, url: u,
			contentType: resp.Header.Get("Content-Type"), retryAfter: resp.Header.Get("Retry-After"),
		}
		if err != nil {
			e := a.bodyError(u, resp.StatusCode, err)
			// The status of a refusal stands without its body; a caller that
			// gave up wants no verdict at all.
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
		ctx = a.clock.withTrace(ctx, a.task.noteFirstByte)
	} else {
		ctx = a.task.watchFirstByte(ctx)
	}
	values := []string{acceptRDAP, a.c.cfg.UserAgent}
	req := (&http.Request{
		Method: http.MethodGet, URL: u, Host: u.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Accept": values[:1:1], "User-Agent": values[1:]},
	}).WithContext(ctx)
	if a.c.languages != nil {
		req.Header["Accept-Language"] = a.c.languages
	}
	if a.stale != nil {
		a.stale.makeConditional(req.Header)
	}
	resp, err := a.c.send(req)
	if err == nil && a.steps != nil && r.Conn.ConnID == 0 { // else there is a pool behind the transport
		a.steps.fill(&r.Conn, resp)
	}
	return resp, err
}

var (
	errTooLarge       = errors.New("the body is over the limit")
	errConnectTimeout = errors.New("the connection took too long")
)

// read returns a body that the caller owns. What was read before an error comes
// with it. It waits for room in memory, at most until ctx ends.
func (c *Client) read(ctx context.Context, resp *http.Response, t *task) ([]byte, error) {
	limit := c.bodyLimit(resp.StatusCode)
	body := io.Reader(resp.Body)
	length := resp.ContentLength
	switch coding := contentCoding(resp.Header); coding {
	case "":
	case "gzip":
		// The transport undoes the compression that it asked for; some servers
		// compress without being asked.
		z, err := newUngzip(resp.Body)
		if err != nil {
			return nil, err
		}
		defer z.gz.Close()
		body, length = z, -1
	default:
		return nil, &pool.EncodingError{Encoding: coding}
	}
	if length > limit {
		return nil, errTooLarge
	}
	if length >= 0 && length <= 64<<10 {
		// One octet more, because the end has to be seen for HTTP/1.1 to keep
		// the connection.
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
			Message: "the answer of " + visible(u.Host) + " is too large: more than " + strconv.FormatInt(a.c.bodyLimit(status), 10) + " bytes",
		}
	}
	if e := encodingFailure(visible(u.Host), err); e != nil {
		return e
	}
	if a.steps != nil {
		a.steps.at(stepBody)
	}
	return a.failure(u, stepBody, err)
}

// pieceSize is in how large pieces bodies of unknown length are read, in bytes. One
// is enough for almost all of them. A buffer that grows would be copied again and
// again, and take three times the body at its end; larger pieces would take much
// memory for bodies that are only a little longer than the last one.
const pieceSize = 64 << 10

// readAll reads a body of at most limit bytes. What was read before an error comes
// with it, but nothing of a body that is too large, nor of one of more than
// maxErrorBody: it is that of a success, which is of no use without its end.
func (c *Client) readAll(body io.Reader, limit int64) ([]byte, error) {
	pieces := [][]byte{c.pieces.Get().(*[pieceSize]byte)[:0]}
	// Pieces are used again: those of bodies that are too large would make the
	// heap several times what is in use.
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

// acceptLanguage is the field that asks a server for these languages (RFC 9110
// section 12.5.4): "de-AT, en;q=0.9". It is empty without any.
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
