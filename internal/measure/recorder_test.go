package measure

import (
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/pool"
)

func answered(elapsed time.Duration) *client.Result {
	return &client.Result{
		Verdict: client.VerdictRegistered, Attempts: 1, Status: 200, Elapsed: elapsed, Time: time.Now(),
		Conn: pool.Trace{ConnID: 1, Reused: true, Protocol: "h2", FirstByte: elapsed, Total: elapsed},
	}
}

// TestQuantiles checks that quantiles are exact for the size of a bench and accurate to 1% for
// more lookups.
func TestQuantiles(t *testing.T) {
	for _, n := range []int{1, 19, 20, 100, maxExact, maxExact + 1, 3 * maxExact} {
		a, b := NewRecorder(), NewRecorder()
		for i := range n {
			r := a
			if i%2 == 1 {
				r = b
			}
			r.Add(answered(time.Duration(n-i) * time.Millisecond))
		}
		a.merge(b)
		for q, want := range map[float64]int{.5: (n + 1) / 2, .95: (19*n + 19) / 20, 1: n} {
			got := a.quantile(q)
			exact := time.Duration(want) * time.Millisecond
			off := got - exact
			if n <= maxExact && off != 0 || off.Abs() > exact/90+time.Millisecond {
				t.Errorf("%d lookups: the quantile %g is %v, want %v", n, q, got, exact)
			}
		}
	}
	if got := NewRecorder().quantile(.5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// TestRecorder checks that lookups without a request are counted without a duration,
// and that memory does not grow with the number of lookups.
func TestRecorder(t *testing.T) {
	r := NewRecorder()
	r.Add(&client.Result{Verdict: client.VerdictInvalid})
	for range 2 * maxExact {
		r.Add(answered(time.Millisecond))
	}
	if r.unanswered != 1 || r.times.Count() != 2*maxExact || len(r.lines) != maxLines || len(r.exact) != maxExact {
		t.Errorf("%d unanswered, %d times, %d lines, %d exact", r.unanswered, r.times.Count(), len(r.lines), len(r.exact))
	}
	report := r.Report(8, pool.Stats{Requests: 2 * maxExact, Connections: 1}, nil, false, 0)
	m := report.Modes[0]
	if report.Kind != KindBatch || m.Unanswered != 1 || m.Lookup.P99 != 1 || m.RoundTrips.Counted != 1 || m.Requests.Median != 2*maxExact || report.RTT.Source != "unknown" {
		t.Errorf("%+v", report)
	}
	another := answered(time.Millisecond)
	if n := testing.AllocsPerRun(100, func() { r.Add(another) }); n != 0 {
		t.Errorf("%v allocations for one more", n)
	}
}
