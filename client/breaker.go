package client

import (
	"strconv"
	"time"
)

// Settings of a [breaker].
const (
	breakAfter = 5 // failures in a row
	probeFirst = time.Second
	probeMost  = time.Minute

	// comeBack is how long a server that has answered before is waited for: it
	// takes that long to start again. probeSoon bounds the intervals meanwhile.
	comeBack  = 30 * time.Second
	probeSoon = 4 * time.Second
)

// breaker notices that a server is dead: that several requests in a row got no
// answer of any kind, and none in between did. One request then finds out, after
// a moment, whether it has come back. If not, all that waits for it is given up,
// and later inputs are too, but for one at growing intervals. A server that has
// answered before gets the time of a restart for it.
type breaker struct {
	alive    bool      // it has answered once
	failures int       // in a row
	since    time.Time // the first of them
	cause    *Error
	dead     bool
	sure     bool // a probe has failed as well
	probing  bool // one is under way
	probeAt  time.Time
	pause    time.Duration
}

// allow says whether a request may go to the server: it may not before at, or
// until the probe under way has ended if at is zero, or the input is to be given
// up. A request that may go to a dead server is the probe. Patience is how long
// a server that was alive is waited for.
func (b *breaker) allow(now time.Time, patience time.Duration) (g grant, at time.Time) {
	switch {
	case !b.dead:
		return granted, time.Time{}
	case !b.probing && !now.Before(b.probeAt):
		return granted, time.Time{}
	case b.sure && !b.mayComeBack(now, patience):
		return givenUpDead, time.Time{}
	case b.probing:
		return later, time.Time{}
	default:
		return later, b.probeAt
	}
}

// mayComeBack reports whether the server was alive, and has not been away for
// longer than it is waited for.
func (b *breaker) mayComeBack(now time.Time, patience time.Duration) bool {
	return b.alive && now.Sub(b.since) < min(patience, comeBack)
}

// sent notes that a request goes out, and reports whether it is the probe.
func (b *breaker) sent() (probe bool) {
	if b.dead && !b.probing {
		b.probing = true
		return true
	}
	return false
}

// forget ends a probe that came to nothing.
func (b *breaker) forget(probe bool) {
	if probe {
		b.probing = false
	}
}

// answered notes an answer, whatever it says.
func (b *breaker) answered() {
	if b.failures > 0 {
		*b = breaker{}
	}
	b.alive = true
}

// failed notes a request that got no answer.
func (b *breaker) failed(now time.Time, probe bool, cause *Error) {
	if b.failures++; b.failures == 1 {
		b.since = now
	}
	b.cause = cause
	switch {
	case probe:
		b.probing, b.sure = false, true
		if b.pause = min(2*b.pause, probeMost); b.mayComeBack(now, comeBack) {
			b.pause = min(b.pause, probeSoon)
		}
		b.probeAt = now.Add(b.pause)
	case !b.dead && b.failures >= breakAfter:
		b.dead, b.pause = true, probeFirst
		b.probeAt = now.Add(b.pause)
	}
}

// refusal is the error of an input that is not asked for.
func (b *breaker) refusal(server string) *Error {
	e := &Error{
		Code: CodeTransport, Server: server, Hint: "try again when the server is back",
		Message: "not asked: " + visible(server) + " failed " + strconv.Itoa(b.failures) + " times in a row",
	}
	if b.cause != nil {
		e.Code, e.Err = b.cause.Code, b.cause.Err
		e.Message += ", at last with: " + b.cause.Message
	}
	return e
}
