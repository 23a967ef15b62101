package client

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/rdapq/rdapq/pool"
)

// maxAvoided limits the connections that the attempts of one query avoid.
const maxAvoided = 4

// A suspecter is a transport that stops using connections with useless responses; see
// [pool.Pool.Suspect].
type suspecter interface {
	Suspect(id int64)
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
		s.Suspect(id) // its body broke off; the Pool sees the rest for itself
	}
	if !slices.Contains(t.avoid, id) && len(t.avoid) < maxAvoided {
		t.avoid = append(t.avoid, id)
	}
	if t.host != nil {
		t.host.FaultyConn.Store(id)
	}
}

// A sessionSuspecter is a transport that resumes TLS sessions; see
// [pool.Pool.SuspectSession].
type sessionSuspecter interface {
	SuspectSession(id int64) bool
}

// mayBeSession reports whether a resumed TLS session may be the cause of a refusal that is
// not RDAP. Once in a query, the request is repeated over a connection without one.
func (c *Client) mayBeSession(t *task) bool {
	r := t.result
	s, ok := c.cfg.Transport.(sessionSuspecter)
	if !ok || t.sessionRetried || r.Conn.ConnID == 0 || !r.walled() || !s.SuspectSession(r.Conn.ConnID) {
		return false
	}
	t.sessionRetried = true
	return true
}

// faulty reports whether the connection may be the cause of a failure: there was no
// response, a truncated one, or a status that is not about the query.
func faulty(r *Result) bool {
	switch {
	case r.Err == nil:
		return false
	case r.Status == 0, r.Status/100 == 2:
		switch r.Err.Code {
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

// route makes the next attempt avoid the connections that failed. The last attempt, and a
// probe, also avoid all features that may be the cause: see [pool.WithPlain].
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
