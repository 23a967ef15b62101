// Package reqtrace observes requests by the hooks of net/http/httptrace. It does not deal
// with RDAP.
package reqtrace

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdapq/rdapq/pool"
)

// Steps of a request after those of [pool.Step].
const (
	StepSent pool.Step = "sent" // the request waits for the response
	StepBody pool.Step = "body" // the response is being read
)

// Doing describes a step for a message.
func Doing(s pool.Step) string {
	switch s {
	case pool.StepResolve:
		return "resolving its name"
	case pool.StepConnect:
		return "connecting"
	case pool.StepProxy:
		return "connecting through the proxy"
	case pool.StepHandshake:
		return "in the TLS handshake"
	case StepSent:
		return "waiting for the response"
	case StepBody:
		return "reading the response"
	default:
		return "waiting for a connection"
	}
}

// DoingWith describes a step with the server's name.
func DoingWith(s pool.Step, host string) string {
	switch s {
	case pool.StepResolve:
		return "resolving the name " + host
	case pool.StepConnect:
		return "connecting to " + host
	case pool.StepProxy:
		return "connecting to " + host + " through the proxy"
	case pool.StepHandshake:
		return "in the TLS handshake with " + host
	case StepSent, StepBody:
		return Doing(s) + " of " + host
	default:
		return "waiting for a connection to " + host
	}
}

// Steps records the step of a request over a transport other than a [pool.Pool], which
// reports its steps itself.
type Steps struct {
	now    atomic.Value // holds the current pool.Step
	reused atomic.Bool
	remote atomic.Pointer[string]

	bound      time.Duration // limit of the set-up of a connection
	onLate     func()        // called when the set-up takes longer
	once       sync.Once
	connecting atomic.Pointer[time.Timer] // runs during the set-up of a connection; nil before
}

// NewSteps returns Steps that start at StepSent, because transports that call no hooks
// stay there. late is called if the set-up of a connection takes longer than bound.
func NewSteps(bound time.Duration, late func()) *Steps {
	p := &Steps{bound: bound, onLate: late}
	p.now.Store(StepSent)
	return p
}

// Step returns the step of the request.
func (p *Steps) Step() pool.Step { return p.now.Load().(pool.Step) }

// WithTrace adds the hooks to ctx.
func (p *Steps) WithTrace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:           func(string) { p.now.Store(pool.StepQueue) },
		DNSStart:          func(httptrace.DNSStartInfo) { p.startConnect(pool.StepResolve) },
		ConnectStart:      func(_, _ string) { p.startConnect(pool.StepConnect) },
		TLSHandshakeStart: func() { p.startConnect(pool.StepHandshake) },
		GotConn: func(i httptrace.GotConnInfo) {
			p.reused.Store(i.Reused)
			if i.Conn != nil {
				remote := i.Conn.RemoteAddr().String()
				p.remote.Store(&remote)
			}
			p.now.Store(StepSent)
		},
	})
}

// startConnect records that a connection is being set up for the request. The transport may
// send the request over another connection in the meantime.
func (p *Steps) startConnect(s pool.Step) {
	p.now.Store(s)
	p.once.Do(func() {
		p.connecting.Store(time.AfterFunc(p.bound, func() {
			switch p.Step() {
			case pool.StepResolve, pool.StepConnect, pool.StepHandshake:
				p.onLate()
			}
		}))
	})
}

// Stop stops the timer; p may be nil.
func (p *Steps) Stop() {
	if p == nil {
		return
	}
	if t := p.connecting.Load(); t != nil {
		t.Stop()
	}
}

// Fill sets the fields of t that are observable on a transport other than a Pool.
func (p *Steps) Fill(t *pool.Trace, resp *http.Response) {
	t.Reused = p.reused.Load()
	if remote := p.remote.Load(); remote != nil {
		t.RemoteAddr = *remote
	}
	t.Protocol = strings.ToLower(resp.Proto)
	if resp.ProtoMajor == 2 {
		t.Protocol = "h2"
	}
	if s := resp.TLS; s != nil {
		t.TLS, t.Resumed = s.Version, s.DidResume
	}
}
