package pool

import (
	"sync"
	"time"
)

// An EventKind says what happened to a connection.
type EventKind string

const (
	ConnOpened     EventKind = "opened"
	ConnClosed     EventKind = "closed"
	DialFailed     EventKind = "dial_failed"
	RequestRetried EventKind = "again" // a request is repeated unseen
)

// A ClosedBy says who ended a connection.
type ClosedBy string

const (
	ClosedIdle   ClosedBy = "idle"   // we did: it carried nothing for Config.IdleTimeout
	ClosedServer ClosedBy = "server" // the server did, or told us to
	ClosedError  ClosedBy = "error"  // it broke
	ClosedPool   ClosedBy = "pool"   // we did: Close, CloseIdleConnections, or one request only
	ClosedAge    ClosedBy = "age"    // we did: it was open for Config.MaxConnAge
	ClosedFaulty ClosedBy = "faulty" // we did: it brought failures only, while another connection worked
)

// An Event is something that happened to a connection, for [Config.OnEvent].
type Event struct {
	Kind     EventKind
	Time     time.Time
	Origin   string   // "https://rdap.example:8443"
	ConnID   int64    // 0 for DialFailed
	Protocol string   // ALPN name; empty for DialFailed
	Resumed  bool     // ConnOpened: the handshake resumed a session
	By       ClosedBy // ConnClosed
	Reason   Reason   // RequestRetried
	Err      error    // DialFailed
}

// The functions below count and report what happens. They are called under the
// origin's mutex, except for countRetry.

// maxCallbacks bounds the notices that wait while a function of the user's does
// not return. What comes then is dropped.
const maxCallbacks = 1024

// Notices call [Config.OnEvent] and [Config.Logger], which belong to the user:
// in order, one at a time, and under no lock, so that one that blocks holds up
// nothing else.
type callbacks struct {
	mu      sync.Mutex
	queue   []func()
	running bool
	idle    chan struct{} // closed when running ends
}

// add has f called.
func (n *callbacks) add(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) >= maxCallbacks {
		return
	}
	n.queue = append(n.queue, f)
	if !n.running {
		n.running, n.idle = true, make(chan struct{})
		go n.run()
	}
}

func (n *callbacks) run() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.queue) > 0 {
		all := n.queue
		n.queue = nil
		n.mu.Unlock()
		for _, f := range all {
			callUser(f)
		}
		n.mu.Lock()
	}
	n.running = false
	close(n.idle)
}

// wait returns when all have been called.
func (n *callbacks) wait() {
	n.mu.Lock()
	idle, running := n.idle, n.running
	n.mu.Unlock()
	if running {
		<-idle
	}
}
