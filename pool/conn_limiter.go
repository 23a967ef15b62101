package pool

import (
	"container/list"
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Bounds of the connections of all origins. Descriptors that the rest of the
// process needs are left over.
const (
	maxDescriptors = 8192
	minConns       = 16

	// dialWeight is how many descriptors a dial may use: two sockets for the name
	// look-up, then one for each address that it tries. An open connection uses one.
	dialWeight = 3

	// Out of descriptors, a dial is tried again so many times.
	maxDialRetries = 6
	// reducedFor is how long a smaller number of connections is kept then.
	reducedFor = 30 * time.Second
)

// defaultMaxConns is three quarters of the descriptors that the process may have.
func defaultMaxConns() int {
	return max(minConns, min(descriptorLimit(), maxDescriptors)*3/4)
}

// A connLimiter bounds the connections and dials of a Pool over all origins. When it is
// full, a dial waits until the connection that has been idle for longest is
// closed, or until any other connection ends.
//
// The room's mutex is taken after that of an origin, never before it.
type connLimiter struct {
	mu           sync.Mutex
	max          int
	reduced      int       // what max is until reducedUntil, because descriptors ran out
	reducedUntil time.Time // zero: they have not
	used         int
	closing      int         // evicted connections that are still open
	idle         list.List   // of *conn, the one that has been idle for longest first
	waiting      list.List   // of chan struct{}, closed when dialWeight is granted
	restoreTimer *time.Timer // ends reducedUntil; nil: not running
	evicted      time.Time   // when a connection was closed to make room for another
	unusedInRow  int         // connections that became idle since one was used again, or missed
}

// evictingFor is how long a room is crowded after a connection was closed to make
// room for another.
const evictingFor = 10 * time.Second

// evictingNow reports whether connections are likely to be closed soon.
func (r *connLimiter) evictingNow() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.evicted.IsZero() && time.Since(r.evicted) < evictingFor
}

// maxUnusedInRow is how many connections may become idle, one after another and none of
// them used again, before few are kept open: each takes about 50 kB of memory, and
// requests seem to go to other origins all the time.
const maxUnusedInRow = 512

// lowReuseLocked reports whether requests seem to go to other origins all the time.
func (r *connLimiter) lowReuseLocked() bool { return r.unusedInRow > maxUnusedInRow }

func (r *connLimiter) lowReuse() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lowReuseLocked()
}

// markReused is markBusy for a connection that was idle and carries a request again.
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

// markMissed is called for a request that would have used a connection again which was
// closed to make room.
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

// acquire waits until there is room for a dial. The caller releases dialWeight.
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

// release gives n descriptors back.
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

// closed is called when an open connection no longer has a descriptor.
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

// markIdle is called when c carries nothing, markBusy when it does or is being
// closed. The origin's mutex is held.
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

// victimsLocked takes as many idle connections as the waiting dials need, and
// those beyond a quarter of the room, or beyond minConns if hardly any is used again.
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

// evict closes connections that were idle a moment ago. No mutex is held.
func (r *connLimiter) evict(victims []*conn) {
	for _, c := range victims {
		if c.o.evict(c) {
			continue
		}
		r.mu.Lock()
		if c.evicted { // it carries a request again, or something else closes it
			c.evicted = false
			r.closing--
		}
		more := r.victimsLocked()
		r.mu.Unlock()
		r.evict(more)
	}
}

// reduce is called when the system has no descriptor left: from now on fewer
// connections are open, for a while.
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

// outOfDescriptors reports whether err means that the process, or the system,
// has too many open files.
func outOfDescriptors(err error) bool {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return true
	}
	// The error of a look-up does not unwrap to its cause.
	dns, ok := errors.AsType[*net.DNSError](err)
	if !ok || !dns.IsTemporary || dns.IsTimeout {
		return false
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
	}
	f.Close()
	return false
}
