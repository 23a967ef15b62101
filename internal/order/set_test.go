package order

import (
	"math/rand/v2"
	"testing"
)

func TestSet(t *testing.T) {
	var s Set
	want := make(map[int64]bool)
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		line := r.Int64N(3 * pageBits)
		if r.IntN(3) == 0 {
			if got := s.Remove(line); got != want[line] {
				t.Fatalf("Remove(%d) = %v", line, got)
			}
			delete(want, line)
			continue
		}
		if got := s.Add(line); got == want[line] {
			t.Fatalf("Add(%d) = %v", line, got)
		}
		want[line] = true
	}
	if s.Len() != int64(len(want)) {
		t.Errorf("%d lines, want %d", s.Len(), len(want))
	}
	n := 0
	for line := int64(0); ; line++ {
		var ok bool
		if line, ok = s.Next(line, 3*pageBits); !ok {
			break
		}
		if n++; !want[line] || !s.Has(line) {
			t.Fatalf("%d is in it", line)
		}
	}
	if n != len(want) {
		t.Errorf("Next finds %d lines, want %d", n, len(want))
	}
	if s.Add(-1) || s.Has(-1) || s.Remove(-1) {
		t.Error("-1 can be in it")
	}
	if line, ok := s.Next(0, -1); ok {
		t.Errorf("%d is from 0 to -1", line)
	}
}

// TestSetWhole checks that complete ranges take no memory, and that lines can be
// removed from them.
func TestSetWhole(t *testing.T) {
	var s Set
	for line := range int64(2*pageBits + 10) {
		s.Add(line)
	}
	for i, p := range s.pages {
		if full := i < 2; full != (p.words == nil) {
			t.Errorf("page %d: all: %v", i, p.words == nil)
		}
	}
	if line, ok := s.Next(pageBits+7, 1<<40); !ok || line != pageBits+7 {
		t.Error(line, ok)
	}
	if s.Remove(pageBits + 7); s.Has(pageBits+7) || !s.Has(pageBits+8) || s.Len() != 2*pageBits+9 {
		t.Error("one line taken out of a whole page")
	}
	if line, ok := s.Next(2*pageBits+10, 1<<40); ok {
		t.Error("found", line)
	}
}

// Ten million lines with gaps fit into less than two megabytes.
func TestSetMemory(t *testing.T) {
	var s Set
	for line := int64(0); line < 10_000_000; line += 3 {
		s.Add(line)
	}
	bytes := 0
	for _, p := range s.pages {
		if p.words != nil {
			bytes += len(p.words) * 8
		}
	}
	if bytes > 2<<20 {
		t.Errorf("%d bytes", bytes)
	}
}
