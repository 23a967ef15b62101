package gate

import "time"

// Settings of a [breaker].
const (
	breakAfter = 5  // failures in a row that open it
	blockAfter = 20 // refusals in a row, without RDAP, that open it

	probeFirst    = time.Second
	probeSoon     = 4 * time.Second  // longest interval of probes at first
	maxProbePause = 30 * time.Second // longest interval of probes
	probeEager    = 50 * time.Second // how long probeSoon bounds the intervals

	// A server that gave a useful response before is waited for as long as the
	// caller has patience. One that never did may be gone for good: it gets
	// graceUnseen, and graceBlocked if all it does is refuse.
	graceUnseen  = time.Minute
	graceBlocked = 10 * time.Second
)

// breaker notices an outage: failures in a row, without a useful response to a
// request that was sent after the first of them. A failure is 502, 503 or 504
// without Retry-After, a refused or reset connection, silence, or a response whose
// body breaks off or does not end in time. While it is open, the server's queue pauses and single requests probe the server at
// growing intervals. The first useful response closes it. Inputs are given up
// only when the server stays away for longer than it is waited for.
type breaker struct {
	alive    bool      // there was a useful response
	failures int       // in a row
	walls    int       // refusals without RDAP in a row
	first    time.Time // when the first of them was sent
	since    time.Time // when it failed
	cause    error
	open     bool
	blocked  bool // by refusals without RDAP
	sure     bool // a probe has failed as well
	probing  bool // one is under way
	probeAt  time.Time
	pause    time.Duration
}

// allow reports whether a request may go to the server: it may not before at, or
// until the probe under way has ended if at is zero, or the input is to be given
// up. A request that may go to a server while the breaker is open is the probe.
func (b *breaker) allow(now time.Time, patience time.Duration) (g Verdict, at time.Time) {
	switch {
	case !b.open:
		return Allow, time.Time{}
	case !b.probing && !now.Before(b.probeAt):
		return Allow, time.Time{}
	case b.sure && !b.mayComeBack(now, patience):
		return RejectDead, time.Time{}
	case b.probing:
		return Wait, time.Time{}
	default:
		return Wait, b.probeAt
	}
}

// mayComeBack reports whether the server is still waited for.
func (b *breaker) mayComeBack(now time.Time, patience time.Duration) bool {
	switch {
	case b.alive:
	case b.blocked:
		patience = min(patience, graceBlocked)
	default:
		patience = min(patience, graceUnseen)
	}
	return now.Sub(b.since) < patience
}

// sent notes that a request goes out, and reports whether it is the probe.
func (b *breaker) sent() (probe bool) {
	if b.open && !b.probing {
		b.probing = true
		return true
	}
	return false
}

// forget ends a probe without a result.
func (b *breaker) forget(probe bool) {
	if probe {
		b.probing = false
	}
}

// useful notes a useful response to a request of the time sent. A response to a
// request that was sent before the first failure says nothing about the outage.
func (b *breaker) useful(sent time.Time, probe bool) {
	if (b.failures > 0 || b.walls > 0) && (probe || sent.After(b.first)) {
		*b = breaker{}
	}
	b.alive = true
}

// failed notes a failure. It reports whether it is not an isolated one, and
// whether it opened the breaker.
func (b *breaker) failed(sent, now time.Time, probe bool, cause error) (repeated, opened bool) {
	if b.failures++; b.failures == 1 {
		b.first, b.since = sent, now
	}
	b.cause = cause
	opened = b.note(now, probe, b.failures >= breakAfter)
	if opened {
		b.blocked = false
	}
	return b.failures > 1, opened
}

// wall notes a refusal that is not RDAP, and reports whether it opened the breaker.
func (b *breaker) wall(sent, now time.Time, probe bool, cause error) (opened bool) {
	if b.walls++; b.walls == 1 && b.failures == 0 {
		b.first, b.since = sent, now
	}
	b.cause = cause
	if opened = b.note(now, probe, b.walls >= blockAfter); opened {
		b.blocked = true
	}
	return opened
}

func (b *breaker) note(now time.Time, probe, enough bool) (opened bool) {
	switch {
	case probe:
		b.probing, b.sure = false, true
		b.pause += b.pause / 2
		if now.Sub(b.since) < probeEager {
			b.pause = min(b.pause, probeSoon)
		}
		b.pause = min(b.pause, maxProbePause)
		b.probeAt = now.Add(b.pause)
	case !b.open && enough:
		b.open, b.pause = true, probeFirst
		b.probeAt = now.Add(b.pause)
		return true
	}
	return false
}
