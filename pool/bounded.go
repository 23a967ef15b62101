package pool

import (
	"context"
	"time"
)

// leaveAfter is how long a call may go on when the context that should have ended
// it has: one of ours, of a dependency, or of a function from Config.
const leaveAfter = 500 * time.Millisecond

// makeBounded is makeConn, which it leaves if that does not return when ctx ends,
// or in its own time.
func (p *Pool) makeBounded(ctx context.Context, key originKey, d *dial) (*conn, error) {
	type result struct {
		c   *conn
		err error
	}
	ctx, cancel := context.WithTimeout(ctx, p.cfg.ConnectTimeout)
	defer cancel()
	done := make(chan result, 1)
	go func() {
		c, err := p.makeConn(ctx, key, d)
		done <- result{c, err}
	}()
	select {
	case r := <-done:
		return r.c, r.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(leaveAfter)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.c, r.err
	case <-timer.C:
	}
	go func() {
		if r := <-done; r.c != nil {
			r.c.cc.Close()
		}
	}()
	step, ok := d.step.Load().(Step)
	if !ok {
		step = StepConnect
	}
	return nil, &Error{Step: step, Origin: key.String(), Err: context.Cause(ctx)}
}

// endsWithin waits for f, but not longer than that.
func endsWithin(limit time.Duration, f func()) { endsWithinSteps(limit, 1, f) }

// endsWithinSteps waits in steps, so that a process that gets no CPU time does not
// find all of the limit gone.
func endsWithinSteps(limit time.Duration, steps int, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	timer := time.NewTimer(limit / time.Duration(steps))
	defer timer.Stop()
	for range steps {
		select {
		case <-done:
			return
		case <-timer.C:
			timer.Reset(limit / time.Duration(steps))
		}
	}
}
