package pool

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// Limits of handshakes that fail in a row because of a session from the server itself. After so
// many failures, no session is offered for a while.
const (
	maxResumptionFailures = 2
	resumptionBackoff     = 10 * time.Minute
)

// resumptionFailures counts the sessions with which handshakes with an origin
// failed.
type resumptionFailures struct {
	mu    sync.Mutex
	last  *tls.ClientSessionState // dials that share a session count once
	inRow int
	until time.Time // no session is offered until that time
}

func (r *resumptionFailures) backingOff() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Before(r.until)
}

// count reports whether no session is offered from now on.
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

// dialTLS connects and performs a handshake, with a session of the origin if there is one. If
// the server fails on the session instead of falling back to a full handshake, dialTLS connects
// once more without the session.
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
	// The other sessions are likely to fail as well.
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

// blamesSession reports whether a handshake may have failed because of the session. It returns
// false after a timeout, and if the server did a full handshake with an invalid certificate.
func blamesSession(err error) bool {
	if e, ok := errors.AsType[*Error](err); !ok || e.Step != StepHandshake || e.Timeout() {
		return false
	}
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	return !unverified
}
