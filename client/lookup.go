package client

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/publicaddr"
	"github.com/rdapq/rdapq/internal/registrable"
	"github.com/rdapq/rdapq/internal/unshared"
	"github.com/rdapq/rdapq/internal/weburl"
)

// Lookup sends q to the server that is authoritative for it, or to q.Server if that is set.
//
// The Result is never nil. The error is nil if Verdict.Answered is true.
// Otherwise the error is that of Result.Err, an *[Error], and the other fields describe what
// happened. In that error, errors.Is finds context.Canceled, context.DeadlineExceeded,
// [bootstrap.ErrNoService] and other causes.
//
// If a server is unreachable, Lookup uses the next one of its service; any response, including
// a 404, is final. Lookup retries transient failures with exponential back-off: failed
// connections, timeouts, truncated responses, 408, 421, 425, any 5xx except 501; see
// Config.Attempts. A retry avoids connections that failed, and uses another address of the host
// if there is one. The last attempt uses a new connection without a resumed session, early
// data, HTTP/3 or Fast Open. Lookup waits for rate-limited servers; see Config.MaxWait.
//
// A Lookup shares the response of an identical lookup in flight of the same Client, unless the
// response to the last attempt has begun. Its Result has Shared set.
func (c *Client) Lookup(ctx context.Context, q Query, opts ...Option) (*Result, error) {
	q = c.registrable(q)
	r := &Result{Query: q}
	start := time.Now()
	if e := c.use(); e != nil {
		r.fail(e)
		r.Time = start
		return r, e
	}
	defer c.users.Leave()
	if servers, err := c.resolve(ctx, q); err != nil {
		r.fail(err)
		r.Time = time.Now()
		r.Elapsed = r.Time.Sub(start)
	} else {
		r = c.lookupShared(ctx, r, servers, newOptions(opts))
	}
	return r, r.Err()
}

// resolve finds the servers for q. It omits servers without TLS unless Config.AllowHTTP is set.
func (c *Client) resolve(ctx context.Context, q Query) (bootstrap.Answer, *Error) {
	if q.isEmpty() {
		return bootstrap.Answer{}, invalid(q.Text, "empty query", "make a Query with Parse")
	}
	if q.URL != "" {
		a, err := q.serverOfURL()
		if err != nil {
			return a, err
		}
		return c.permitted(q, a)
	}
	if q.Server != "" {
		urls, err := c.named.urls(q.Server)
		if err != nil {
			return bootstrap.Answer{}, err
		}
		return c.permitted(q, bootstrap.Answer{URLs: urls, Source: bootstrap.SourceServer})
	}
	question, ok := q.Question()
	if !ok {
		return bootstrap.Answer{}, q.noServer()
	}
	if c.isClosed() {
		return bootstrap.Answer{}, unsent(closedWhile("finding the server for "+visible(q.String()), nil))
	}
	answer, err := c.cfg.Resolver.Resolve(ctx, question)
	switch {
	case err != nil && ctx.Err() == nil && c.isClosed():
		return bootstrap.Answer{}, unsent(closedWhile("finding the server for "+visible(q.String()), err))
	case err != nil:
		return bootstrap.Answer{}, resolveError(ctx, q, err)
	}
	return c.permitted(q, answer)
}

// permitted returns a without the servers that Config.AllowHTTP forbids, and an error if
// none is left.
func (c *Client) permitted(q Query, a bootstrap.Answer) (bootstrap.Answer, *Error) {
	if len(a.URLs) == 0 {
		return a, resolveError(context.Background(), q, bootstrap.ErrNoService)
	}
	if c.cfg.AllowHTTP || !slices.ContainsFunc(a.URLs, isPlainHTTP) {
		return a, nil
	}
	var urls []string
	for _, u := range a.URLs {
		if !isPlainHTTP(u) {
			urls = append(urls, u)
		}
	}
	if len(urls) == 0 {
		return a, &Error{
			Code: CodeHTTPOnly, Server: weburl.Redact(a.URLs[0]), Err: bootstrap.ErrHTTPOnly,
			Message: "the only server known for " + visible(q.String()) + " uses plain http: " + visible(weburl.Redact(a.URLs[0])),
			Hint:    hintPlainHTTP,
		}
	}
	a.URLs = urls
	return a, nil
}

func isPlainHTTP(u string) bool { return len(u) >= 7 && strings.EqualFold(u[:7], "http://") }

func resolveError(ctx context.Context, q Query, err error) *Error {
	e := &Error{Code: CodeBootstrap, Message: "no server found for " + visible(q.String()) + ": " + visible(err.Error()), Err: err}
	switch {
	case errors.Is(err, bootstrap.ErrHTTPOnly):
		e.Code = CodeHTTPOnly
		e.Message = visible(err.Error())
		e.Hint = hintPlainHTTP
	case errors.Is(err, bootstrap.ErrNoService):
		e.Code = CodeNoService
		e.Message = visible(err.Error())
		switch _, ok := errors.AsType[*bootstrap.NoServiceError](err); {
		case q.Type == TypeIP && !publicaddr.Is(q.Prefix.Addr()):
			e.Message = "no RDAP service known for " + q.String() + ", a private, loopback or special-purpose address"
		case !ok:
			e.Message = "no RDAP service known for " + visible(noServiceFor(q))
		}
		e.Hint, e.HintCode = noServiceHint(q)
	case errors.Is(err, bootstrap.ErrNotTopLevel):
		return &Error{
			Code: CodeInvalid, Err: err, Message: quote(q.Name) + ": a name without a dot that is not a top-level domain",
			Hint: hintEntity, HintCode: HintEntity,
		}
	case ctx.Err() != nil:
		stopped(ctx, e, "finding the server for "+visible(q.String()))
		unsent(e)
	}
	return e
}

const (
	hintEntity    = "look up a handle as an entity, or specify the server for this name"
	hintServer    = "if you know its RDAP server, specify it"
	hintPlainHTTP = "allow http if you accept a response that can be tampered with in transit"
)

// noServiceHint returns the hint for a query without a known server. The type of the
// query may have been detected wrongly.
func noServiceHint(q Query) (string, HintCode) {
	if q.Type == TypeDomain {
		switch top := q.Name[strings.LastIndexByte(q.Name, '.')+1:]; {
		case strings.Trim(top, "0123456789") == "" && strings.Contains(q.Name, "-"):
			return "write the range as a CIDR prefix, such as 192.0.2.0/24", ""
		case isAddress(q.Name):
			return "look it up as an address, not as a domain", HintAddress
		case isASBlock(q.Name):
			return "look up one AS number of the block", ""
		case top == q.Name && top != ".":
			return hintEntity, HintEntity
		}
	}
	return hintServer, HintServer
}

// isASBlock reports whether s is a block of AS numbers, such as "as64500-as64510".
func isASBlock(s string) bool {
	first, last, ok := strings.Cut(s, "-")
	_, err1 := strconv.ParseUint(strings.TrimPrefix(first, "as"), 10, 32)
	_, err2 := strconv.ParseUint(strings.TrimPrefix(last, "as"), 10, 32)
	return ok && err1 == nil && err2 == nil
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

// noServiceFor describes an object for which the bootstrap registries list no server.
func noServiceFor(q Query) string {
	switch q.Type {
	case TypeDomain, TypeNameserver:
		return "." + q.Name[strings.LastIndexByte(q.Name, '.')+1:] + " (" + q.Name + ")"
	case TypeEntity:
		return "the handle " + q.Name
	default:
		return q.String()
	}
}

// baseURL returns the base URL of the server that a user specified: it adds https to a
// bare host, and a slash to the path.
func baseURL(server string) (string, *Error) {
	s := strings.TrimSpace(server)
	if !strings.Contains(s, "://") {
		s = "https://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.Fragment != "" {
		return "", invalid(server, "not a valid server URL", "use a URL such as https://rdap.example/")
	}
	u.Scheme = strings.ToLower(u.Scheme)
	if u.Scheme != "https" && u.Scheme != "http" {
		return "", invalid(server, "unsupported scheme "+quote(u.Scheme)+" in the server's URL", "use a URL such as https://rdap.example/")
	}
	if !strings.HasSuffix(u.Path, "/") && u.RawQuery == "" {
		u = u.JoinPath("/")
	}
	return u.String(), nil
}

// A namedServer caches the base URL of the last Query.Server, which usually is the same
// for all queries of a batch.
type namedServer struct {
	last atomic.Pointer[named]
}

type named struct {
	server string
	urls   []string // one URL; shared, so it must not be modified
}

func (n *namedServer) urls(server string) ([]string, *Error) {
	if last := n.last.Load(); last != nil && last.server == server {
		return last.urls, nil
	}
	base, err := baseURL(server)
	if err != nil {
		return nil, err
	}
	urls := []string{base}
	n.last.Store(&named{server, urls})
	return urls, nil
}

// registrable returns the query for the registrable domain if Config.Registrable is set.
func (c *Client) registrable(q Query) Query {
	if !c.cfg.Registrable {
		return q
	}
	return q.Registrable()
}

// Registrable returns the query for the registrable domain of a host name:
// example.co.uk for www.example.co.uk. Other queries are returned as they are.
func (q Query) Registrable() Query {
	if q.Type != TypeDomain || q.URL != "" {
		return q
	}
	q.Name = registrable.Name(q.Name)
	return q
}

// lookupShared runs a lookup. Concurrent identical lookups share one request.
func (c *Client) lookupShared(ctx context.Context, r *Result, servers bootstrap.Answer, o *options) *Result {
	t := c.newTask(r, servers)
	t.options = o
	if unshared.Is(ctx) {
		c.run(ctx, t)
		return t.result
	}
	for {
		f, leads := c.flights.join(t)
		if leads {
			c.runShared(ctx, t, f)
			return t.result
		}
		select {
		case <-f.done:
			if f.result != nil {
				shared := duplicate{query: r.Query}.resultOf(f.result)
				shared.Header = shared.Header.Clone()
				return shared
			}
		case <-ctx.Done():
			r.Shared = true
			c.stop(ctx, t, "waiting for the response to an identical lookup")
			r.Time = time.Now()
			return r
		case <-c.closed:
			r.Shared = true
			c.stop(ctx, t, "waiting for the response to an identical lookup")
			r.Time = time.Now()
			return r
		}
	}
}

// runShared runs t and shares its result with the lookups that joined f, unless the result
// depends on ctx. Another caller may have a later deadline.
func (c *Client) runShared(ctx context.Context, t *task, f *flight) {
	var shared *Result
	defer func() { c.flights.finish(f, shared) }() // runs even if the transport panics
	c.run(ctx, t)
	if r := t.result; ctx.Err() == nil {
		if _, limited := ctx.Deadline(); !limited || r.Verdict.Answered() || r.reason().Code != CodeTimeout && r.reason().Code != CodeRateLimited {
			own := *r // the caller may change its Result
			own.Header = r.Header.Clone()
			shared = &own
		}
	}
}
