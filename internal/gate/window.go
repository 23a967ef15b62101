package gate

import (
	"time"

	"github.com/rdapq/rdapq/limit"
)

// A window counts the requests to one server over a sliding span of time.
//
// A request counts from the moment it is sent, and until the span has passed
// since its answer: the server counted it somewhere in between. So there are
// never more than Rate.N in any span as the server sees it, however long they
// are on the way. (A bucket of tokens that fills up as time goes by would let
// nearly twice as many through: a full bucket, and what drips in.)
type window struct {
	inFlight   int      // sent and not answered
	buckets    []bucket // answered, oldest first
	total      int      // requests in uses
	resolution time.Duration
}

// A span is a number of requests that are kept as one.
type bucket struct {
	from, to time.Time // answers of the first and the last
	n        int
}

// windowGrains is how finely a window is divided.
const windowBuckets = 64

// answered moves a request from those in flight to those that were answered.
func (w *window) answered(now time.Time) {
	w.inFlight--
	w.total++
	if n := len(w.buckets); n > 0 && now.Before(w.buckets[n-1].to) {
		now = w.buckets[n-1].to
	}
	if n := len(w.buckets); n > 0 && now.Sub(w.buckets[n-1].from) < w.resolution {
		w.buckets[n-1].to = now
		w.buckets[n-1].n++
		return
	}
	w.buckets = append(w.buckets, bucket{now, now, 1})
}

// unsent takes back a request that was not sent after all.
func (w *window) cancel() { w.inFlight-- }

// free returns how many more requests r allows now, and if it allows none, when
// it will: the zero time if that depends on answers still to come.
func (w *window) free(now time.Time, r limit.Rate) (n int, at time.Time) {
	w.resolution = r.Per / windowBuckets
	w.expire(now, r.Per)
	if n = r.N - w.inFlight - w.total; n > 0 {
		return n, time.Time{}
	}
	// Each span that ends gives its requests back, until there is one to give.
	for _, u := range w.buckets {
		if n += u.n; n > 0 {
			return 0, u.to.Add(r.Per)
		}
	}
	return 0, time.Time{}
}

// within is free for a shorter span than the window is kept for.
func (w *window) within(now time.Time, r limit.Rate) (n int, at time.Time) {
	n = r.N - w.inFlight
	for i := len(w.buckets) - 1; i >= 0 && now.Sub(w.buckets[i].to) < r.Per; i-- {
		if n -= w.buckets[i].n; n <= 0 {
			at = w.buckets[i].to.Add(r.Per)
			break
		}
	}
	return n, at
}

// spend counts a request from when it is sent.
func (w *window) spend(sent time.Time) {
	w.inFlight++
	w.answered(sent)
}

// refund takes back a request that was counted when it was sent.
func (w *window) refund(sent time.Time) {
	for i := len(w.buckets) - 1; i >= 0; i-- {
		if u := &w.buckets[i]; u.n > 0 && !u.from.After(sent) {
			u.n--
			w.total--
			return
		}
	}
}

// move counts a request later than from when it was granted.
func (w *window) move(granted, sent time.Time) {
	before := w.total
	w.refund(granted)
	if w.total < before {
		w.spend(sent)
	}
}

func (w *window) expire(now time.Time, per time.Duration) {
	drop := 0
	for drop < len(w.buckets) && now.Sub(w.buckets[drop].to) >= per {
		w.total -= w.buckets[drop].n
		drop++
	}
	if drop > 0 {
		w.buckets = append(w.buckets[:0], w.buckets[drop:]...)
	}
}

// replace takes over what a store knows to have been used.
func (w *window) replace(used []limit.Usage) {
	w.buckets, w.total = w.buckets[:0], 0
	for _, u := range used {
		w.buckets = append(w.buckets, bucket{u.At, u.At, u.N})
		w.total += u.N
	}
}

// add counts n requests at a time that is not before any other.
func (w *window) add(at time.Time, n int) {
	w.buckets = append(w.buckets, bucket{at, at, n})
	w.total += n
}

// used returns the uses of the window for a store.
func (w *window) used() []limit.Usage {
	uses := make([]limit.Usage, 0, len(w.buckets))
	for _, u := range w.buckets {
		uses = append(uses, limit.Usage{At: u.to, N: u.n})
	}
	return uses
}

// usedIn counts the requests in the span before now, and returns how long ago the
// first of them was.
func (w *window) usedIn(now time.Time, per time.Duration) (n int, elapsed time.Duration) {
	for i := len(w.buckets) - 1; i >= 0 && now.Sub(w.buckets[i].from) <= per; i-- {
		n += w.buckets[i].n
		elapsed = now.Sub(w.buckets[i].from)
	}
	return n, elapsed
}
