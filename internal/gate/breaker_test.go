package gate

import (
	"errors"
	"testing"
	"time"
)

func TestBreaker(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	refused := errors.New("it refused the connection")
	var b breaker
	want := func(step string, g Verdict, wait time.Duration) {
		t.Helper()
		got, at := b.allow(now, 0)
		if got != g || g == Wait && wait > 0 && !at.Equal(now.Add(wait)) || g == Wait && wait == 0 && !at.IsZero() {
			t.Errorf("%s: %v at %v, want %v after %v", step, got, at, g, wait)
		}
	}
	fail := func(probe bool) (repeated, opened bool) { return b.failed(now, now, probe, refused) }
	if repeated, _ := fail(b.sent()); repeated {
		t.Error("the first failure is repeated")
	}
	for range breakAfter - 2 {
		if repeated, opened := fail(b.sent()); !repeated || opened {
			t.Error("not repeated, or opened too early")
		}
	}
	want("four failures", Allow, 0)
	b.useful(now, false)
	if b.failures != breakAfter-1 {
		t.Errorf("%d failures after a response to a request sent before them", b.failures)
	}
	now = now.Add(time.Millisecond)
	b.useful(now, false)
	if b.failures != 0 || !b.alive {
		t.Errorf("after a useful response: %+v", b)
	}
	for range breakAfter - 1 {
		fail(b.sent())
	}
	want("four more after a useful response", Allow, 0)
	if _, opened := fail(b.sent()); !opened {
		t.Error("five in a row do not open it")
	}
	want("five in a row", Wait, probeFirst)
	fail(false) // records the failure of a request that was in flight
	want("one more", Wait, probeFirst)
	now = now.Add(probeFirst)
	want("after a moment", Allow, 0)
	if probe := b.sent(); !probe || b.sent() {
		t.Error("there is one probe")
	}
	want("while a probe is under way", Wait, 0)
	b.forget(true) // the caller canceled the probe
	want("a probe without a result", Allow, 0)
	fail(b.sent())
	want("the probe has failed", RejectDead, 0)
	for wait := probeFirst; now.Sub(b.since) < 10*time.Minute; {
		if wait += wait / 2; now.Sub(b.since) < probeEager {
			wait = min(wait, probeSoon)
		}
		wait = min(wait, maxProbePause)
		now = now.Add(wait - time.Nanosecond)
		want("not yet", RejectDead, 0)
		now = now.Add(time.Nanosecond)
		want("the next probe", Allow, 0)
		if !b.sent() {
			t.Error("no probe")
		}
		want("others meanwhile", RejectDead, 0)
		fail(true)
	}
	if !errors.Is(b.cause, refused) {
		t.Errorf("the cause is %v", b.cause)
	}
	now = now.Add(maxProbePause)
	b.useful(now, b.sent())
	want("it is back", Allow, 0)
	if b.open || b.failures != 0 || !b.alive {
		t.Errorf("%+v", b)
	}
}

// The caller's maxWait limits the wait for a server that has sent a useful response. The wait
// is at most a minute for a server that never has, and shorter for a server that only sends
// non-RDAP refusals.
func TestBreakerPatience(t *testing.T) {
	for _, tt := range []struct {
		alive, walls bool
		patience     time.Duration
		want         time.Duration
	}{
		{alive: true, patience: 10 * time.Minute, want: 10 * time.Minute},
		{alive: true, patience: 2 * time.Second, want: 2 * time.Second},
		{patience: 10 * time.Minute, want: graceUnseen},
		{walls: true, patience: 10 * time.Minute, want: graceBlocked},
		{walls: true, alive: true, patience: time.Minute, want: time.Minute},
	} {
		start := time.Unix(1_700_000_000, 0)
		var b breaker
		if tt.alive {
			b.useful(start, false)
		}
		fail := func(now time.Time, probe bool) {
			if tt.walls {
				b.wall(now, now, probe, errors.New("forbidden"))
			} else {
				b.failed(now, now, probe, errors.New("timeout"))
			}
		}
		n := breakAfter
		if tt.walls {
			n = blockAfter
		}
		for range n {
			fail(start, b.sent())
		}
		now, probes := start, 0
		for {
			g, at := b.allow(now, tt.patience)
			if g == RejectDead {
				break
			}
			if g == Allow {
				probes++
				fail(now, b.sent())
				continue
			}
			now = at // as a caller does
		}
		if got := now.Sub(start); got != tt.want {
			t.Errorf("%+v: given up after %v", tt, got)
		}
		if most := 15 + int(tt.want/maxProbePause); probes > most {
			t.Errorf("%+v: %d probes", tt, probes)
		}
	}
}
