package gate

import (
	"math"
	"time"
)

// rounds returns the duration of queries that each take took, atOnce at a time.
func rounds(queries int64, atOnce int, took time.Duration) time.Duration {
	n := int64(atOnce)
	return Saturate((queries+n-1)/n, took)
}

// TimeFor returns the duration of queries that each take took, if the requests in flight grow from
// start to limit as they do at a host.
func TimeFor(queries int64, start, limit int, took time.Duration) time.Duration {
	need := time.Duration(0)
	for n, done := start, 0; n < limit && queries > 0; done += n {
		if done >= GrowAfter {
			n = min(n+GrowBy, limit)
		}
		queries -= int64(n)
		need += took
	}
	return need + rounds(max(queries, 0), limit, took)
}

// Saturate returns n × d, and a very long time if that overflows.
func Saturate(n int64, d time.Duration) time.Duration {
	if d > 0 && n > int64(math.MaxInt64/2/d) {
		return math.MaxInt64 / 2
	}
	return time.Duration(n) * d
}
