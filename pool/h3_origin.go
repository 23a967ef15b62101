package pool

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// With "h3" alone in Config.Protocols, HTTP/3 is always used. Otherwise the origin must have
// offered it (RFC 7838), and the queue must be shallow: several TCP connections serve a deep
// queue faster. UDP may be blocked, so TCP is dialed after a head start, and the first
// connection made is used. If TCP connects first, HTTP/3 is not used for a while.

// An h3Dialer makes connections over QUIC, from one UDP socket per address family.
type h3Dialer interface {
	connect(ctx context.Context, key originKey, d *dial) (*conn, error)
	close() // close ends the connections and closes the sockets; no connect may be running
}

// An h3ClientConn is an HTTP/3 connection.
type h3ClientConn interface {
	clientConn
	// setHooks sets the hooks, before the first request.
	setHooks(h h3Hooks)
	// handshakeDone reports whether the handshake is done. Before that the connection
	// carries only early data, and may yet fail.
	handshakeDone() bool
	// streamLimit returns the number of concurrent requests that the peer allows.
	streamLimit() int
	bytes() (in, out int64)
}

// h3Hooks holds the functions by which an h3ClientConn informs its origin. The connection calls
// them without its locks.
type h3Hooks struct {
	handshakeEnded func(p handshakeResult)      // called once, if the handshake was not done in setHooks
	retried        func(why Reason)             // called when a request is sent again on the connection
	tooEarly       func()                       // called when the server answers 425 (RFC 8470)
	bodyFailed     func(err error)              // called when a body is cut off
	misdirected    func()                       // called when the server answers 421 (RFC 9110 section 15.5.20)
	allowEarly     func(req *http.Request) bool // reports whether req may be sent as early data
}

// A handshakeResult is the outcome of the handshake of an early connection.
type handshakeResult struct {
	err           error // nil means the handshake is complete
	setup         setup
	earlySent     bool // requests were sent as early data
	earlyAccepted bool // the server accepted the early data
}

// An h3Route is a host and port to dial over QUIC.
type h3Route struct {
	host, port   string
	onlyH3       bool // HTTP/3 is the only protocol
	early        bool // early data is permitted
	otherHost    bool // host is not the origin's host
	allowPrivate bool // private addresses are allowed
}

// depthForH3 is the number of requests in flight or queued up to which HTTP/3 is dialed. It
// also limits the requests on one HTTP/3 connection.
const depthForH3 = depthForFour

// Head start of HTTP/3 if Config.HeadStart is 0.
const (
	headStart    = 300 * time.Millisecond
	maxHeadStart = time.Second
)

var (
	errH3Unsupported = errors.New("HTTP/3 cannot be used for http origins or through a proxy")
	errH3Slower      = errors.New("HTTP/3 took longer than TCP")
)

// supportsH3 reports whether the origin can be queried over HTTP/3.
func (k originKey) supportsH3() bool { return k.scheme == "https" && k.proxy == proxy{} }

// maySpeakH3 reports whether the origin may be queried over HTTP/3 as well as TCP. It returns
// false with one connection per request, because a race would open two.
func (o *origin) maySpeakH3() bool {
	return o.pool.h3 != nil && !o.pool.onlyH3 && o.key.supportsH3() && !o.pool.cfg.noReuse()
}

// onlyRoute returns the route if HTTP/3 is the only protocol, and nil otherwise.
func (o *origin) onlyRoute() *h3Route {
	if !o.pool.onlyH3 || !o.key.supportsH3() {
		return nil
	}
	return &h3Route{host: o.key.host, port: o.key.port, onlyH3: true, early: o.earlyAllowed(), allowPrivate: true}
}

func (o *origin) earlyAllowed() bool {
	return !o.pool.cfg.NoEarlyData && !o.pool.cfg.NoReuse && !o.noEarlyData.Load()
}

// offeredRouteLocked returns the route that the origin offers, or nil if HTTP/3 is
// not worth trying now.
func (o *origin) offeredRouteLocked() *h3Route {
	if !o.maySpeakH3() || o.h3Race != nil || o.doubtsH3Locked() || o.depthLocked() > depthForH3 {
		return nil
	}
	f := o.pool.store.info(o.key.String())
	if !f.h3Usable(time.Now()) {
		return nil
	}
	host, port, ok := altAuthority(f.H3)
	elsewhere := host != "" && host != o.key.host
	if !ok || elsewhere && o.pool.insecure() {
		return nil
	}
	r := &h3Route{host: host, port: port, early: o.earlyAllowed(), otherHost: elsewhere}
	// The stored information is shared by guarded and other requests. A guarded request
	// does not use an offer that came from a private address.
	r.allowPrivate = f.H3Local && !o.key.guarded
	if !elsewhere {
		r.host, r.allowPrivate = o.key.host, true // the rules for TCP apply
	}
	return r
}

// forgetOtherHostLocked forgets an alternative at another host after a failure: each
// advertisement is worth one attempt.
func (o *origin) forgetOtherHostLocked(r *h3Route) {
	if r != nil && r.otherHost {
		o.forgetAlternativeLocked()
	}
}

func (o *origin) forgetAlternativeLocked() {
	o.pool.store.update(o.key.String(), func(f *originInfo) { f.H3, f.H3Until, f.H3Local = "", time.Time{}, false })
}

// handshakeEnded records the outcome of the handshake of an early connection.
func (o *origin) handshakeEnded(c *conn, p handshakeResult) {
	o.mu.Lock()
	defer o.mu.Unlock()
	mine := o.h3Race != nil && o.h3Race.conn == c
	if p.err == nil {
		c.setup = p.setup
		o.rtt = p.setup.tls
		o.opened(c)
		switch {
		case p.earlySent && p.earlyAccepted:
			o.stats.Handshakes.EarlyData++
		case p.earlySent:
			o.stats.Handshakes.EarlyRejected++
		}
		if mine {
			o.endH3RaceLocked(true)
		}
	} else {
		in, out := c.bytes()
		o.stats.BytesIn += in
		o.stats.BytesOut += out
		ours := !slices.Contains(o.conns, c) // false means the Pool had closed the connection
		if !ours {
			o.dialFailed(p.err)
		}
		if mine {
			o.endH3RaceLocked(false)
			if !ours {
				o.blockH3Locked(p.err)
			}
		}
		o.remove(c, ClosedError)
	}
	if !o.closed {
		o.dispatchLocked()
	}
}

// misdirected handles the discovery that an alternative does not serve this origin.
func (o *origin) misdirected(c *conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c.draining, c.closedBy = true, ClosedPool
	if o.maySpeakH3() {
		o.forgetAlternativeLocked()
		o.doubtH3Locked(errMisdirected)
	}
}

// learnAltSvc stores the Alt-Svc field of a response (RFC 7838).
func (o *origin) learnAltSvc(c *conn, h http.Header) {
	fields := h["Alt-Svc"]
	if len(fields) == 0 || !o.maySpeakH3() {
		return
	}
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if slices.Equal(fields, o.altSvc) && now.Sub(o.altSvcAt) < time.Minute {
		return
	}
	o.altSvc, o.altSvcAt = slices.Clone(fields), now
	a, ok := parseAltSvc(h, now)
	local := !publicAddress(c.setup.remote)
	o.pool.store.update(o.key.String(), func(f *originInfo) {
		f.H3, f.H3Until, f.H3Local = "", time.Time{}, false
		if ok {
			f.H3, f.H3Until, f.H3Local = net.JoinHostPort(a.host, a.port), a.until, local
		}
	})
}

// credentials lists parts of the names of header fields that carry credentials.
var credentials = []string{"auth", "cookie", "token", "secret", "key", "session"}

// safeAsEarlyData reports whether a replay of req does no harm (RFC 8470), because the request
// changes nothing and carries no credentials.
func safeAsEarlyData(req *http.Request) bool {
	if req.Context().Value(noEarlyDataKey{}) != nil {
		return false
	}
	switch req.Method {
	case "", http.MethodGet, http.MethodHead:
	default:
		return false
	}
	if req.Body != nil && req.Body != http.NoBody || req.URL.User != nil {
		return false
	}
	for name := range req.Header {
		lower := strings.ToLower(name)
		if slices.ContainsFunc(credentials, func(s string) bool { return strings.Contains(lower, s) }) {
			return false
		}
	}
	return true
}

type noEarlyDataKey struct{}

// WithoutEarlyData returns a context for requests that must not be sent as TLS early data
// (0-RTT), which an attacker can replay. Use it for requests with a credential that the Pool
// cannot recognise, such as in the query of the URL. The Pool recognises header fields by their
// names.
func WithoutEarlyData(ctx context.Context) context.Context {
	return context.WithValue(ctx, noEarlyDataKey{}, true)
}
