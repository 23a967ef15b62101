// Package attemptclock limits the time that a server has for one attempt of a lookup.
package attemptclock

import (
	"context"
	"net/http/httptrace"
	"sync"
	"time"
)

// A Clock limits the time that the server has for one attempt: from when the request has its
// connection or stream to the end of the body, redirects included. It pauses while the request
// waits for a connection, a stream, or memory for the body. The hooks of net/http/httptrace
// control it. If the transport calls no hooks, the clock never pauses.
//
// A Clock is safe for concurrent use, because hooks may be called late. A nil Clock has no
// limit.
type Clock struct {
	limit  time.Duration
	wait   time.Duration // limit of the wait for a connection; negative if the transport has its own
	cancel context.CancelCauseFunc
	hooks  httptrace.ClientTrace // hooks of the attempt's requests

	mu    sync.Mutex
	state clockState
	used  time.Duration // time used of limit, up to since
	since time.Time     // when state was entered
	bound time.Duration // limit or wait, whichever ended the attempt; 0 if neither did
	timer *time.Timer   // nil until needed
}

type clockState int

const (
	clockPaused  clockState = iota // the attempt waits for a connection or for memory, and no time counts
	clockHasConn                   // the attempt has a connection, but maybe no stream yet
	clockRunning                   // the server has the request
	clockEnded
)

// streamSlack is the delay of a stream after its connection up to which the timer is not reset.
// Nearly always, both become available at the same moment.
const streamSlack = 5 * time.Millisecond

// attemptTimeout is the cause with which a clock cancels an attempt.
type attemptTimeout struct{}

func (attemptTimeout) Error() string   { return "the attempt took too long" }
func (attemptTimeout) Timeout() bool   { return true }
func (attemptTimeout) Temporary() bool { return true }
func (attemptTimeout) Is(target error) bool {
	return target == context.DeadlineExceeded
}

// Start makes k a clock that calls cancel after limit. The clock runs immediately unless the
// transport is known to call the hooks.
func (k *Clock) Start(now time.Time, limit, wait time.Duration, hooked bool, cancel context.CancelCauseFunc) {
	k.limit, k.wait, k.cancel, k.since = limit, wait, cancel, now
	if !hooked {
		k.enter(clockRunning)
	}
}

// WithTrace adds the hooks of the clock to ctx, and first as the hook of the first byte of the
// response. A single set of hooks costs less than two sets.
func (k *Clock) WithTrace(ctx context.Context, first func()) context.Context {
	if k.hooks.GetConn == nil {
		k.hooks = httptrace.ClientTrace{
			GetConn: k.getConn, GotConn: k.gotConn, WroteHeaders: k.wroteHeaders, GotFirstResponseByte: first,
		}
	}
	hooks := &k.hooks
	if httptrace.ContextClientTrace(ctx) != nil {
		added := k.hooks // WithClientTrace adds the hooks of ctx to added
		hooks = &added
	}
	return httptrace.WithClientTrace(ctx, hooks)
}

func (k *Clock) getConn(string)                { k.enter(clockPaused) }
func (k *Clock) gotConn(httptrace.GotConnInfo) { k.enter(clockHasConn) }
func (k *Clock) wroteHeaders()                 { k.enter(clockRunning) }

// enter records a new state of the attempt.
func (k *Clock) enter(s clockState) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state == clockEnded || k.state == s || k.state == clockRunning && s == clockHasConn {
		return
	}
	now := time.Now()
	before, passed := k.state, now.Sub(k.since)
	if before == clockRunning {
		k.used += passed
	}
	k.state, k.since = s, now
	switch {
	case s == clockPaused:
		k.set(k.wait)
	case before == clockHasConn && s == clockRunning && passed < streamSlack:
		k.since = now.Add(-passed) // the timer already includes passed
	default:
		// A connection that grants no stream within the time of an attempt is useless.
		k.set(max(k.limit-k.used, 0))
	}
}

// set sets the timer to d; a negative d stops it.
func (k *Clock) set(d time.Duration) {
	switch {
	case d < 0 && k.timer != nil:
		k.timer.Stop()
	case d < 0:
	case k.timer == nil:
		k.timer = time.AfterFunc(d, k.fire)
	default:
		k.timer.Reset(d)
	}
}

// fire cancels the attempt if its time is up. A timer that was reset in the meantime
// fires again.
func (k *Clock) fire() {
	if k.up() {
		k.cancel(attemptTimeout{})
	}
}

func (k *Clock) up() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	bound, used := k.limit, k.used
	switch k.state {
	case clockEnded:
		return false
	case clockPaused:
		if bound, used = k.wait, 0; bound < 0 {
			return false
		}
	}
	if left := bound - used - time.Since(k.since); left > 0 {
		k.set(left)
		return false
	}
	k.state, k.bound = clockEnded, bound
	return true
}

// Pause stops the clock until resume.
func (k *Clock) Pause() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state == clockRunning {
		k.used += time.Since(k.since)
		k.state, k.since = clockPaused, time.Now()
		k.set(-1)
	}
}

func (k *Clock) Resume() { k.enter(clockRunning) }

// Stop ends the clock; the timer does not fire afterwards.
func (k *Clock) Stop() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.state = clockEnded
	k.set(-1)
}

// Expired returns the limit that ended the attempt: that of the attempt or that of the wait. It
// returns 0 if the clock has not ended the attempt.
func (k *Clock) Expired() time.Duration {
	if k == nil {
		return 0
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bound
}
