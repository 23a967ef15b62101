package gate

import (
	"sync/atomic"
	"time"
)

// Bounds of an [adaptive] limit.
const (
	slackMin    = 50 * time.Millisecond
	gentleFloor = 4 // slow responses alone do not lower the limit below it

	// A limit does not grow until the host has accepted GrowAfter requests. A small quota
	// becomes apparent before that, while few requests are in flight.
	GrowAfter = 64
	GrowBy    = 2 // for each round of responses
)

// An adaptive is the limit on the requests in flight at a host. It grows by GrowBy
// for each full round of fast responses, and is halved when the host fails
// repeatedly or when responses slow down: additive increase, multiplicative decrease.
type adaptive struct {
	now    atomic.Int32 // the limit; read without Host.mu
	first  int          // the initial limit
	max    int
	steady int // below it, each response makes the limit grow
	credit int // responses since it grew
	useful int // responses, up to GrowAfter

	recent  time.Duration // moving average of the time to a response
	best    time.Duration // the lowest value of recent; it rises slowly
	samples int
	cut     time.Time // when the limit was lowered; requests sent before are not counted again
}

func (a *adaptive) start(at, limit int) {
	a.first, a.max = min(at, limit), limit
	a.steady = a.first
	a.now.Store(int32(a.steady))
}

func (a *adaptive) limit() int { return int(a.now.Load()) }

// answered records a response to a request that was sent at sent, when inFlight requests
// were in flight. A latency of 0 means unknown.
func (a *adaptive) answered(sent, now time.Time, latency time.Duration, inFlight int) {
	slow := a.measure(latency)
	limit := a.limit()
	a.useful = min(a.useful+1, GrowAfter)
	switch {
	case slow && sent.After(a.cut):
		if half := max(limit/2, min(gentleFloor, limit)); half < limit {
			a.set(half, half, now)
		}
		// The host may have become slower permanently. The limit must not keep falling.
		a.best += a.best / 4
	case slow, !sent.After(a.cut):
	case inFlight < limit:
		// The limit does not hold requests back.
	case limit < a.steady:
		a.now.Store(int32(min(limit+1, a.max)))
	case a.useful < GrowAfter:
	default:
		if a.credit++; a.credit >= limit {
			a.credit = 0
			a.now.Store(int32(min(limit+GrowBy, a.max)))
		}
	}
}

// measure reports whether responses have become slow.
func (a *adaptive) measure(latency time.Duration) bool {
	if latency <= 0 {
		return false
	}
	a.samples++
	if a.samples == 1 {
		a.recent = latency
	}
	a.recent += (latency - a.recent) / 8
	if a.samples < 8 {
		return false
	}
	if a.best == 0 || a.recent < a.best {
		a.best = a.recent
	}
	a.best += a.best / 1024
	return a.recent > 2*a.best+slackMin
}

// overloaded halves the limit, once for all requests that were sent before. It
// reports whether it did.
func (a *adaptive) overloaded(sent, now time.Time) bool {
	if !sent.After(a.cut) {
		return false
	}
	half := max(a.limit()/2, 1)
	a.set(half, half, now)
	return true
}

// restrain lowers the limit to its initial value, or to need if that is more. A quota
// bounds the requests from now on, and few should be in flight when it is exceeded.
func (a *adaptive) restrain(now time.Time, need int) {
	if to := max(a.first, need); a.limit() > to {
		a.set(to, to, now)
	}
}

// resume restores a limit that was lowered without need.
func (a *adaptive) resume(limit int) {
	if limit > a.limit() {
		a.now.Store(int32(limit))
		a.steady = limit
	}
}

func (a *adaptive) set(limit, steady int, now time.Time) {
	a.now.Store(int32(limit))
	a.steady, a.credit, a.cut = steady, 0, now
}
