package pool

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// A server that fails handshakes because of a session that it gave out itself
// is not asked to resume another one after so many in a row, for a while.
const (
	maxResumptionFailures = 2
	resumptionBackoff     = 10 * time.Minute
)

// resumptionFailures counts the sessions that made handshakes with an origin fail.
type resumptionFailures struct {
	mu    sync.Mutex
	last  *tls.ClientSessionState // so that dials that share a session count once
	inRow int
	until time.Time // no session is offered until then
}

func (r *resumptionFailures) backingOff() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Before(r.until)
}

// count reports whether sessions are left alone from now on.
func (r *resumptionFailures) count(s *tls.ClientSessionState) (rests bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s == r.last {
		return false
	}
	r.last = s
	if r.inRow++; r.inRow >= maxResumptionFailures {
		r.until, r.inRow = time.Now().Add(resumptionBackoff), 0
		return true
	}
	return false
}

func (r *resumptionFailures) resumed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inRow = 0
}

// dialTLS connects and does a handshake, with a session of the origin if there is
// one. If the server fails on the session, instead of falling back to a full
// handshake as it should, dialTLS connects once more without.
func (d *dialer) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	g := ctx.Value(dialStateKey{}).(*dialState)
	o := d.tls.forOrigin(g.key)
	if g.dial.fullHandshake || o.sessions == nil || o.resumption.backingOff() {
		return d.dialOrigin(ctx, network, address, o.full())
	}
	nc, err := d.dialOrigin(ctx, network, address, o.resuming())
	offer := g.setup.offer
	g.setup.offer = nil
	switch {
	case err == nil && g.setup.resumed:
		o.resumption.resumed()
		return nc, nil
	case err == nil:
		return nc, nil
	case offer == nil || offer.session == nil:
		return nil, err
	case ctx.Err() != nil || !blamesSession(err):
		return nil, err
	}
	// The other sessions are as good as this one.
	o.sessions.Put("", nil)
	first := g.setup
	g.dial.sessionErr, g.err = err, nil
	nc, err = d.dialOrigin(ctx, network, address, o.full())
	if err != nil {
		return nil, err
	}
	g.dial.stopResuming = o.resumption.count(offer.session)
	g.setup.dns += first.dns
	g.setup.tcp += first.tcp
	g.setup.tls += first.tls
	g.setup.raw.in.Add(first.raw.in.Load())
	g.setup.raw.out.Add(first.raw.out.Load())
	return nc, nil
}

// blamesSession reports whether a handshake with a session may have failed
// because of that: not if the server was too slow, or had gone on to a full
// handshake and showed a certificate that is no good.
func blamesSession(err error) bool {
	if e, ok := errors.AsType[*Error](err); !ok || e.Step != StepHandshake || e.Timeout() {
		return false
	}
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	return !unverified
}
