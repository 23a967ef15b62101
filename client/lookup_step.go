package client

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

// A step is the part of a request during which it failed.
type step int32

const (
	stepQueue step = iota
	stepResolve
	stepConnect
	stepProxy
	stepHandshake
	stepSent
	stepBody
)

// doing describes the step for a message.
func (s step) doing() string {
	switch s {
	case stepResolve:
		return "resolving its name"
	case stepConnect:
		return "connecting"
	case stepProxy:
		return "connecting through the proxy"
	case stepHandshake:
		return "in the TLS handshake"
	case stepSent:
		return "waiting for the response"
	case stepBody:
		return "reading the response"
	default:
		return "waiting for a connection"
	}
}

// doingWith describes the step with the server's name.
func (s step) doingWith(host string) string {
	switch s {
	case stepResolve:
		return "resolving the name " + host
	case stepConnect:
		return "connecting to " + host
	case stepProxy:
		return "connecting to " + host + " through the proxy"
	case stepHandshake:
		return "in the TLS handshake with " + host
	case stepSent, stepBody:
		return s.doing() + " of " + host
	default:
		return "waiting for a connection to " + host
	}
}

func stepOf(s pool.Step) step {
	switch s {
	case pool.StepResolve:
		return stepResolve
	case pool.StepConnect:
		return stepConnect
	case pool.StepProxy:
		return stepProxy
	case pool.StepHandshake:
		return stepHandshake
	default:
		return stepQueue
	}
}

// traceSteps records the step of a request over a transport other than a pool, by the
// hooks of net/http/httptrace.
type traceSteps struct {
	now    atomic.Int32
	reused atomic.Bool
	remote atomic.Pointer[string]

	bound      time.Duration // of setting up a connection
	onLate     func()        // called when that takes longer
	once       sync.Once
	connecting atomic.Pointer[time.Timer] // nil before it has begun
}

// newTraceSteps returns steps that start at stepSent, because transports that call no
// hooks stay there.
func newTraceSteps(bound time.Duration, late func()) *traceSteps {
	p := &traceSteps{bound: bound, onLate: late}
	p.at(stepSent)
	return p
}

func (p *traceSteps) step() step { return step(p.now.Load()) }

func (p *traceSteps) at(s step) { p.now.Store(int32(s)) }

func (p *traceSteps) withTrace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:           func(string) { p.at(stepQueue) },
		DNSStart:          func(httptrace.DNSStartInfo) { p.startConnect(stepResolve) },
		ConnectStart:      func(_, _ string) { p.startConnect(stepConnect) },
		TLSHandshakeStart: func() { p.startConnect(stepHandshake) },
		GotConn: func(i httptrace.GotConnInfo) {
			p.reused.Store(i.Reused)
			if i.Conn != nil {
				remote := i.Conn.RemoteAddr().String()
				p.remote.Store(&remote)
			}
			p.at(stepSent)
		},
	})
}

// startConnect records that a connection is being set up for the request. The transport
// may send the request over another one in the meantime.
func (p *traceSteps) startConnect(s step) {
	p.at(s)
	p.once.Do(func() {
		p.connecting.Store(time.AfterFunc(p.bound, func() {
			if s := p.step(); s > stepQueue && s < stepSent {
				p.onLate()
			}
		}))
	})
}

// stop stops the timer; p may be nil.
func (p *traceSteps) stop() {
	if p == nil {
		return
	}
	if t := p.connecting.Load(); t != nil {
		t.Stop()
	}
}

// fill sets the fields of t that can be observed on a transport other than a Pool.
func (p *traceSteps) fill(t *pool.Trace, resp *http.Response) {
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
