package gate

import (
	"slices"
	"time"
)

// turns are the single lookups that wait for a host, in the order in which they
// came. The lock of the host guards them.
type turns struct {
	waiting   []*Waiter
	batchLast bool // a batch had the last request that was granted
}

// A waiter is one of them.
type Waiter struct {
	ready  chan struct{} // has a value when it is its turn to try
	joined bool
}

func NewWaiter() *Waiter { return &Waiter{ready: make(chan struct{}, 1)} }

// room reports whether one more request may be in flight besides n, of at most
// limit, and whether it is the turn of p. Batches and single lookups take turns
// where both wait, so that neither keeps the other from the host.
func (t *turns) room(p Request, n, limit int) bool {
	switch {
	case n >= limit:
		return false
	case len(t.waiting) == 0:
		return true
	case p.Single:
		return p.Waiter == t.waiting[0]
	default:
		return !t.batchLast
	}
}

// granted notes that p has got its request.
func (t *turns) granted(p Request) {
	t.batchLast = !p.Single
	if p.Waiter != nil {
		t.leave(p.Waiter)
	}
}

// join puts w at the end of those that wait, unless it is among them.
func (t *turns) join(w *Waiter) {
	if !w.joined {
		w.joined = true
		t.waiting = append(t.waiting, w)
	}
}

// leave gives up the place of w, if it has one.
func (t *turns) leave(w *Waiter) {
	if !w.joined {
		return
	}
	w.joined = false
	if t.waiting[0] == w {
		t.waiting[0] = nil
		t.waiting = t.waiting[1:]
	} else if i := slices.Index(t.waiting, w); i > 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
	t.wake()
}

// wake lets the first one try.
func (t *turns) wake() {
	if len(t.waiting) == 0 {
		return
	}
	select {
	case t.waiting[0].ready <- struct{}{}:
	default: // it has been woken
	}
}

// queued is the ticket of p, for which there is no room now. A lookup that has
// waited for longer than it may is given up if the host limits requests: its turn
// is not awaited.
func (h *Host) decideQueued(now time.Time, p Request) Decision {
	if p.Single && p.MaxWait <= 0 && (!h.limitless() || now.Before(h.until)) {
		if k := h.admit(now, p); k.Verdict == RejectLimit {
			return k
		}
	}
	return Decision{Verdict: Wait}
}

// whenReleased puts w in the line for the host. The channel has a value when w is the
// first in line and a request may have become possible.
func (h *Host) WhenReleased(w *Waiter) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turns.join(w)
	return w.ready
}

// leave gives up the place of w.
func (h *Host) Leave(w *Waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turns.leave(w)
}

// wait is how long to wait before the host is tried again, unless it wakes who
// waits: until the time that it gave, or else until nothing more may be waited for.
func (k Decision) Delay(now time.Time, maxWait time.Duration) time.Duration {
	if k.At.IsZero() {
		return maxWait
	}
	return k.At.Sub(now)
}
