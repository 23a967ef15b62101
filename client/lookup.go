package client

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
)

// Lookup asks the server responsible for q, or q.Server if that is set.
//
// The Result is never nil. The error is nil if the question was answered, that
// is for Registered, Found and NotFound; otherwise it is Result.Err, an
// *[Error], and the Result says all the same what happened. errors.Is finds
// context.Canceled, context.DeadlineExceeded, [bootstrap.ErrNoService] and
// other causes in it.
//
// If a server cannot be reached, the next one of its service is asked; an
// answer of any kind, a 404 included, ends the search. An answer that breaks
// off in its middle is asked for again.
func (c *Client) Lookup(ctx context.Context, q Query) (*Result, error) {
	r := &Result{Query: q}
	start := time.Now()
	if servers, err := c.resolve(ctx, q); err != nil {
		r.fail(err)
		r.end(start)
	} else {
		c.ask(ctx, r, servers)
	}
	return r, r.failure()
}

func (r *Result) end(start time.Time) {
	r.Time = time.Now()
	r.Elapsed = r.Time.Sub(start)
}

// resolve finds the servers to ask. Those without TLS are left out unless the
// configuration permits them.
func (c *Client) resolve(ctx context.Context, q Query) (bootstrap.Answer, *Error) {
	if q.Path() == "" {
		return bootstrap.Answer{}, invalid(q.Text, "this is no query", "make one with Parse")
	}
	if q.Server != "" {
		base, err := baseURL(q.Server)
		if err != nil {
			return bootstrap.Answer{}, err
		}
		return c.permitted(q, bootstrap.Answer{URLs: []string{base}, Source: bootstrap.SourceServer})
	}
	question, ok := q.Question()
	if !ok {
		return bootstrap.Answer{}, invalid(q.String(), "no server is responsible for "+string(q.Type), "name the server to ask")
	}
	answer, err := c.cfg.Resolver.Resolve(ctx, question)
	if err != nil {
		return bootstrap.Answer{}, resolveError(ctx, q, err)
	}
	return c.permitted(q, answer)
}

func (c *Client) permitted(q Query, a bootstrap.Answer) (bootstrap.Answer, *Error) {
	if len(a.URLs) == 0 {
		return a, resolveError(context.Background(), q, bootstrap.ErrNoService)
	}
	if c.cfg.AllowHTTP {
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
			Code: CodeHTTPOnly, Server: redact(a.URLs[0]), Err: bootstrap.ErrHTTPOnly,
			Message: "the only server known for " + visible(q.String()) + " speaks plain http: " + visible(redact(a.URLs[0])),
			Hint:    "allow http if an answer that anybody on the way may change is of use",
		}
	}
	a.URLs = urls
	return a, nil
}

// maxAttempts bounds how often one query is sent in all when its answers
// break off.
const maxAttempts = 3

// cutOff reports whether an answer began well and broke off: the connection
// ended in its middle, which another one may not.
func (r *Result) cutOff() bool {
	return r.Err != nil && r.Err.Code == CodeTransport && r.Status/100 == 2
}

func isPlainHTTP(u string) bool { return len(u) >= 7 && strings.EqualFold(u[:7], "http://") }

func resolveError(ctx context.Context, q Query, err error) *Error {
	e := &Error{Code: CodeBootstrap, Message: "no server found for " + visible(q.String()) + ": " + visible(err.Error()), Err: err}
	switch {
	case errors.Is(err, bootstrap.ErrHTTPOnly):
		e.Code = CodeHTTPOnly
		e.Message = visible(err.Error())
		e.Hint = "allow http if an answer that anybody on the way may change is of use"
	case errors.Is(err, bootstrap.ErrNoService):
		e.Code = CodeNoService
		e.Message = visible(err.Error())
		if _, ok := errors.AsType[*bootstrap.NoServiceError](err); !ok {
			e.Message = "no RDAP service known for " + visible(noServiceFor(q))
		}
		e.Hint = "name a server if you know one that answers for it"
	case ctx.Err() != nil:
		stopped(ctx, e, "finding the server for "+visible(q.String()))
	}
	return e
}

// noServiceFor names what the registries do not list.
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

// ask puts r.Query to the servers, one after another until one answers.
func (c *Client) ask(ctx context.Context, r *Result, servers bootstrap.Answer) {
	start := time.Now()
	defer func() { r.end(start) }()
	r.Source, r.Entry = servers.Source, servers.Entry
	path := r.Query.Path()
	for i, base := range servers.URLs {
		if ctx.Err() != nil {
			r.Server = redact(base)
			e := &Error{Server: r.Server}
			stopped(ctx, e, "waiting for "+visible(r.Server))
			r.fail(e)
			return
		}
		more := len(servers.URLs) - i - 1
		r.Server = redact(base)
		r.Attempts++
		target := bootstrap.JoinURL(base, path)
		unreachable := c.attempt(ctx, r, target, more)
		for r.cutOff() && r.Attempts < maxAttempts && ctx.Err() == nil {
			r.Attempts++
			unreachable = c.attempt(ctx, r, target, more)
		}
		if !unreachable || ctx.Err() != nil {
			return
		}
		if more > 0 {
			r.warn("asked another server: " + r.Err.Message)
		}
	}
}

// attempt makes one request and judges what comes back. It reports whether the
// server could not be reached at all, so that another may be asked.
func (c *Client) attempt(ctx context.Context, r *Result, target string, more int) (unreachable bool) {
	r.URL, r.FinalURL = redact(target), redact(target)
	r.Status, r.Header, r.Raw, r.Err = 0, nil, nil, nil
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		r.fail(&Error{Code: CodeTransport, Message: "the server's URL cannot be used: " + quote(redact(target)), Server: r.Server, Err: err})
		return true
	}
	a, cancel := c.newAttempt(ctx, more)
	defer cancel()
	answer, e := a.fetch(r, u)
	if e != nil {
		e.Server, e.URL, e.Status = r.Server, r.URL, r.Status
		r.fail(e)
		return r.Status == 0
	}
	r.judge(answer)
	return false
}
