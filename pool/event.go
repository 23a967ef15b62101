package pool

import "time"

// An EventKind says what happened to a connection.
type EventKind string

const (
	ConnOpened   EventKind = "opened"
	ConnClosed   EventKind = "closed"
	DialFailed   EventKind = "dial_failed"
	RequestAgain EventKind = "again" // a request is repeated unseen
)

// A Closer says who ended a connection.
type Closer string

const (
	ClosedIdle   Closer = "idle"   // we did: it carried nothing for Config.IdleTimeout
	ClosedServer Closer = "server" // the server did, or told us to
	ClosedError  Closer = "error"  // it broke
	ClosedPool   Closer = "pool"   // we did: Close, CloseIdleConnections, or one request only
	ClosedAge    Closer = "age"    // we did: it was open for Config.MaxConnAge
	ClosedFaulty Closer = "faulty" // we did: it brought failures only, while another connection worked
)

// An Event is something that happened to a connection, for [Config.OnEvent].
type Event struct {
	Kind     EventKind
	Time     time.Time
	Origin   string // "https://rdap.example:8443"
	ConnID   int64  // 0 for DialFailed
	Protocol string // ALPN name; empty for DialFailed
	Resumed  bool   // ConnOpened: the handshake resumed a session
	By       Closer // ConnClosed
	Reason   Reason // RequestAgain
	Err      error  // DialFailed
}

// The functions below count and report what happens. They are called under the
// origin's mutex, except for countRetry.

func (o *origin) event(e Event) {
	if o.p.cfg.OnEvent != nil {
		e.Time, e.Origin = time.Now(), o.key.String()
		o.p.notices.add(func() { o.p.cfg.OnEvent(e) })
	}
}

func (o *origin) opened(c *conn) {
	o.stats.opened(c)
	o.debug("connection opened", "connection", c.id, "protocol", c.protocol, "resumed", c.setup.resumed)
	o.event(Event{Kind: ConnOpened, ConnID: c.id, Protocol: c.protocol, Resumed: c.setup.resumed})
}

func (o *origin) closedConn(c *conn, by Closer) {
	if o.stats.closed(c, by) {
		o.debug("connection closed", "connection", c.id, "by", string(by), "requests", c.served)
		o.event(Event{Kind: ConnClosed, ConnID: c.id, Protocol: c.protocol, By: by})
	}
}

func (o *origin) dialFailed(err error) {
	o.stats.DialsFailed++
	o.debug("connection failed", "error", err)
	o.event(Event{Kind: DialFailed, Err: err})
}

func (o *origin) countRetry(c *conn, why Reason) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stats.Retries == nil {
		o.stats.Retries = make(map[Reason]int64)
	}
	o.stats.Retries[why]++
	o.debug("request is sent again", "connection", c.id, "why", string(why))
	o.event(Event{Kind: RequestAgain, ConnID: c.id, Protocol: c.protocol, Reason: why})
}
