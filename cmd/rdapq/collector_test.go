package main

import "testing"

// The heap may grow to smallHeap, or to twice what is in use.
func TestPercentFor(t *testing.T) {
	before := rarely
	for live := uint64(1 << 20); live < 1<<30; live += 1 << 20 {
		percent := percentFor(live)
		if percent > before || percent < 50 {
			t.Errorf("%d%% for %d MiB after %d%%", percent, live>>20, before)
		}
		if goal := live * uint64(100+percent) / 100; goal > max(smallHeap, 2*live) {
			t.Errorf("%d MiB for %d", goal>>20, live>>20)
		}
		before = percent
	}
	if before != 50 {
		t.Errorf("%d%% of a gigabyte", before)
	}
}
