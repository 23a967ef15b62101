package pool

import (
	"container/list"
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// Limits of the connections to all origins. They leave descriptors for the rest of
// the process.
const (
	maxDescriptors = 8192
	minConns       = 16

	// dialWeight is how many descriptors a dial may use: two sockets for name
	// resolution, then one per address that it tries. An open connection uses one.
	dialWeight = 3

	// maxDialRetries limits the retries of a dial for which no descriptor was free.
	maxDialRetries = 6
	// reducedFor is how long the limit stays reduced after descriptors ran out.
	reducedFor = 30 * time.Second
)

// defaultMaxConns returns three quarters of the process's descriptor limit.
func defaultMaxConns() int {
	return max(minConns, min(descriptorLimit(), maxDescriptors)*3/4)
}

// A connLimiter limits the connections and dials of a Pool over all origins. At the
// limit, a dial waits until the connection that has been idle longest is closed, or
// until another connection ends.
//
// Its mutex is taken after that of an origin, never before.
type connLimiter struct {
	mu           sync.Mutex
	max          int
	reduced      int       // limit in place of max until reducedUntil, because descriptors ran out
	reducedUntil time.Time // zero means not reduced
	used         int
	closing      int         // evicted connections that are still open
	idle         list.List   // holds *conn, longest idle first
	waiting      list.List   // holds chan struct{}, closed when dialWeight is granted
	restoreTimer *time.Timer // restores the limit at reducedUntil; nil means not running
	evicted      time.Time   // when a connection was last closed to make room for another
	unusedInRow  int         // connections that became idle since the last reused or missed connection
}

// evictingFor is how long evictingNow is true after an eviction.
const evictingFor = 10 * time.Second

// evictingNow reports whether new connections are likely to be closed soon.
func (r *connLimiter) evictingNow() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.evicted.IsZero() && time.Since(r.evicted) < evictingFor
}

// maxUnusedInRow is the number of connections that may become idle in a row while no connection
// is reused. Beyond that number, requests seem to go to ever new origins. Only minConns
// connections stay open then, because each takes about 50 kB of memory.
const maxUnusedInRow = 512

// lowReuseLocked reports whether requests seem to go to ever new origins, so that idle
// connections are rarely reused.
func (r *connLimiter) lowReuseLocked() bool { return r.unusedInRow > maxUnusedInRow }

func (r *connLimiter) lowReuse() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lowReuseLocked()
}

// markReused is like markBusy, for an idle connection that carries a request again.
func (r *connLimiter) markReused(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.idleElement != nil {
		r.idle.Remove(c.idleElement)
		c.idleElement = nil
	}
	if c.granted > 1 {
		r.unusedInRow = 0
	}
}

// markMissed records a request whose connection was closed to make room.
func (r *connLimiter) markMissed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unusedInRow = 0
}

func (r *connLimiter) limit() int {
	if r.reducedUntil.IsZero() {
		return r.max
	}
	return min(r.max, r.reduced)
}

// acquire waits until a dial may start. The caller releases dialWeight.
func (r *connLimiter) acquire(ctx context.Context) error {
	r.mu.Lock()
	if r.waiting.Len() == 0 && r.used+dialWeight <= r.limit() {
		r.used += dialWeight
		r.mu.Unlock()
		return nil
	}
	granted := make(chan struct{})
	at := r.waiting.PushBack(granted)
	victims := r.victimsLocked()
	r.mu.Unlock()
	r.evict(victims)
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	select {
	case <-granted:
		r.mu.Unlock()
		r.release(dialWeight)
	default:
		r.waiting.Remove(at)
		r.mu.Unlock()
	}
	return context.Cause(ctx)
}

// release returns n descriptors.
func (r *connLimiter) release(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= n
	r.grantLocked()
}

func (r *connLimiter) grantLocked() {
	for r.waiting.Len() > 0 && r.used+dialWeight <= r.limit() {
		r.used += dialWeight
		close(r.waiting.Remove(r.waiting.Front()).(chan struct{}))
	}
}

// closed records that an open connection has freed its descriptor.
func (r *connLimiter) closed(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.evicted {
		c.evicted = false
		r.closing--
	}
	r.used--
	r.grantLocked()
}

// markIdle records that c became idle, and markBusy that c got a request or is being closed.
// The caller holds the origin's mutex.
func (r *connLimiter) markIdle(c *conn) {
	r.mu.Lock()
	if c.idleElement == nil {
		c.idleElement = r.idle.PushBack(c)
		r.unusedInRow++
	}
	victims := r.victimsLocked()
	r.mu.Unlock()
	if len(victims) > 0 {
		go r.evict(victims)
	}
}

func (r *connLimiter) markBusy(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.idleElement != nil {
		r.idle.Remove(c.idleElement)
		c.idleElement = nil
	}
}

// victimsLocked takes idle connections off the list. It takes as many as the waiting dials
// need, and all above a quarter of the limit, or above minConns if reuse is low.
func (r *connLimiter) victimsLocked() (victims []*conn) {
	keep := max(minConns, r.limit()/4)
	if r.lowReuseLocked() {
		keep = minConns
	}
	need := r.idle.Len() - keep
	if r.waiting.Len() > 0 {
		need = max(need, r.used-r.closing+r.waiting.Len()*dialWeight-r.limit())
	}
	for ; need > 0 && r.idle.Len() > 0; need-- {
		c := r.idle.Remove(r.idle.Front()).(*conn)
		c.idleElement, c.evicted = nil, true
		r.closing++
		r.evicted = time.Now()
		victims = append(victims, c)
	}
	return victims
}

// evict closes connections that were idle a moment ago. The caller holds no mutex.
func (r *connLimiter) evict(victims []*conn) {
	for _, c := range victims {
		if c.origin.evict(c) {
			continue
		}
		r.mu.Lock()
		if c.evicted { // c carries a request again, or is being closed
			c.evicted = false
			r.closing--
		}
		more := r.victimsLocked()
		r.mu.Unlock()
		r.evict(more)
	}
}

// reduce lowers the limit for a while because no descriptors are left.
func (r *connLimiter) reduce() {
	r.mu.Lock()
	r.reduced, r.reducedUntil = max(minConns, r.used-2*dialWeight), time.Now().Add(reducedFor)
	if r.restoreTimer == nil {
		r.restoreTimer = time.AfterFunc(reducedFor, r.restore)
	}
	var victims []*conn
	if r.idle.Len() > 0 {
		c := r.idle.Remove(r.idle.Front()).(*conn)
		c.idleElement, c.evicted = nil, true
		r.closing++
		victims = append(victims, c)
	}
	r.mu.Unlock()
	r.evict(victims)
}

func (r *connLimiter) restore() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if left := time.Until(r.reducedUntil); left > 0 {
		r.restoreTimer.Reset(left)
		return
	}
	r.reducedUntil, r.restoreTimer = time.Time{}, nil
	r.grantLocked()
}

func (r *connLimiter) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.restoreTimer != nil {
		r.restoreTimer.Stop()
	}
}

// outOfDescriptors reports whether err means that the process, or the system, has
// too many open files.
func outOfDescriptors(err error) bool {
	if tooManyFiles(err) {
		return true
	}
	// A name resolution error does not unwrap to its cause.
	dns, ok := errors.AsType[*net.DNSError](err)
	if !ok || !dns.IsTemporary || dns.IsTimeout {
		return false
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		return tooManyFiles(err)
	}
	f.Close()
	return false
}
