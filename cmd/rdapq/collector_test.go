package main

import "testing"

// The limit is at least smallMemory. It is other plus twice live, or other plus nine eighths of
// live for a large live. The limit never decreases as memory use grows.
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
