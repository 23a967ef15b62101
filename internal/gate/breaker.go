package gate

import "time"

// Settings of a [breaker].
const (
	breakAfter = 5  // failures in a row that open the breaker
	blockAfter = 20 // non-RDAP refusals in a row that open the breaker

	probeFirst    = time.Second
	probeSoon     = 4 * time.Second  // longest interval of probes during probeEager
	maxProbePause = 30 * time.Second // longest interval of probes after probeEager
	probeEager    = 50 * time.Second // time since the first failure with frequent probes

	// The caller limits the wait for a host that has sent a useful response. Other hosts
	// may be down permanently: graceUnseen limits the wait for them, and graceBlocked the
	// wait for hosts that only refuse.
	graceUnseen  = time.Minute
	graceBlocked = 10 * time.Second
)

// A breaker detects an outage: several failures in a row, without a useful response to a
// request that was sent after the first failure. A failure is 502, 503 or 504 without
// Retry-After, a refused or reset connection, a timeout, or an incomplete body. While the
// breaker is open, the queue of the host pauses and single requests probe the host at growing
// intervals. The first useful response closes the breaker. Inputs are rejected only if the
// outage lasts longer than the wait.
type breaker struct {
	alive    bool      // the host has sent a useful response
	failures int       // failures in a row
	walls    int       // non-RDAP refusals in a row
	first    time.Time // when the request of the first failure was sent
	since    time.Time // when the first failure was observed
	cause    error
	open     bool
	blocked  bool // walls opened the breaker, not failures
	sure     bool // a probe has failed
	probing  bool // a probe is in flight
	probeAt  time.Time
	pause    time.Duration
}

// allow decides whether to send a request. With Wait, at is the time to try again, at most the
// end of maxWait; zero means after the end of the probe in flight. A request allowed while the breaker is open is the
// probe.
func (b *breaker) allow(now time.Time, maxWait time.Duration) (g Verdict, at time.Time) {
	end := b.waitEnd(maxWait)
	switch {
	case !b.open:
		return Allow, time.Time{}
	case !b.probing && !now.Before(b.probeAt):
		return Allow, time.Time{}
	case b.sure && !now.Before(end):
		return RejectDead, time.Time{}
	case b.probing:
		return Wait, time.Time{}
	case end.Before(b.probeAt) && now.Before(end):
		return Wait, end
	default:
		return Wait, b.probeAt
	}
}

// mayComeBack reports whether the host may recover within maxWait.
func (b *breaker) mayComeBack(now time.Time, maxWait time.Duration) bool {
	return now.Before(b.waitEnd(maxWait))
}

// waitEnd returns when the wait for the host ends.
func (b *breaker) waitEnd(maxWait time.Duration) time.Time {
	switch {
	case b.alive:
	case b.blocked:
		maxWait = min(maxWait, graceBlocked)
	default:
		maxWait = min(maxWait, graceUnseen)
	}
	return b.since.Add(maxWait)
}

// sent records that a request is sent, and reports whether the request is a probe.
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

// useful records a useful response to a request that was sent at sent. A request that was sent
// before the first failure does not end the outage.
func (b *breaker) useful(sent time.Time, probe bool) {
	if (b.failures > 0 || b.walls > 0) && (probe || sent.After(b.first)) {
		*b = breaker{}
	}
	b.alive = true
}

// failed records a failure. It reports whether another failure preceded this one, and whether
// the breaker has opened.
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

// wall records a non-RDAP refusal, and reports whether the breaker has opened.
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
