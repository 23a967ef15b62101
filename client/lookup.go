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

	"golang.org/x/net/publicsuffix"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/publicaddr"
	"github.com/rdapq/rdapq/internal/weburl"
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
// answer of any kind, a 404 included, ends the search. What may pass by itself is
// tried again, after a while that grows: failures of the connection, no answer in
// time, one that breaks off in its middle, 408, 421, 425, any 5xx except 501; see
// Config.Attempts. A repeated attempt goes over another connection than those that
// failed, and to another address of the host if there is one; the last one goes over
// a connection made without a resumed session, early data, HTTP/3 or Fast Open. A
// server that limits requests is waited for; see Config.MaxWait.
//
// A Lookup joins an identical one of the same Client until the first byte of the
// response to that one's last attempt has come; its Result then has Shared set.
func (c *Client) Lookup(ctx context.Context, q Query) (*Result, error) {
	q = c.registrable(q)
	r := &Result{Query: q}
	start := time.Now()
	if servers, err := c.resolve(ctx, q); err != nil {
		r.fail(err)
		r.end(start)
	} else {
		r = c.lookupShared(ctx, r, servers)
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
		return bootstrap.Answer{}, closedWhile("finding the server for "+visible(q.String()), nil)
	}
	answer, err := c.cfg.Resolver.Resolve(ctx, question)
	switch {
	case err != nil && ctx.Err() == nil && c.isClosed():
		return bootstrap.Answer{}, closedWhile("finding the server for "+visible(q.String()), err)
	case err != nil:
		return bootstrap.Answer{}, resolveError(ctx, q, err)
	}
	return c.permitted(q, answer)
}

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
			Message: "the only server known for " + visible(q.String()) + " speaks plain http: " + visible(weburl.Redact(a.URLs[0])),
			Hint:    "allow http if an answer that anybody on the way may change is of use",
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
		e.Hint = "allow http if an answer that anybody on the way may change is of use"
	case errors.Is(err, bootstrap.ErrNoService):
		e.Code = CodeNoService
		e.Message = visible(err.Error())
		switch _, ok := errors.AsType[*bootstrap.NoServiceError](err); {
		case q.Type == TypeIP && !publicaddr.Is(q.Prefix.Addr()):
			e.Message = "no RDAP service known for " + q.String() + ", which is for private, local or special use"
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
	}
	return e
}

const (
	hintEntity = "look up a handle as an entity, or name the server that has this name"
	hintServer = "if you know the RDAP server for it, name that server"
)

// noServiceHint is what to do about a query that no server is known for, which may
// be none of the kind that it was taken for.
func noServiceHint(q Query) (string, HintCode) {
	if q.Type == TypeDomain {
		switch top := q.Name[strings.LastIndexByte(q.Name, '.')+1:]; {
		case strings.Trim(top, "0123456789") == "" && strings.Contains(q.Name, "-"):
			return "write a range of addresses as a prefix, such as 192.0.2.0/24", ""
		case isAddress(q.Name):
			return "this is an address: look it up as one, not as a domain", HintAddress
		case isASBlock(q.Name):
			return "look up one AS number of the block", ""
		case top == q.Name && top != ".":
			return hintEntity, HintEntity
		}
	}
	return hintServer, HintServer
}

// isASBlock reports whether s is written as a block of AS numbers, "as64500-as64510".
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

// baseURL makes a base URL of the server that a user named: a bare host gets
// https, and a path its final slash.
func baseURL(server string) (string, *Error) {
	s := strings.TrimSpace(server)
	if !strings.Contains(s, "://") {
		s = "https://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.Fragment != "" {
		return "", invalid(server, "this is no URL of a server", "write https://rdap.example/")
	}
	u.Scheme = strings.ToLower(u.Scheme)
	if u.Scheme != "https" && u.Scheme != "http" {
		return "", invalid(server, "the server's URL has the scheme "+quote(u.Scheme), "write https://rdap.example/")
	}
	if !strings.HasSuffix(u.Path, "/") && u.RawQuery == "" {
		u = u.JoinPath("/")
	}
	return u.String(), nil
}

// A namedServer remembers the base URL of the server that a user named last,
// which all queries of a batch have in common.
type namedServer struct {
	last atomic.Pointer[named]
}

type named struct {
	server string
	urls   []string // one, not to be changed
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

// registrable turns a question about a host name into one about the domain that
// a registry registers, if the configuration says so.
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
	if name := registrableName(q.Name); name != q.Name {
		q.From, q.Name = q.Name, name
	}
	return q
}

// registrableName returns the part of a name that a registry registers: one
// label more than its public suffix. A name that is a public suffix itself, or
// lies in the reverse trees, is returned as it is.
//
// Only the suffixes of registries count. The list has others, of companies that
// let others use names below a domain that they have registered: the registry
// knows github.io, and nobody.github.io as little as www.example.com.
func registrableName(name string) string {
	if strings.HasSuffix(name, ".arpa") || name == "." {
		return name
	}
	suffix, icann := publicsuffix.PublicSuffix(name)
	for !icann {
		_, parent, ok := strings.Cut(suffix, ".")
		if !ok {
			break // a top-level domain that the list does not know
		}
		suffix, icann = publicsuffix.PublicSuffix(parent)
	}
	rest, ok := strings.CutSuffix(name, "."+suffix)
	if !ok {
		return name
	}
	return name[strings.LastIndexByte(rest, '.')+1:]
}
