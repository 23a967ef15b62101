package gate

import (
	"testing"
	"time"
)

// drive completes n requests with a latency, with as many in flight as the limit permits.
func (a *adaptive) drive(now time.Time, n int, latency time.Duration) time.Time {
	for range n {
		sent := now
		now = now.Add(latency / time.Duration(a.limit()))
		a.answered(sent.Add(time.Nanosecond), now, latency, a.limit())
	}
	return now
}

func TestAdaptive(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var a adaptive
	a.start(8, 64)
	now = a.drive(now, GrowAfter-1, 20*time.Millisecond)
	if a.limit() != 8 {
		t.Errorf("while a small quota may show: %d", a.limit())
	}
	now = a.drive(now, 8, 20*time.Millisecond)
	if a.limit() != 8+GrowBy {
		t.Errorf("after a round: %d", a.limit())
	}
	now = a.drive(now, 10_000, 20*time.Millisecond)
	if a.limit() != 64 {
		t.Errorf("after many: %d", a.limit())
	}
	if !a.overloaded(now.Add(time.Nanosecond), now.Add(time.Second)) || a.limit() != 32 {
		t.Errorf("after a 503: %d", a.limit())
	}
	if a.overloaded(now.Add(time.Nanosecond), now.Add(time.Second)) || a.limit() != 32 {
		t.Errorf("after another that was on its way already: %d", a.limit())
	}
	now = a.drive(now.Add(2*time.Second), 32, 20*time.Millisecond)
	if a.limit() != 32+GrowBy {
		t.Errorf("a round after it: %d", a.limit())
	}
	a.restrain(now, 0)
	if a.limit() != 8 {
		t.Errorf("when a quota shows: %d", a.limit())
	}
	a.restrain(now, 0)
	now = a.drive(now.Add(time.Second), 8, 20*time.Millisecond)
	if a.limit() != 8+GrowBy {
		t.Errorf("a round after that: %d", a.limit())
	}
	// Requests that wait for something else do not affect the limit.
	for range 1000 {
		a.answered(now.Add(time.Nanosecond), now.Add(time.Second), 20*time.Millisecond, 3)
	}
	if a.limit() != 8+GrowBy {
		t.Errorf("without need: %d", a.limit())
	}
}

func TestAdaptiveSlow(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var a adaptive
	a.start(8, 64)
	now = a.drive(now, 2000, 20*time.Millisecond)
	before := a.limit()
	now = a.drive(now, 40, 400*time.Millisecond)
	if a.limit() > before/2 {
		t.Errorf("answers take 20 times as long: %d of %d", a.limit(), before)
	}
	now = a.drive(now, 100, 400*time.Millisecond)
	if a.limit() < gentleFloor {
		t.Errorf("slow answers alone: %d", a.limit())
	}
	// The limit adapts to a permanently higher latency.
	a.drive(now, 20_000, 400*time.Millisecond)
	if a.limit() != 64 {
		t.Errorf("long after: %d", a.limit())
	}
}

// A few fast responses do not make all other responses count as slow.
func TestAdaptiveLuck(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var a adaptive
	a.start(8, 64)
	for range 1000 {
		now = a.drive(now, 1, time.Millisecond)
		now = a.drive(now, 9, 90*time.Millisecond)
	}
	if a.limit() < 32 {
		t.Errorf("limit %d", a.limit())
	}
}
