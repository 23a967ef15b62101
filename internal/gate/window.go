package gate

import (
	"slices"
	"time"

	"github.com/rdapq/rdapq/limit"
)

// A window counts the requests to one server over a sliding span of time.
//
// A request counts from its sending until the span has passed since its response. The server
// counts the request at some time in between. The server never sees more than Rate.N requests
// in any span, whatever their latency. A token bucket would let nearly twice as many requests
// through: a full bucket and its refill.
type window struct {
	inFlight   int      // requests without a response
	buckets    []bucket // counts of requests with a response, oldest first
	total      int      // number of requests in buckets
	resolution time.Duration
}

// A bucket counts requests whose responses arrived at about the same time.
type bucket struct {
	from, to time.Time // times of the first and the last response
	n        int
}

// windowBuckets is the number of buckets in the span of a window.
const windowBuckets = 256

// answered moves a request from inFlight to a bucket.
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

// cancel removes a request that was not sent.
func (w *window) cancel() { w.inFlight-- }

// free returns how many more requests r allows now. If r allows none, at is when r allows the
// next, or zero if that time depends on future responses.
func (w *window) free(now time.Time, r limit.Rate) (n int, at time.Time) {
	w.resolution = r.Per / windowBuckets
	w.expire(now, r.Per)
	if n = r.N - w.inFlight - w.total; n > 0 {
		return n, time.Time{}
	}
	// Find the bucket whose expiry makes room for one request.
	for _, u := range w.buckets {
		if n += u.n; n > 0 {
			return 0, u.to.Add(r.Per)
		}
	}
	return 0, time.Time{}
}

// within is like free, but for a shorter span than the window's.
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

// spend counts a request from when it was sent.
func (w *window) spend(sent time.Time) {
	w.inFlight++
	w.answered(sent)
}

// refund removes a request that was counted when it was sent.
func (w *window) refund(sent time.Time) {
	for i := len(w.buckets) - 1; i >= 0; i-- {
		if u := &w.buckets[i]; u.n > 0 && !u.from.After(sent) {
			u.n--
			w.total--
			return
		}
	}
}

// move counts a request from when it was sent, not from when it was allowed.
func (w *window) move(granted, sent time.Time) {
	before := w.total
	w.refund(granted)
	if w.total < before {
		w.insert(sent)
	}
}

// insert counts a request at a time that may precede those of other requests.
func (w *window) insert(at time.Time) {
	w.total++
	i := len(w.buckets)
	for i > 0 && w.buckets[i-1].from.After(at) {
		i--
	}
	if i > 0 && at.Sub(w.buckets[i-1].from) < w.resolution {
		b := &w.buckets[i-1]
		b.n++
		if at.After(b.to) {
			b.to = at
		}
		return
	}
	w.buckets = slices.Insert(w.buckets, i, bucket{at, at, 1})
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

// replace replaces the counts by the usage in a store.
func (w *window) replace(used []limit.Usage) {
	w.buckets, w.total = w.buckets[:0], 0
	for _, u := range used {
		w.buckets = append(w.buckets, bucket{u.At, u.At, u.N})
		w.total += u.N
	}
}

// add counts n requests at the time at, which must not precede the time of another request.
func (w *window) add(at time.Time, n int) {
	w.buckets = append(w.buckets, bucket{at, at, n})
	w.total += n
}

// used returns the counts for a store.
func (w *window) used() []limit.Usage {
	uses := make([]limit.Usage, 0, len(w.buckets))
	for _, u := range w.buckets {
		uses = append(uses, limit.Usage{At: u.to, N: u.n})
	}
	return uses
}

// usedIn returns the number of requests in the span before now, and the age of the
// first of them.
func (w *window) usedIn(now time.Time, per time.Duration) (n int, elapsed time.Duration) {
	for i := len(w.buckets) - 1; i >= 0 && now.Sub(w.buckets[i].from) <= per; i-- {
		n += w.buckets[i].n
		elapsed = now.Sub(w.buckets[i].from)
	}
	return n, elapsed
}
