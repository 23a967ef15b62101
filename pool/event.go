package pool

import (
	"sync"
	"time"

	"github.com/rdapq/rdapq/internal/callback"
)

// An EventKind is a kind of [Event].
type EventKind string

const (
	ConnOpened     EventKind = "opened"      // a connection was opened; over HTTP/3, its handshake is done
	ConnClosed     EventKind = "closed"      // a connection was closed
	DialFailed     EventKind = "dial_failed" // a connection could not be opened
	RequestRetried EventKind = "retried"     // a request was retried transparently
)

// ClosedBy is the reason why a connection was closed.
type ClosedBy string

const (
	ClosedIdle   ClosedBy = "idle"   // the Pool closed it because it was idle for Config.IdleTimeout
	ClosedServer ClosedBy = "server" // the server closed it, or requested the close
	ClosedError  ClosedBy = "error"  // the connection failed
	// the Pool closed it: Close, CloseIdleConnections, or one request per connection
	ClosedPool ClosedBy = "pool"
	ClosedAge  ClosedBy = "age" // the Pool closed it because it was open for Config.MaxConnAge
	// the Pool closed it because requests failed while another connection worked
	ClosedFaulty ClosedBy = "faulty"
)

// An Event reports a change of a connection to [Config.OnEvent].
type Event struct {
	Kind       EventKind     // what happened; selects the other fields
	Time       time.Time     // when it happened
	Origin     string        // origin, such as "https://rdap.example:8443"; the port only if it is not the usual one
	ConnID     int64         // number of the connection in its Pool, from 1; 0 if it is not known
	Protocol   string        // ALPN name: "http/1.1", "h2" or "h3"; empty for DialFailed
	RemoteAddr string        // address and port of the peer, which may be a proxy; empty for DialFailed
	Setup      time.Duration // for ConnOpened: the sum of name resolution, TCP, proxy and TLS
	Resumed    bool          // for ConnOpened: the handshake resumed a session
	By         ClosedBy      // for ConnClosed: the reason
	Reason     Reason        // for RequestRetried: the reason
	Step       Step          // for DialFailed: the step that failed
	Err        error         // for DialFailed: the error
}

// maxCallbacks limits the calls that are queued while a user function blocks. Later calls are
// dropped.
const maxCallbacks = 1024

// callbacks calls user functions ([Config.OnEvent], [Config.Logger], [Config.Origins]) in
// order, one at a time. It calls them without a lock, so a function that blocks delays nothing
// else.
type callbacks struct {
	mu      sync.Mutex
	queue   []func()
	running bool
	idle    chan struct{} // closed when running ends
}

// add queues a call of f.
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
			callback.Do(f)
		}
		n.mu.Lock()
	}
	n.running = false
	close(n.idle)
}

// wait returns when the queue is empty.
func (n *callbacks) wait() {
	n.mu.Lock()
	idle, running := n.idle, n.running
	n.mu.Unlock()
	if running {
		<-idle
	}
}
