package gate

import (
	"slices"
	"time"
)

// turns holds the line of single lookups that wait for a host. Host.mu guards it.
type turns struct {
	waiting   []*Waiter
	batchLast bool // the last allowed request belongs to a batch
}

// A Waiter is the place of a lookup in the line.
type Waiter struct {
	ready  chan struct{} // receives a value when the lookup should call Acquire
	joined bool
}

func NewWaiter() *Waiter { return &Waiter{ready: make(chan struct{}, 1)} }

// room reports whether n is below limit and p is next. If batches and single lookups wait, they
// alternate.
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

// granted records that p is allowed.
func (t *turns) granted(p Request) {
	t.batchLast = !p.Single
	if p.Waiter != nil {
		t.leave(p.Waiter)
	}
}

// join puts w at the end of the line, unless it is already waiting.
func (t *turns) join(w *Waiter) {
	if !w.joined {
		w.joined = true
		t.waiting = append(t.waiting, w)
	}
}

// leave removes w from the line.
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

// wake wakes the first lookup in line.
func (t *turns) wake() {
	if len(t.waiting) == 0 {
		return
	}
	select {
	case t.waiting[0].ready <- struct{}{}:
	default: // the lookup is already awake
	}
}

// decideQueued decides about p when there is no room. It rejects a single lookup that has
// waited for MaxWait, if a limit would prolong the wait.
func (h *Host) decideQueued(now time.Time, p Request) Decision {
	if p.Single && p.MaxWait <= 0 && (!h.limitless() || now.Before(h.until)) {
		if k := h.admit(now, p); k.Verdict == RejectLimit {
			return k
		}
	}
	return Decision{Verdict: Wait}
}

// WhenReleased puts w in the line for the host. The channel receives a value when w is first in
// line and a request may have become possible.
func (h *Host) WhenReleased(w *Waiter) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turns.join(w)
	return w.ready
}

// Leave removes w from the line for the host.
func (h *Host) Leave(w *Waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turns.leave(w)
}

// Delay returns how long to wait for the channel of WhenReleased before the next call of
// Acquire: until k.At, or maxWait if k.At is zero.
func (k Decision) Delay(now time.Time, maxWait time.Duration) time.Duration {
	if k.At.IsZero() {
		return maxWait
	}
	return k.At.Sub(now)
}
