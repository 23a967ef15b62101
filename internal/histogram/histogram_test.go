package histogram

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestQuantiles(t *testing.T) {
	var h Histogram
	if h.Quantile(.5) != 0 || h.Count() != 0 {
		t.Error("an empty one has quantiles")
	}
	for i := range 1000 {
		h.Add(time.Duration(i+1) * time.Millisecond)
	}
	for q, want := range map[float64]time.Duration{0: 1, .5: 500, .95: 950, .99: 990, 1: 1000} {
		want *= time.Millisecond
		if got := h.Quantile(q); got < want*99/100 || got > want*101/100 {
			t.Errorf("%g: %v, want %v", q, got, want)
		}
	}
	var bounds Histogram
	bounds.Add(0)
	bounds.Add(1000 * time.Hour)
	if got := bounds.Quantile(.5); got != unit {
		t.Errorf("the shortest: %v", got)
	}
	if got := bounds.Quantile(1); got < 10*time.Hour {
		t.Errorf("the longest: %v", got)
	}
	if n := len(bounds.counts); n > maxBuckets {
		t.Errorf("%d buckets, want at most %d", n, maxBuckets)
	}
}

// TestQuantilesWithinBounds checks that no quantile exceeds the longest duration, which
// may be known exactly.
func TestQuantilesWithinBounds(t *testing.T) {
	for _, d := range []time.Duration{0, 30 * time.Microsecond, 275 * time.Millisecond, 276 * time.Millisecond, 277 * time.Millisecond, 1000 * time.Hour} {
		var one, two, sum Histogram
		one.Add(d)
		two.Add(d + time.Microsecond)
		sum.Merge(&one)
		sum.Merge(&two)
		sum.Merge(new(Histogram))
		for _, q := range []float64{0, .5, .95, 1} {
			if got := one.Quantile(q); got != d {
				t.Errorf("%v alone: quantile %g is %v", d, q, got)
			}
			if got := sum.Quantile(q); got < d || got > d+time.Microsecond {
				t.Errorf("%v and a microsecond more: quantile %g is %v", d, q, got)
			}
		}
	}
}

func TestMerge(t *testing.T) {
	var a, b Histogram
	a.Add(time.Millisecond)
	b.Add(time.Millisecond)
	b.Add(time.Second)
	a.Merge(&b)
	var counts []uint64
	for _, n := range a.All() {
		counts = append(counts, n)
	}
	if a.Count() != 3 || len(counts) != 2 || counts[0] != 2 || counts[1] != 1 {
		t.Errorf("%d in buckets of %v", a.Count(), counts)
	}
}

func TestRandomQuantiles(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var h Histogram
	var all []time.Duration
	for range 10_000 {
		d := time.Duration(math.Exp(rnd.Float64()*12) * float64(time.Millisecond) / 5)
		all = append(all, d)
		h.Add(d)
	}
	slices.Sort(all)
	for _, q := range []float64{.01, .5, .95, .99, 1} {
		want := all[int(math.Ceil(q*float64(len(all))))-1]
		got := h.Quantile(q)
		if diff := math.Abs(float64(got-want)) / float64(want); diff > .011 {
			t.Errorf("quantile %v is %v, want %v: %.1f %% off", q, got, want, diff*100)
		}
	}
	var short Histogram
	short.Add(0)
	short.Add(-time.Second)
	if got := short.Quantile(.5); got != 0 {
		t.Errorf("got %v, want 0", got)
	}
}

// TestBucketsAllocated checks that buckets are allocated only for the counted durations, in any
// order.
func TestBucketsAllocated(t *testing.T) {
	var h, o Histogram
	h.Add(time.Second)
	if cap(h.counts) > 8 {
		t.Errorf("room for %d buckets after one duration", cap(h.counts))
	}
	h.Add(2 * time.Second)
	h.Add(0)
	o.Add(time.Minute)
	o.Add(time.Millisecond)
	o.Merge(&h)
	o.Merge(&Histogram{})
	var got []time.Duration
	for d, n := range o.All() {
		if n != 1 {
			t.Errorf("%d of %v", n, d)
		}
		got = append(got, d)
	}
	for i, want := range []time.Duration{unit, time.Millisecond, time.Second, 2 * time.Second, time.Minute} {
		if i >= len(got) || got[i] != want && (got[i] < want*99/100 || got[i] > want*101/100) {
			t.Fatalf("got %v", got)
		}
	}
}
