package pool

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rdapq/rdapq/internal/publicaddr"
)

// attemptDelay is how long one address gets before the next address is tried as well (RFC 8305
// section 8); minAttemptDelay is its minimum.
const (
	attemptDelay    = 250 * time.Millisecond
	minAttemptDelay = 10 * time.Millisecond
)

// configure sets up the dialers for addresses.
func (d *dialer) configure() error {
	c := &d.cfg
	switch c.Network {
	case "", "tcp":
	case "tcp4", "tcp6":
		d.network = c.Network
	default:
		return configError("Network", "unknown network %q", c.Network)
	}
	local := c.LocalAddr.Unmap()
	if local.IsValid() {
		network := "tcp6"
		if local.Is4() {
			network = "tcp4"
		}
		if c.Network != "" && c.Network != "tcp" && c.Network != network {
			return configError("LocalAddr", "%s does not match network %s", local, c.Network)
		}
		d.network = network
	}
	switch {
	case c.FastOpen && !fastOpenSupported:
		return configError("FastOpen", "not supported on %s", runtime.GOOS)
	case c.FastOpen && c.Dial != nil:
		return configError("FastOpen", "cannot be used together with Dial")
	case local.IsValid() && c.Dial != nil:
		return configError("LocalAddr", "cannot be used together with Dial")
	}
	d.plain = &net.Dialer{KeepAlive: -1} // setKeepAlive sets the keep-alive
	if local.IsValid() {
		d.plain.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(local, 0))
	}
	fast := *d.plain
	fast.Control = fastOpen
	d.fast = &fast
	return nil
}

// A rawConn is a connection to a server that is being set up.
type rawConn struct {
	net.Conn // connection for the next layer
	setup    setup
	ready    bool // the set-up is complete
}

// A stepError is the step at which a rawConn failed.
type stepError struct {
	step  Step
	err   error
	setup setup // completed part of the set-up
}

// dialTCP makes a connection, handshake included. ctx limits the connection to the first hop,
// and far limits the handshake.
func (d *dialer) dialTCP(ctx, far context.Context, g *dialState) (*rawConn, *stepError) {
	host, port := g.key.firstHop()
	if _, given := d.resolver.fixedAddrs(host, port); d.cfg.Dial != nil && !given {
		l, err := d.dialByName(ctx, g, net.JoinHostPort(host, port))
		if err == nil {
			err = d.handshake(ctx, far, g, l)
		}
		if err != nil {
			return nil, err
		}
		return l, nil
	}
	g.setStep(StepResolve)
	addrs, dns, err := d.resolver.addresses(ctx, host, port)
	if err != nil {
		return nil, &stepError{step: StepResolve, err: err}
	}
	g.setStep(StepConnect)
	if _, given := d.resolver.fixedAddrs(host, port); !given && g.key.proxy == (proxy{}) {
		if addrs, err = g.key.publicOnly(addrs); err != nil {
			return nil, &stepError{step: StepConnect, err: err}
		}
	}
	addrs = d.resolver.order(host, port, addrs, g.dial.avoid)
	l, failed := d.raceHandshakes(ctx, far, g, addrs, port)
	if l == nil {
		if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			d.resolver.forget(host)
		}
		return nil, joinSteps(failed)
	}
	l.setup.dns = dns
	if len(addrs) > 1 {
		d.demoteFailed(host, port, addrs, failed)
		if len(g.dial.avoid) == 0 {
			d.resolver.prefer(host, port, l.setup.addr)
		}
	}
	return l, nil
}

// dialByName passes the host name to Config.Dial, which may resolve names that a resolver
// cannot.
func (d *dialer) dialByName(ctx context.Context, g *dialState, address string) (*rawConn, *stepError) {
	var resolving, resolved time.Time
	g.setStep(StepConnect)
	start := time.Now()
	nc, err := d.cfg.Dial(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { g.setStep(StepResolve); resolving = time.Now() },
		DNSDone:  func(httptrace.DNSDoneInfo) { g.setStep(StepConnect); resolved = time.Now() },
	}), d.network, address)
	if err != nil {
		if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
			return nil, &stepError{step: StepResolve, err: err}
		}
		return nil, &stepError{step: StepConnect, err: err}
	}
	if g.key.guarded && g.key.proxy == (proxy{}) {
		if ap, err := netip.ParseAddrPort(nc.RemoteAddr().String()); err == nil && !publicaddr.Is(ap.Addr()) {
			nc.Close()
			return nil, &stepError{step: StepConnect, err: &AddressError{Host: g.key.host, Addr: ap.Addr()}}
		}
	}
	dns := resolved.Sub(resolving)
	l := d.newRawConn(nc, time.Since(start)-dns)
	l.setup.dns = dns
	return l, nil
}

// dialAddress connects to one address. start is the time of the first attempt, from which the
// set-up time of the connection counts.
func (d *dialer) dialAddress(ctx context.Context, g *dialState, address string, start time.Time) (*rawConn, *stepError) {
	dial := d.cfg.Dial
	fast := d.cfg.FastOpen && !g.dial.noFastOpen && g.key.handshakesFirst()
	switch {
	case dial != nil:
	case fast:
		dial = d.fast.DialContext
	default:
		dial = d.plain.DialContext
	}
	nc, err := dial(ctx, d.network, address)
	if err != nil {
		return nil, &stepError{step: StepConnect, err: err}
	}
	l := d.newRawConn(nc, time.Since(start))
	if !fast || !synPending(nc) {
		return l, nil
	}
	// The kernel has a cookie and sends nothing before the first data, so the address
	// may still be dead.
	l.setup.synData = true
	if err := d.handshake(ctx, ctx, g, l); err != nil {
		if l.setup.raw.in.Load() == 0 && err.step != StepConnect {
			err.step = StepConnect // the address is dead
		}
		return nil, err
	}
	l.setup.synDataAccepted = synDataAccepted(nc)
	return l, nil
}

func (d *dialer) newRawConn(nc net.Conn, took time.Duration) *rawConn {
	d.setKeepAlive(nc)
	raw := &countingConn{Conn: nc}
	l := &rawConn{Conn: raw, setup: setup{tcp: took, raw: raw}}
	if a := nc.RemoteAddr(); a != nil {
		l.setup.remote = a.String()
	}
	return l
}

// setKeepAlive makes the operating system detect a peer that has disappeared: data stays
// unacknowledged, or probes get no reply.
func (d *dialer) setKeepAlive(nc net.Conn) {
	tc, ok := nc.(*net.TCPConn)
	if !ok {
		return
	}
	dead := d.cfg.DeadAfter
	// An error means that the system does not support these settings.
	_ = tc.SetKeepAliveConfig(net.KeepAliveConfig{
		Enable: true, Idle: dead * 4 / 9, Interval: dead * 2 / 9, Count: 2,
	})
	setUserTimeout(tc, dead*8/9)
}

// delayFor returns the pause between attempts at n addresses, at most half of the
// time per address.
func delayFor(timeout time.Duration, n int) time.Duration {
	return max(minAttemptDelay, min(attemptDelay, timeout/time.Duration(2*n)))
}

// raceConnects tries the addresses one by one, the next after a failure or after delay. It
// returns the first connection and the errors of the failed addresses by index. It closes later
// connections.
func raceConnects(ctx context.Context, addrs []netip.Addr, delay time.Duration, attempt func(context.Context, netip.Addr) (*rawConn, *stepError)) (*rawConn, []*stepError) {
	if len(addrs) == 1 {
		l, err := attempt(ctx, addrs[0])
		return l, []*stepError{err}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		address int
		conn    *rawConn
		err     *stepError
	}
	results := make(chan result, len(addrs))
	started, pending := 0, 0
	next := time.NewTimer(delay)
	defer next.Stop()
	start := func() {
		if started == len(addrs) {
			return
		}
		i := started
		started++
		pending++
		next.Reset(delay)
		go func() {
			l, err := attempt(ctx, addrs[i])
			results <- result{i, l, err}
		}()
	}
	failed := make([]*stepError, len(addrs))
	start()
	for pending > 0 {
		select {
		case r := <-results:
			pending--
			if r.err != nil {
				failed[r.address] = r.err
				start()
				continue
			}
			cancel()
			go func() {
				for range pending {
					if late := <-results; late.conn != nil {
						late.conn.Close()
					}
				}
			}()
			r.conn.setup.index = r.address
			return r.conn, failed
		case <-next.C:
			start()
		}
	}
	return nil, failed
}

// joinSteps joins the errors of all addresses. The step of the result is the furthest that an
// address reached.
func joinSteps(failed []*stepError) *stepError {
	order := []Step{StepResolve, StepConnect, StepProxy, StepHandshake}
	out := &stepError{step: StepResolve}
	var all addressErrors
	for _, f := range dropCertificateErrors(failed) {
		if slices.Index(order, f.step) > slices.Index(order, out.step) {
			out.step, out.setup = f.step, f.setup
		}
		if !slices.ContainsFunc(all, func(e error) bool { return e.Error() == f.err.Error() }) {
			all = append(all, f.err)
		}
	}
	if out.err = all; len(all) == 1 {
		out.err = all[0]
	}
	return out
}

// addressErrors holds the errors of several addresses of one host.
type addressErrors []error

func (e addressErrors) Error() string {
	texts := make([]string, len(e))
	for i, err := range e {
		texts[i] = err.Error()
	}
	return fmt.Sprintf("all %d addresses failed: %s", len(e), strings.Join(texts, "; "))
}

func (e addressErrors) Unwrap() []error { return e }

// Timeout reports whether any of the errors is a timeout.
func (e addressErrors) Timeout() bool {
	return slices.ContainsFunc(e, func(err error) bool {
		t, ok := err.(interface{ Timeout() bool })
		return ok && t.Timeout()
	})
}
