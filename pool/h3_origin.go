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

// HTTP/3 is used where it wins. With "h3" alone in Config.Protocols that is
// everywhere. Otherwise the origin must have offered it (RFC 7838) and the
// queue must be shallow: a deep one is carried faster by several connections
// over TCP. As nobody knows whether UDP gets through, TCP is dialed beside it
// after a head start; the one that is there first is used, and if that is TCP,
// HTTP/3 is left alone for a while.

// h3Dialer makes connections over QUIC, from one UDP socket for each family.
type h3Dialer interface {
	connect(ctx context.Context, key originKey, d *dial) (*conn, error)
	close() // when no connect runs; ends the connections and frees the sockets
}

// An h3ClientConn is HTTP/3.
type h3ClientConn interface {
	clientConn
	// setHooks tells of whom to ask, before the first request.
	setHooks(h h3Hooks)
	// handshakeDone reports whether the handshake is done. Before that it carries only
	// what may go out as early data, and nobody knows whether it gets through.
	handshakeDone() bool
	// streamLimit is the number of requests at once that the peer allows.
	streamLimit() int
	bytes() (in, out int64)
}

// h3Hooks are what an h3ClientConn asks of its origin. None may be called under a
// lock of the carrier.
type h3Hooks struct {
	handshakeEnded func(p handshakeResult)      // once, if it was not proven when it joined
	retried        func(why Reason)             // a request goes out again on it
	tooEarly       func()                       // the server answered 425 (RFC 8470)
	bodyFailed     func(err error)              // a body was cut off
	misdirected    func()                       // the server answered 421 (RFC 9110 section 15.5.20)
	allowEarly     func(req *http.Request) bool // req may go out as early data
}

// handshakeResult is how the handshake of a connection ended that had been used before.
type handshakeResult struct {
	err           error // nil: it is done
	setup         setup
	earlySent     bool // requests went out as early data
	earlyAccepted bool // and the server took them
}

// An h3Route is where to dial over QUIC, and how.
type h3Route struct {
	host, port   string
	onlyH3       bool // there is nothing else: HTTP/3 was asked for
	early        bool // early data is permitted
	otherHost    bool // the host is not the origin's
	allowPrivate bool // addresses that are not public are in order
}

// depthForH3 is the number of requests under way or waiting up to which HTTP/3
// is dialed, and that one connection of it takes at once.
const depthForH3 = depthForFour

// Head start of HTTP/3, as far as the configuration leaves that open.
const (
	headStart    = 300 * time.Millisecond
	maxHeadStart = time.Second
)

var (
	errH3Unsupported = errors.New("HTTP/3 reaches neither http origins nor through a proxy")
	errH3Slower      = errors.New("HTTP/3 took longer than TCP")
)

// supportsH3 reports whether HTTP/3 can be spoken with the origin.
func (k originKey) supportsH3() bool { return k.scheme == "https" && k.proxy == proxy{} }

// maySpeakH3 reports whether the origin may be asked over HTTP/3 beside TCP.
// Not where each request has a connection of its own: it would be no longer
// exactly one.
func (o *origin) maySpeakH3() bool {
	return o.p.h3 != nil && !o.p.onlyH3 && o.key.supportsH3() && !o.p.cfg.noReuse()
}

// onlyRoute is the route where HTTP/3 is all there is; nil otherwise.
func (o *origin) onlyRoute() *h3Route {
	if !o.p.onlyH3 || !o.key.supportsH3() {
		return nil
	}
	return &h3Route{host: o.key.host, port: o.key.port, onlyH3: true, early: o.earlyAllowed(), allowPrivate: true}
}

func (o *origin) earlyAllowed() bool {
	return !o.p.cfg.NoEarlyData && !o.p.cfg.NoReuse && !o.noEarlyData.Load()
}

// offeredRouteLocked is the route that the origin offers, if it is worth
// taking now; nil otherwise.
func (o *origin) offeredRouteLocked() *h3Route {
	if !o.maySpeakH3() || o.h3Race != nil || o.doubtsH3Locked() || o.depthLocked() > depthForH3 {
		return nil
	}
	f := o.p.store.Get(o.key.String())
	if !f.h3Usable(time.Now()) {
		return nil
	}
	host, port, ok := altAuthority(f.H3)
	elsewhere := host != "" && host != o.key.host
	if !ok || elsewhere && o.p.insecure() {
		return nil
	}
	r := &h3Route{host: host, port: port, early: o.earlyAllowed(), otherHost: elsewhere}
	// Whether what was learned of a connection to a server inside counts, depends
	// on who named that server: facts are the same for both.
	r.allowPrivate = f.H3Local && !o.key.guarded
	if !elsewhere {
		r.host, r.allowPrivate = o.key.host, true // where TCP would go as well
	}
	return r
}

// forgetOtherHostLocked forgets an alternative at another host that failed: what a
// server advertises is worth one attempt each time.
func (o *origin) forgetOtherHostLocked(r *h3Route) {
	if r != nil && r.otherHost {
		o.forgetAlternativeLocked()
	}
}

func (o *origin) forgetAlternativeLocked() {
	o.p.store.Update(o.key.String(), func(f *OriginInfo) { f.H3, f.H3Until, f.H3Local = "", time.Time{}, false })
}

// handshakeEnded takes note of how the handshake ended of a connection that is in use.
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
		ours := !slices.Contains(o.conns, c) // we had closed it
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

// misdirected: what offered HTTP/3 for this origin does not answer for it.
func (o *origin) misdirected(c *conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c.draining, c.closedBy = true, ClosedPool
	if o.maySpeakH3() {
		o.forgetAlternativeLocked()
		o.doubtH3Locked(errMisdirected)
	}
}

// learnAltSvc notes what a response says about HTTP/3 (RFC 7838).
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
	o.p.store.Update(o.key.String(), func(f *OriginInfo) {
		f.H3, f.H3Until, f.H3Local = "", time.Time{}, false
		if ok {
			f.H3, f.H3Until, f.H3Local = net.JoinHostPort(a.host, a.port), a.until, local
		}
	})
}

// credentials are in the names of header fields that give somebody away.
var credentials = []string{"auth", "cookie", "token", "secret", "key", "session"}

// allowEarly reports whether whoever records a request and sends it again does
// no harm (RFC 8470): it changes nothing and shows no credentials.
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

// WithoutEarlyData returns a context for requests that must not go out as TLS
// early data (0-RTT), which whoever records it can send again: those that
// carry a credential where the Pool can't see it, in the query of the URL for
// instance. Header fields that look like credentials it sees by itself.
func WithoutEarlyData(ctx context.Context) context.Context {
	return context.WithValue(ctx, noEarlyDataKey{}, true)
}
