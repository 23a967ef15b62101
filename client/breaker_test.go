package client

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestBreaker(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	refused := &Error{Code: CodeRefused, Message: "it refused the connection", Err: errors.New("refused")}
	var b breaker
	want := func(step string, g grant, wait time.Duration) {
		t.Helper()
		got, at := b.allow(now, 0)
		if got != g || g == later && wait > 0 && !at.Equal(now.Add(wait)) || g == later && wait == 0 && !at.IsZero() {
			t.Errorf("%s: %v at %v, want %v after %v", step, got, at, g, wait)
		}
	}
	for range breakAfter - 1 {
		b.failed(now, b.sent(), refused)
	}
	want("four failures", granted, 0)
	b.answered()
	b.alive = false // else it would be waited for
	for range breakAfter - 1 {
		b.failed(now, b.sent(), refused)
	}
	want("four more after an answer", granted, 0)
	b.failed(now, b.sent(), refused)
	want("five in a row", later, probeFirst)
	b.failed(now, false, refused) // one that was under way
	want("one more", later, probeFirst)
	now = now.Add(probeFirst)
	want("after a moment", granted, 0)
	probe := b.sent()
	if !probe || b.sent() {
		t.Error("there is one probe")
	}
	want("while a probe is under way", later, 0)
	b.forget(true) // the caller gave it up
	want("a probe that came to nothing", granted, 0)
	b.failed(now, b.sent(), refused)
	want("the probe has failed", givenUpDead, 0)
	wait := 2 * probeFirst
	for range 10 {
		now = now.Add(wait - time.Nanosecond)
		want("not yet", givenUpDead, 0)
		now = now.Add(time.Nanosecond)
		want("the next probe", granted, 0)
		if probe := b.sent(); !probe {
			t.Error("no probe")
		}
		want("others meanwhile", givenUpDead, 0)
		b.failed(now, true, refused)
		wait = min(2*wait, probeMost)
	}
	e := b.refusal("rdap.example")
	if e.Code != CodeRefused || !strings.HasPrefix(e.Message, "not asked: rdap.example failed 17 times in a row") ||
		!strings.Contains(e.Message, "refused the connection") || !errors.Is(e, refused.Err) {
		t.Errorf("%+v", e)
	}
	now = now.Add(probeMost)
	b.sent()
	b.answered()
	want("it is back", granted, 0)
	if b.dead || b.failures != 0 {
		t.Errorf("%+v", b)
	}
}

// A server that has answered before gets the time to start again.
func TestBreakerWaitsForRestart(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	var b breaker
	b.answered()
	now := start
	for range breakAfter {
		b.failed(now, b.sent(), &Error{Code: CodeRefused})
	}
	probes := 0
	for ; now.Before(start.Add(comeBack)); now = now.Add(100 * time.Millisecond) {
		switch g, _ := b.allow(now, time.Minute); g {
		case granted:
			probes++
			b.failed(now, b.sent(), &Error{Code: CodeRefused})
		case givenUpDead:
			t.Fatalf("given up after %v and %d probes", now.Sub(start), probes)
		}
		// Who has less patience, or another server to go to, does not wait.
		if g, _ := b.allow(now, 0); probes > 0 && g == later {
			t.Fatal("somebody without patience waits")
		}
	}
	if most := int(comeBack / probeSoon); probes < most || probes > most+3 {
		t.Errorf("%d probes", probes)
	}
	if g, _ := b.allow(now, time.Minute); g != givenUpDead {
		t.Errorf("after %v: %v", now.Sub(start), g)
	}
	b.answered()
	if g, _ := b.allow(now, time.Minute); g != granted || !b.alive {
		t.Errorf("back: %v, %+v", g, b)
	}
}
