package fifo

import (
	"slices"
	"testing"
)

func TestQueue(t *testing.T) {
	var q Queue[int]
	var want []int
	for i := range 10_000 {
		if i%3 == 2 {
			if got := q.Pop(); got != want[0] {
				t.Fatalf("step %d: %d, want %d", i, got, want[0])
			}
			want = want[1:]
		} else {
			q.Push(i)
			want = append(want, i)
		}
		if i%1000 == 999 {
			n := q.Len() / 2
			if got := q.CutTail(n); !slices.Equal(got, want[n:]) {
				t.Fatalf("step %d: tail %v, want %v", i, got, want[n:])
			}
			want = want[:n]
		}
		if q.Len() != len(want) {
			t.Fatalf("step %d: length %d, want %d", i, q.Len(), len(want))
		}
	}
	if cap(q.items) > 4096 {
		t.Errorf("capacity %d for at most 1000 values", cap(q.items))
	}
}
