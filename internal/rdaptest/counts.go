package rdaptest

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Counts holds the counts of a [Server], independent of its clients.
type Counts struct {
	Connections      int64       `json:"connections"`       // TCP connections accepted
	Open             int64       `json:"open"`              // connections open now
	MaxOpen          int64       `json:"max_open"`          // maximum number of connections open at a time
	FullHandshakes   int64       `json:"full_handshakes"`   // TLS handshakes finished without a session
	Resumed          int64       `json:"resumed"`           // TLS handshakes finished by resuming a session
	FailedHandshakes int64       `json:"failed_handshakes"` // TLS handshakes that either side gave up
	TicketsReused    int64       `json:"tickets_reused"`    // TLS 1.3 tickets received again, see Config.SingleUseTickets
	Requests         int64       `json:"requests"`          // requests that reached a handler
	MaxInFlight      int64       `json:"max_in_flight"`     // maximum number of concurrent requests on all connections
	GoAways          int64       `json:"goaways"`           // GOAWAY frames sent
	BytesIn          int64       `json:"bytes_in"`          // TCP payload received, TLS included
	BytesOut         int64       `json:"bytes_out"`         // TCP payload sent, TLS included
	Conns            []ConnCount `json:"conns,omitempty"`   // one for each connection, in the order of acceptance
}

// Handshakes returns the number of finished TLS handshakes of both kinds.
func (c Counts) Handshakes() int64 { return c.FullHandshakes + c.Resumed }

// PerConn returns the number of requests of each connection, in the order of
// acceptance.
func (c Counts) PerConn() []int64 {
	n := make([]int64, len(c.Conns))
	for i := range c.Conns {
		n[i] = c.Conns[i].Requests
	}
	return n
}

// Add returns the sums of the counts of c and d. The sums of MaxOpen and MaxInFlight are upper
// bounds.
func (c Counts) Add(d Counts) Counts {
	return Counts{
		Connections:      c.Connections + d.Connections,
		Open:             c.Open + d.Open,
		MaxOpen:          c.MaxOpen + d.MaxOpen,
		FullHandshakes:   c.FullHandshakes + d.FullHandshakes,
		Resumed:          c.Resumed + d.Resumed,
		FailedHandshakes: c.FailedHandshakes + d.FailedHandshakes,
		TicketsReused:    c.TicketsReused + d.TicketsReused,
		Requests:         c.Requests + d.Requests,
		MaxInFlight:      c.MaxInFlight + d.MaxInFlight,
		GoAways:          c.GoAways + d.GoAways,
		BytesIn:          c.BytesIn + d.BytesIn,
		BytesOut:         c.BytesOut + d.BytesOut,
		Conns:            slices.Concat(c.Conns, d.Conns),
	}
}

// A ConnCount holds the counts of one connection.
type ConnCount struct {
	// protocol "h2" or "http/1.1"; empty without a finished handshake
	Protocol    string `json:"protocol,omitempty"`
	Resumed     bool   `json:"resumed,omitempty"` // the handshake resumed a session
	Requests    int64  `json:"requests"`
	MaxInFlight int64  `json:"max_in_flight"` // maximum number of concurrent requests
	Open        bool   `json:"open,omitempty"`
}

// A LogEntry describes one request, as the server received it.
type LogEntry struct {
	Time     time.Time
	Conn     int64  // number of the connection, from 1
	Protocol string // protocol "HTTP/1.1" or "HTTP/2.0"
	Method   string
	URI      string // URI as in the request, with escapes
	Host     string
	Header   map[string][]string
}

// A tally holds a server's counts while it runs.
type tally struct {
	full, resumed, failed atomic.Int64
	reused                atomic.Int64 // number of TLS 1.3 tickets received again
	requests, goAways     atomic.Int64
	inFlight, maxInFlight atomic.Int64
	bytesIn, bytesOut     atomic.Int64

	mu      sync.Mutex
	conns   []*connTally  // guarded by mu; index is the number less 1
	open    int64         // guarded by mu
	maxOpen int64         // guarded by mu
	changed chan struct{} // guarded by mu; closed when a count changes
	waiting atomic.Int32  // number of callers of awaitRequests
	log     []LogEntry    // guarded by mu

	tickets map[[sha256.Size]byte]struct{} // guarded by mu; hashes of the tickets received
}

// once returns an UnwrapSession that accepts each TLS 1.3 ticket only once.
func (t *tally) once(unwrap func([]byte, tls.ConnectionState) (*tls.SessionState, error)) func([]byte, tls.ConnectionState) (*tls.SessionState, error) {
	return func(ticket []byte, cs tls.ConnectionState) (*tls.SessionState, error) {
		if cs.Version < tls.VersionTLS13 {
			return unwrap(ticket, cs)
		}
		sum := sha256.Sum256(ticket)
		t.mu.Lock()
		_, seen := t.tickets[sum]
		if t.tickets == nil {
			t.tickets = make(map[[sha256.Size]byte]struct{})
		}
		t.tickets[sum] = struct{}{}
		t.mu.Unlock()
		if seen {
			t.reused.Add(1)
			return nil, nil
		}
		return unwrap(ticket, cs)
	}
}

// A connTally holds a connection's counts. It outlives the connection, so it is small.
type connTally struct {
	requests, inFlight, maxInFlight atomic.Int64
	protocol                        atomic.Pointer[string]
	resumed, closed                 atomic.Bool
}

// accept counts a new connection and returns its number.
func (t *tally) accept() (int64, *connTally) {
	c := new(connTally)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conns = append(t.conns, c)
	t.open++
	t.maxOpen = max(t.maxOpen, t.open)
	t.notify()
	return int64(len(t.conns)), c
}

func (t *tally) close(c *connTally) {
	if c.closed.Swap(true) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open--
	t.notify()
}

func (t *tally) notify() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// begin counts a request on c and returns the number of earlier requests. All counts include
// the request before [tally.awaitRequests] returns.
func (t *tally) begin(c *connTally) int64 {
	raise(&c.maxInFlight, c.inFlight.Add(1))
	raise(&t.maxInFlight, t.inFlight.Add(1))
	before := c.requests.Add(1) - 1
	t.requests.Add(1)
	if t.waiting.Load() > 0 {
		t.mu.Lock()
		t.notify()
		t.mu.Unlock()
	}
	return before
}

func (t *tally) end(c *connTally) {
	c.inFlight.Add(-1)
	t.inFlight.Add(-1)
}

// raise sets v to n if n is greater.
func raise(v *atomic.Int64, n int64) {
	for m := v.Load(); n > m && !v.CompareAndSwap(m, n); m = v.Load() {
	}
}

func (t *tally) counts(conns bool) Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := Counts{
		Connections:      int64(len(t.conns)),
		Open:             t.open,
		MaxOpen:          t.maxOpen,
		FullHandshakes:   t.full.Load(),
		Resumed:          t.resumed.Load(),
		FailedHandshakes: t.failed.Load(),
		TicketsReused:    t.reused.Load(),
		Requests:         t.requests.Load(),
		MaxInFlight:      t.maxInFlight.Load(),
		GoAways:          t.goAways.Load(),
		BytesIn:          t.bytesIn.Load(),
		BytesOut:         t.bytesOut.Load(),
	}
	if !conns {
		return n
	}
	n.Conns = make([]ConnCount, len(t.conns))
	for i, c := range t.conns {
		n.Conns[i] = ConnCount{
			Resumed:     c.resumed.Load(),
			Requests:    c.requests.Load(),
			MaxInFlight: c.maxInFlight.Load(),
			Open:        !c.closed.Load(),
		}
		if p := c.protocol.Load(); p != nil {
			n.Conns[i].Protocol = *p
		}
	}
	return n
}

// awaitOpen waits until at most n connections are open.
func (t *tally) awaitOpen(ctx context.Context, n int64) error {
	return t.await(ctx, func() error {
		if t.open > n {
			return fmt.Errorf("%d connections open, waiting for %d", t.open, n)
		}
		return nil
	})
}

// awaitConnections waits until at least n connections have been accepted.
func (t *tally) awaitConnections(ctx context.Context, n int64) error {
	return t.await(ctx, func() error {
		if have := int64(len(t.conns)); have < n {
			return fmt.Errorf("%d connections, waiting for %d", have, n)
		}
		return nil
	})
}

// awaitRequests waits until at least n requests have begun.
func (t *tally) awaitRequests(ctx context.Context, n int64) error {
	t.waiting.Add(1)
	defer t.waiting.Add(-1)
	return t.await(ctx, func() error {
		if have := t.requests.Load(); have < n {
			return fmt.Errorf("%d requests, waiting for %d", have, n)
		}
		return nil
	})
}

// await calls missing, under the lock, until missing returns nil.
func (t *tally) await(ctx context.Context, missing func() error) error {
	for {
		t.mu.Lock()
		err := missing()
		if err == nil {
			t.mu.Unlock()
			return nil
		}
		if t.changed == nil {
			t.changed = make(chan struct{})
		}
		changed := t.changed
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
	}
}

// keep sets the time of a request and appends it to the log, which is in the order of these
// times.
func (t *tally) keep(e LogEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.Time = time.Now()
	t.log = append(t.log, e)
}
