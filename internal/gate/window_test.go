package gate

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rdapq/rdapq/limit"
)

// A client sends each request as soon as the window permits, and the server counts it at
// some time between sending and response.
func TestWindow(t *testing.T) {
	for _, rate := range []limit.Rate{{N: 1, Per: time.Second}, {N: 10, Per: 3 * time.Second}, {N: 100, Per: time.Minute}, {N: 1800, Per: 15 * time.Minute}, {N: 7, Per: 100 * time.Millisecond}} {
		random := rand.New(rand.NewPCG(1, uint64(rate.N)))
		var w window
		now := time.Unix(1_700_000_000, 0)
		type request struct{ answer time.Time }
		var flying []request
		var counted []time.Time
		begin := now
		for len(counted) < 5*rate.N+20 {
			if n, at := w.free(now, rate); n > 0 {
				took := time.Duration(random.Int64N(int64(rate.Per / 3)))
				counted = append(counted, now.Add(time.Duration(random.Float64()*float64(took))))
				flying = append(flying, request{now.Add(took)})
				w.inFlight++
			} else {
				// Advance to the next event.
				next := slices.IndexFunc(flying, func(r request) bool {
					return !slices.ContainsFunc(flying, func(o request) bool { return o.answer.Before(r.answer) })
				})
				if next >= 0 && (at.IsZero() || n > 0 || flying[next].answer.Before(at)) {
					if flying[next].answer.After(now) {
						now = flying[next].answer
					}
					w.answered(now)
					flying = slices.Delete(flying, next, next+1)
				} else {
					if !at.After(now) {
						t.Fatalf("%v: nothing is free, and will be at %v, now is %v", rate, at, now)
					}
					now = at
				}
			}
			if len(w.buckets) > 2*windowBuckets {
				t.Fatalf("%v: %d spans", rate, len(w.buckets))
			}
		}
		slices.SortFunc(counted, time.Time.Compare)
		for i := rate.N; i < len(counted); i++ {
			if span := counted[i].Sub(counted[i-rate.N]); span < rate.Per {
				t.Fatalf("%v: %d requests in %v", rate, rate.N+1, span)
			}
		}
		// The window does not hold back too much. At least half of the permitted requests are
		// sent, because responses take up to a third of the span.
		if most := 2 * rate.Per * time.Duration(len(counted)/rate.N+1); now.Sub(begin) > most {
			t.Errorf("%v: %d requests took %v", rate, len(counted), now.Sub(begin))
		}
	}
}

// A request that had to wait for its connection counts from its sending.
func TestWindowMove(t *testing.T) {
	w := window{resolution: 10 * time.Millisecond}
	granted, rate := time.Unix(1_700_000_000, 0), limit.Rate{N: 2, Per: time.Second}
	for range 2 {
		w.spend(granted)
	}
	w.move(granted, granted.Add(400*time.Millisecond))
	for after, want := range []int{0, 1, 2} {
		if n, _ := w.free(granted.Add(time.Duration(after)*700*time.Millisecond+400*time.Millisecond), rate); n != want {
			t.Errorf("%d free, want %d", n, want)
		}
	}
}
