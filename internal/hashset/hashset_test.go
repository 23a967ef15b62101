package hashset

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestSet(t *testing.T) {
	const most = 5000
	var s Set
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[uint64]bool{}
	for i := range 20_000 {
		h := random.Uint64N(8000) + 1
		isNew, known := s.Add(h, most)
		switch {
		case known && isNew == seen[h]:
			t.Fatalf("step %d: new %v, seen %v", i, isNew, seen[h])
		case !known && (seen[h] || len(seen) < most):
			t.Fatalf("step %d: not known, seen %v of %d", i, seen[h], len(seen))
		}
		if known {
			seen[h] = true
		}
	}
	if s.n != most || len(s.slots) > 4*most {
		t.Errorf("%d in %d slots", s.n, len(s.slots))
	}
	if isNew, known := new(Set).Add(0, most); !isNew || !known {
		t.Error("0 is no hash")
	}
}

func TestSetMemory(t *testing.T) {
	var s Set
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		s.Add(random.Uint64(), math.MaxInt)
	}
	if each := float64(len(s.slots)*8) / float64(s.n); each > 22 {
		t.Errorf("%.1f bytes per hash", each)
	}
}
