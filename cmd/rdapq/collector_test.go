package main

import "testing"

// Memory may grow to smallMemory, or to what is outside of the heap and twice what
// is live, or nine eighths of that where much is. The limit never falls as more
// is in use.
func TestLimitFor(t *testing.T) {
	for other := uint64(2 << 20); other < 100<<20; other *= 3 {
		before := uint64(smallMemory)
		for live := uint64(1 << 20); live < 1<<30; live += 1 << 20 {
			limit := limitFor(live, other)
			if limit < before {
				t.Errorf("%d MiB for %d after %d", limit>>20, live>>20, before>>20)
			}
			before = limit
			room := int64(limit-other) - int64(live)
			if limit > smallMemory && (room < int64(live/8) || room > int64(live)+2<<20) {
				t.Errorf("%d MiB of garbage beside %d MiB", room>>20, live>>20)
			}
		}
	}
}
