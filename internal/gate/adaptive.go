package gate

import (
	"sync/atomic"
	"time"
)

// Limits and increments of an [adaptive].
const (
	slackMin    = 50 * time.Millisecond
	gentleFloor = 4 // value that slow responses alone do not lower the limit below

	// A limit does not grow until the host has accepted GrowAfter requests. A small quota
	// becomes apparent before then, while few requests are in flight.
	GrowAfter = 64
	GrowBy    = 2 // increment for each round of responses
)

// An adaptive limits the requests in flight at a host. The limit grows by GrowBy for each full
// round of fast responses, and is halved when the host fails repeatedly or when responses slow
// down. This is additive increase, multiplicative decrease.
type adaptive struct {
	now    atomic.Int32 // the limit; read without Host.mu
	first  int          // the initial limit
	max    int
	steady int // below this limit, each response makes the limit grow
	credit int // number of responses since the limit grew
	useful int // number of useful responses, up to GrowAfter

	recent  time.Duration // moving average of the time to a response
	best    time.Duration // the lowest value of recent, which rises slowly
	least   time.Duration // the shortest time to a response
	samples int
	cut     time.Time // when the limit was lowered; requests sent before then are not counted again
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
		// The host may have become slower permanently, and the limit must not keep falling.
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
		a.recent, a.least = latency, latency
	}
	a.least = min(a.least, latency)
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

// overloaded halves the limit, once for all requests that were sent before now. It reports
// whether it has halved the limit.
func (a *adaptive) overloaded(sent, now time.Time) bool {
	if !sent.After(a.cut) {
		return false
	}
	half := max(a.limit()/2, 1)
	a.set(half, half, now)
	return true
}

// restrain lowers the limit to its initial value, or to need if need is more. From now on a
// quota limits the requests, and few should be in flight when the quota is exceeded.
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
