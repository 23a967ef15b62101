package pool

import (
	"slices"
	"time"
)

// A stallError is the cause of an [Error] where the server keeps connections open
// and takes no request on them.
type stallError struct{}

func (stallError) Error() string {
	return "the server takes no request on the connections that it keeps open"
}
func (stallError) Timeout() bool { return true }

var errStalled error = stallError{}

// watchQueueLocked bounds the wait of requests that nothing is going to end: no
// other request is in flight whose end would make room, and no connection is being
// made. A server may allow no stream for a moment. One that allows none for
// Config.ConnectTimeout has no working connection, so those it has are closed.
func (o *origin) watchQueueLocked() {
	if !o.stalledLocked() {
		o.stalledSince = time.Time{}
		return
	}
	if !o.stalledSince.IsZero() {
		return
	}
	since := time.Now()
	o.stalledSince = since
	time.AfterFunc(o.p.cfg.ConnectTimeout, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if !o.stalledSince.Equal(since) || !o.stalledLocked() || o.closed {
			return
		}
		o.stalledSince = time.Time{}
		err := &Error{Step: StepQueue, Origin: o.key.String(), Err: errStalled}
		for _, w := range o.queue {
			w.grant <- grant{err: err}
		}
		clear(o.queue)
		o.queue = o.queue[:0]
		for _, c := range slices.Clone(o.conns) {
			o.remove(c, ClosedError)
		}
	})
}

func (o *origin) stalledLocked() bool {
	if len(o.queue) == 0 || len(o.conns) == 0 || len(o.dials) > 0 || o.race != nil {
		return false
	}
	for _, c := range o.conns {
		if c.inflight > 0 {
			return false
		}
	}
	return true
}
