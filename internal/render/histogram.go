package render

import (
	"math"
	"time"
)

// A histogram counts durations in buckets that grow by a fiftieth, from 0.1 ms
// on: quantiles are right within 1 % and memory is bounded however many are
// counted. The zero value is empty.
type histogram struct {
	counts []uint32 // up to the longest duration seen
	n      uint64
}

const (
	histogramUnit = 100 * time.Microsecond
	maxBuckets    = 1024 // the last holds all above some 17 hours
)

var bucketGrowth = math.Log(1.02)

func (h *histogram) add(d time.Duration) {
	i := 0
	if d > histogramUnit {
		i = min(int(math.Log(float64(d)/float64(histogramUnit))/bucketGrowth)+1, maxBuckets-1)
	}
	for len(h.counts) <= i {
		h.counts = append(h.counts, 0)
	}
	h.counts[i]++
	h.n++
}

// quantile returns the duration that the share q of those counted do not
// exceed; 0 when none were.
func (h *histogram) quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := uint64(math.Ceil(q * float64(h.n)))
	var seen uint64
	for i, c := range h.counts {
		seen += uint64(c)
		if seen >= max(rank, 1) {
			if i == 0 {
				return histogramUnit
			}
			return time.Duration(float64(histogramUnit) * math.Exp((float64(i)-0.5)*bucketGrowth))
		}
	}
	return 0
}
