// Package histogram counts durations in bounded memory and returns their quantiles. It does not
// depend on the meaning of the durations.
package histogram

import (
	"iter"
	"math"
	"time"
)

// A Histogram counts durations from 0.1 ms on in buckets that grow by 2%. Quantiles are
// accurate to 1%, and memory is limited. The zero value is empty.
type Histogram struct {
	counts []uint32 // counts of the buckets from the shortest to the longest duration seen
	first  int      // index of the bucket of counts[0]
	n      uint64

	shortest, longest time.Duration // extremes of the counted durations
}

const (
	unit       = 100 * time.Microsecond
	maxBuckets = 1024 // number of buckets; the last one has all durations above about 17 hours
)

var bucketGrowth = math.Log(1.02)

// Add counts d. A negative duration counts as 0.
func (h *Histogram) Add(d time.Duration) {
	i := 0
	d = max(d, 0)
	if d > unit {
		i = min(int(math.Log(float64(d)/float64(unit))/bucketGrowth)+1, maxBuckets-1)
	}
	h.grow(i, i+1)
	h.counts[i-h.first]++
	h.widen(d, d)
	h.n++
}

// Merge adds the counts of o.
func (h *Histogram) Merge(o *Histogram) {
	if o.n == 0 {
		return
	}
	h.grow(o.first, o.first+len(o.counts))
	for i, n := range o.counts {
		h.counts[o.first+i-h.first] += n
	}
	h.widen(o.shortest, o.longest)
	h.n += o.n
}

// widen includes two durations in the bounds.
func (h *Histogram) widen(shortest, longest time.Duration) {
	if h.n == 0 {
		h.shortest, h.longest = shortest, longest
	}
	h.shortest, h.longest = min(h.shortest, shortest), max(h.longest, longest)
}

// grow allocates the buckets from from to before end, and no others. There may be a Histogram
// with few durations for each of many servers.
func (h *Histogram) grow(from, end int) {
	if len(h.counts) == 0 {
		h.first = from
	}
	if missing := h.first - from; missing > 0 {
		h.counts = append(make([]uint32, missing, missing+len(h.counts)), h.counts...)
		h.first = from
	}
	if missing := end - h.first - len(h.counts); missing > 0 {
		h.counts = append(h.counts, make([]uint32, missing)...)
	}
}

// Count returns the number of counted durations.
func (h *Histogram) Count() uint64 { return h.n }

// Quantile returns the duration that a share q of the counted durations does not exceed, or 0
// if nothing was counted.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := max(uint64(math.Ceil(q*float64(h.n))), 1)
	var seen uint64
	for d, n := range h.All() {
		if seen += n; seen >= rank {
			return d
		}
	}
	return 0
}

// All yields the non-empty buckets in ascending order, each with a representative duration and
// its count.
func (h *Histogram) All() iter.Seq2[time.Duration, uint64] {
	return func(yield func(time.Duration, uint64) bool) {
		for i, n := range h.counts {
			d := unit
			if i += h.first; i > 0 {
				d = time.Duration(float64(unit) * math.Exp((float64(i)-0.5)*bucketGrowth))
			}
			// The duration that represents a bucket may exceed the counted durations.
			if n > 0 && !yield(min(max(d, h.shortest), h.longest), uint64(n)) {
				return
			}
		}
	}
}
