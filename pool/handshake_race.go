package pool

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"slices"
	"time"
)

// handshakeDelay is how long a handshake may take before the next address is tried.
const handshakeDelay = time.Second

// raceHandshakes connects to the addresses, handshake included, and returns the first complete
// connection. After a failure, including one of the handshake, it tries the next address
// immediately. errs has the errors of the failed addresses, by index in addrs.
func (d *dialer) raceHandshakes(near, far context.Context, g *dialState, addrs []netip.Addr, port string) (l *rawConn, errs []*stepError) {
	start := time.Now()
	delay := delayFor(d.cfg.ConnectTimeout, len(addrs))
	attempt := func(ctx context.Context, a netip.Addr) (*rawConn, *stepError) {
		l, err := d.dialAddress(ctx, g, net.JoinHostPort(a.String(), port), start)
		if l != nil {
			l.setup.addr, l.setup.addrs = a, len(addrs)
		}
		return l, err
	}
	if len(addrs) == 1 {
		l, err := attempt(near, addrs[0])
		if err == nil && !l.ready {
			err = d.handshake(near, far, g, l)
		}
		if err != nil {
			return nil, []*stepError{err}
		}
		return l, nil
	}
	near, stopNear := context.WithCancel(near)
	defer stopNear()
	far, stopFar := context.WithCancel(far)
	defer stopFar()

	type reached struct {
		conn   *rawConn
		failed []*stepError // errors by index in tried
		tried  []int        // indexes in addrs
	}
	type finished struct {
		conn    *rawConn
		address int
		err     *stepError
	}
	connects, handshakes := make(chan reached, 1), make(chan finished, len(addrs))
	errs = make([]*stepError, len(addrs))
	var left []int // indexes in addrs of addresses without a connection or an error
	for i := range addrs {
		left = append(left, i)
	}
	connecting, handshaking := false, 0
	slow := time.NewTimer(handshakeDelay)
	defer slow.Stop()
	next := func() {
		if connecting || len(left) == 0 || near.Err() != nil {
			return
		}
		connecting = true
		tried := slices.Clone(left)
		some := make([]netip.Addr, len(tried))
		for i, at := range tried {
			some[i] = addrs[at]
		}
		go func() {
			l, failed := raceConnects(near, some, delay, attempt)
			connects <- reached{l, failed, tried}
		}()
	}
	gone := func(at int) { left = slices.DeleteFunc(left, func(i int) bool { return i == at }) }
	for next(); connecting || handshaking > 0; {
		select {
		case r := <-connects:
			connecting = false
			for i, err := range r.failed {
				if err != nil {
					errs[r.tried[i]] = err
					gone(r.tried[i])
				}
			}
			if r.conn == nil {
				continue
			}
			at := r.tried[r.conn.setup.index]
			r.conn.setup.index = at
			gone(at)
			handshaking++
			if r.conn.ready {
				handshakes <- finished{r.conn, at, nil}
				continue
			}
			slow.Reset(handshakeDelay)
			go func() {
				handshakes <- finished{r.conn, at, d.handshake(near, far, g, r.conn)}
			}()
		case r := <-handshakes:
			handshaking--
			if r.err != nil {
				errs[r.address] = r.err
				next()
				continue
			}
			go func() { // close connections that complete later
				if connecting {
					if late := <-connects; late.conn != nil {
						late.conn.Close()
					}
				}
				for range handshaking {
					if late := <-handshakes; late.err == nil {
						late.conn.Close()
					}
				}
			}()
			return r.conn, errs
		case <-slow.C:
			next()
		}
	}
	if !slices.ContainsFunc(errs, func(e *stepError) bool { return e != nil }) {
		errs[0] = &stepError{step: StepConnect, err: context.Cause(near)} // no address was tried in time
	}
	return nil, errs
}

// demoteFailed demotes the addresses that failed while another one worked.
func (d *dialer) demoteFailed(host, port string, addrs []netip.Addr, errs []*stepError) {
	for i, err := range errs {
		if err != nil && !errors.Is(err.err, context.Canceled) {
			d.resolver.demote(host, port, addrs[i])
		}
	}
}

// dropCertificateErrors removes errors about wrong certificates, unless there are no other
// errors, which are more informative.
func dropCertificateErrors(failed []*stepError) []*stepError {
	var rest []*stepError
	for _, f := range failed {
		if f == nil {
			continue
		}
		if _, bad := errors.AsType[*tls.CertificateVerificationError](f.err); !bad {
			rest = append(rest, f)
		}
	}
	if len(rest) == 0 {
		return slices.DeleteFunc(failed, func(f *stepError) bool { return f == nil })
	}
	return rest
}
