package client

import (
	"context"
	"net/http/httptrace"
	"sync"
	"time"
)

// A clock bounds one attempt by the time that the server has for it: from the
// moment when the request has its connection or stream to the end of the body,
// redirects included. It stands still while the request waits for a connection or
// a stream, or its body for room in memory, and is told about that by the hooks
// of net/http/httptrace. Of a transport that calls none it counts all the time.
//
// A clock is safe for concurrent use: hooks may come late. A nil clock bounds
// nothing.
type clock struct {
	limit  time.Duration
	wait   time.Duration // bound of the wait for a connection; negative: the transport has its own
	cancel context.CancelCauseFunc
	hooks  httptrace.ClientTrace // of the attempt's requests

	mu    sync.Mutex
	state clockState
	used  time.Duration // of limit, up to since
	since time.Time     // when state was entered
	timer *time.Timer   // nil until it is needed
}

type clockState int

const (
	clockPaused  clockState = iota // for a connection, or for room: nothing counts
	clockHasConn                   // it has a connection, maybe no stream yet
	clockRunning                   // the server has the request
	clockEnded
)

// streamSlack is how late a stream may come before it counts that it came late:
// nearly always it comes in the same moment as the connection.
const streamSlack = 5 * time.Millisecond

// outOfTime is the cause of the end of an attempt that took too long.
type attemptTimeout struct{}

func (attemptTimeout) Error() string   { return "the attempt took too long" }
func (attemptTimeout) Timeout() bool   { return true }
func (attemptTimeout) Temporary() bool { return true }
func (attemptTimeout) Is(target error) bool {
	return target == context.DeadlineExceeded
}

// newClock returns a clock that calls cancel when limit has passed. It runs at
// once if the transport is not known to call the hooks.
func newClock(limit, wait time.Duration, hooked bool, cancel context.CancelCauseFunc) *clock {
	k := &clock{limit: limit, wait: wait, cancel: cancel, since: time.Now()}
	if !hooked {
		k.enter(clockRunning)
	}
	return k
}

// follow has the hooks report to the clock how far a request is, and call first for
// the first byte of the response. One set of hooks for both costs less than two.
func (k *clock) withTrace(ctx context.Context, first func()) context.Context {
	if k.hooks.GetConn == nil {
		k.hooks = httptrace.ClientTrace{
			GetConn: k.getConn, GotConn: k.gotConn, WroteHeaders: k.wroteHeaders, GotFirstResponseByte: first,
		}
	}
	hooks := &k.hooks
	if httptrace.ContextClientTrace(ctx) != nil {
		added := k.hooks // WithClientTrace puts those of ctx into it
		hooks = &added
	}
	return httptrace.WithClientTrace(ctx, hooks)
}

func (k *clock) getConn(string)                { k.enter(clockPaused) }
func (k *clock) gotConn(httptrace.GotConnInfo) { k.enter(clockHasConn) }
func (k *clock) wroteHeaders()                 { k.enter(clockRunning) }

// enter notes that the attempt is in another state.
func (k *clock) enter(s clockState) {
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
		k.since = now.Add(-passed) // the timer has been set for that
	default:
		// A connection that gives no stream in the time of an attempt is of no use.
		k.set(max(k.limit-k.used, 0))
	}
}

// set makes the timer go off after d; a negative d stops it.
func (k *clock) set(d time.Duration) {
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

// fire ends the attempt if its time is up. A timer that was set anew meanwhile
// goes off again.
func (k *clock) fire() {
	if k.up() {
		k.cancel(attemptTimeout{})
	}
}

func (k *clock) up() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	bound := k.limit - k.used
	switch k.state {
	case clockEnded:
		return false
	case clockPaused:
		if bound = k.wait; bound < 0 {
			return false
		}
	}
	if left := bound - time.Since(k.since); left > 0 {
		k.set(left)
		return false
	}
	if k.state != clockPaused {
		k.used = k.limit
	}
	k.state = clockEnded
	return true
}

// pause stops the clock until resume.
func (k *clock) pause() {
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

func (k *clock) resume() { k.enter(clockRunning) }

// stop ends the clock; nothing fires afterwards.
func (k *clock) stop() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.state = clockEnded
	k.set(-1)
}

// spent is the time that has counted so far, or that was spent on waiting if
// nothing else was.
func (k *clock) spent() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.used > 0 {
		return min(k.used, k.limit)
	}
	return time.Since(k.since)
}

// expired reports whether the clock has ended the attempt.
func (k *clock) expired() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state == clockEnded
}
