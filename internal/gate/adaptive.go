package gate

import (
	"sync/atomic"
	"time"
)

// Bounds of an [adaptive] limit.
const (
	slackMin    = 50 * time.Millisecond
	gentleFloor = 4 // slow answers alone do not take the limit below

	// A limit does not grow until a server has accepted so many requests. Until
	// then a small quota may show, and few requests are refused by it.
	GrowAfter = 64
	GrowBy    = 2 // for each round of responses
)

// adaptive is how many lookups one server gets at a time. It grows by growBy for
// each full round of responses that come quickly, and is halved when the server
// fails repeatedly or when responses slow down: additive increase, multiplicative
// decrease.
type adaptive struct {
	now    atomic.Int32 // the limit; read without the host's lock
	first  int          // where it started
	max    int
	steady int // below it, each answer makes the limit grow
	credit int // answers since it grew
	useful int // answers in all, up to growAfter

	recent  time.Duration // moving average of the time to an answer
	best    time.Duration // the lowest that recent has been, forgotten slowly
	samples int
	cut     time.Time // when it was lowered; what was sent before says nothing new
}

func (a *adaptive) start(at, most int) {
	a.first, a.max = min(at, most), most
	a.steady = a.first
	a.now.Store(int32(a.steady))
}

func (a *adaptive) limit() int { return int(a.now.Load()) }

// answered learns from an answer to a request of the time sent, when so many
// were in flight. A latency of 0 is not known.
func (a *adaptive) answered(sent, now time.Time, latency time.Duration, inFlight int) {
	slow := a.measure(latency)
	limit := a.limit()
	a.useful = min(a.useful+1, GrowAfter)
	switch {
	case slow && sent.After(a.cut):
		if half := max(limit/2, min(gentleFloor, limit)); half < limit {
			a.set(half, half, now)
		}
		// Whatever was best may be no longer to be had: the limit must not
		// go down for ever.
		a.best += a.best / 4
	case slow, !sent.After(a.cut):
	case inFlight < limit:
		// It is not the limit that holds requests back.
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

// measure reports whether answers have become slow.
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

// overloaded halves the limit, once for all that was sent before it knew. It
// reports whether it did.
func (a *adaptive) overloaded(sent, now time.Time) bool {
	if !sent.After(a.cut) {
		return false
	}
	half := max(a.limit()/2, 1)
	a.set(half, half, now)
	return true
}

// restrain returns to where the limit started, or to need if that is more: a quota
// bounds the requests from now on, and few are to be in flight when it is exceeded.
func (a *adaptive) restrain(now time.Time, need int) {
	if to := max(a.first, need); a.limit() > to {
		a.set(to, to, now)
	}
}

// resume returns to a limit that it was taken from without need.
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
