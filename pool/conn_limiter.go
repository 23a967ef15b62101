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
	maxExhausted = 6
	// exhaustedFor is how long a smaller number of connections is kept then.
	exhaustedFor = 30 * time.Second
)

// defaultMaxConns is three quarters of the descriptors that the process may have.
func defaultMaxConns() int {
	return max(minConns, min(descriptorLimit(), maxDescriptors)*3/4)
}

// A room bounds the connections and dials of a Pool over all origins. When it is
// full, a dial waits until the connection that has been idle for longest is
// closed, or until any other connection ends.
//
// The room's mutex is taken after that of an origin, never before it.
type room struct {
	mu      sync.Mutex
	max     int
	less    int       // what max is until lessTil, because descriptors ran out
	lessTil time.Time // zero: they have not
	used    int
	closing int         // evicted connections that are still open
	idle    list.List   // of *conn, the one that has been idle for longest first
	waiting list.List   // of chan struct{}, closed when dialWeight is granted
	retry   *time.Timer // ends lessTil; nil: not running
	evicted time.Time   // when a connection was closed to make room for another
	unused  int         // connections that became idle since one was used again, or missed
}

// crowdedFor is how long a room is crowded after a connection was closed to make
// room for another.
const crowdedFor = 10 * time.Second

// crowded reports whether connections are likely to be closed soon.
func (r *room) crowded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.evicted.IsZero() && time.Since(r.evicted) < crowdedFor
}

// maxUnused is how many connections may become idle, one after another and none of
// them used again, before few are kept open: each takes about 50 kB of memory, and
// requests seem to go to other origins all the time.
const maxUnused = 512

// strangersLocked reports whether requests seem to go to other origins all the time.
func (r *room) strangersLocked() bool { return r.unused > maxUnused }

func (r *room) strangers() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.strangersLocked()
}

// reused is isBusy for a connection that was idle and carries a request again.
func (r *room) reused(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.idleIn != nil {
		r.idle.Remove(c.idleIn)
		c.idleIn = nil
	}
	if c.granted > 1 {
		r.unused = 0
	}
}

// missed is called for a request that would have used a connection again which was
// closed to make room.
func (r *room) missed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unused = 0
}

func (r *room) limit() int {
	if r.lessTil.IsZero() {
		return r.max
	}
	return min(r.max, r.less)
}

// take waits until there is room for a dial. The caller releases dialWeight.
func (r *room) take(ctx context.Context) error {
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
func (r *room) release(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= n
	r.grantLocked()
}

func (r *room) grantLocked() {
	for r.waiting.Len() > 0 && r.used+dialWeight <= r.limit() {
		r.used += dialWeight
		close(r.waiting.Remove(r.waiting.Front()).(chan struct{}))
	}
}

// closed is called when an open connection no longer has a descriptor.
func (r *room) closed(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.evicted {
		c.evicted = false
		r.closing--
	}
	r.used--
	r.grantLocked()
}

// isIdle is called when c carries nothing, isBusy when it does or is being
// closed. The origin's mutex is held.
func (r *room) isIdle(c *conn) {
	r.mu.Lock()
	if c.idleIn == nil {
		c.idleIn = r.idle.PushBack(c)
		r.unused++
	}
	victims := r.victimsLocked()
	r.mu.Unlock()
	if len(victims) > 0 {
		go r.evict(victims)
	}
}

func (r *room) isBusy(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.idleIn != nil {
		r.idle.Remove(c.idleIn)
		c.idleIn = nil
	}
}

// victimsLocked takes as many idle connections as the waiting dials need, and
// those beyond a quarter of the room, or beyond minConns if hardly any is used again.
func (r *room) victimsLocked() (victims []*conn) {
	most := max(minConns, r.limit()/4)
	if r.strangersLocked() {
		most = minConns
	}
	need := r.idle.Len() - most
	if r.waiting.Len() > 0 {
		need = max(need, r.used-r.closing+r.waiting.Len()*dialWeight-r.limit())
	}
	for ; need > 0 && r.idle.Len() > 0; need-- {
		c := r.idle.Remove(r.idle.Front()).(*conn)
		c.idleIn, c.evicted = nil, true
		r.closing++
		r.evicted = time.Now()
		victims = append(victims, c)
	}
	return victims
}

// evict closes connections that were idle a moment ago. No mutex is held.
func (r *room) evict(victims []*conn) {
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

// exhausted is called when the system has no descriptor left: from now on fewer
// connections are open, for a while.
func (r *room) exhausted() {
	r.mu.Lock()
	r.less, r.lessTil = max(minConns, r.used-2*dialWeight), time.Now().Add(exhaustedFor)
	if r.retry == nil {
		r.retry = time.AfterFunc(exhaustedFor, r.recover)
	}
	var victims []*conn
	if r.idle.Len() > 0 {
		c := r.idle.Remove(r.idle.Front()).(*conn)
		c.idleIn, c.evicted = nil, true
		r.closing++
		victims = append(victims, c)
	}
	r.mu.Unlock()
	r.evict(victims)
}

func (r *room) recover() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if left := time.Until(r.lessTil); left > 0 {
		r.retry.Reset(left)
		return
	}
	r.lessTil, r.retry = time.Time{}, nil
	r.grantLocked()
}

func (r *room) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.retry != nil {
		r.retry.Stop()
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
