package pool

import (
	"context"
	"errors"
	"slices"
	"time"
)

// A h3Race is between HTTP/3 and TCP. It ends when one of them can be relied
// on. Its fields are guarded by the origin's mutex.
type h3Race struct {
	dial  *dial       // over QUIC; nil once it has returned
	conn  *conn       // what it returned, if its handshake is not done
	tcp   *dial       // beside it; nil: not begun, or failed
	timer *time.Timer // the head start
	due   bool        // the head start is over and TCP was not dialed yet
	over  bool

	refused bool // TCP failed, and HTTP/3 has a last moment
}

// lastMoment is how long HTTP/3 is waited for after TCP has failed beside it.
const lastMoment = time.Second

// waitsForH3Locked reports whether the queue is left to a dial over QUIC that
// has its head start.
func (o *origin) waitsForH3Locked() bool {
	r := o.race
	if r == nil || r.dial == nil {
		return false
	}
	if o.depthLocked() > depthForH3 {
		// More than HTTP/3 is good for. It has not failed, only lost its point.
		d := r.dial
		o.endRaceLocked(false)
		o.forgetDialLocked(d)
		return false
	}
	if r.due || o.doubtsH3Locked() && !r.refused {
		o.dialBesideLocked(r)
	}
	return true
}

// startRaceLocked dials over QUIC if that is the first thing to try.
func (o *origin) startRaceLocked() bool {
	route := o.offeredRouteLocked()
	if route == nil {
		return false
	}
	r := &h3Race{}
	o.race = r
	r.dial = o.startDialLocked(route, func() { o.startHeadStart(r) })
	return true
}

// startHeadStart is called when the first packet goes out.
func (o *origin) startHeadStart(r *h3Race) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.over || r.timer != nil {
		return
	}
	d := o.p.cfg.HeadStart
	if d <= 0 {
		d = min(max(headStart, o.rtt*3/2), maxHeadStart)
	}
	r.timer = time.AfterFunc(d, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if r.over || o.closed {
			return
		}
		r.due = true
		if len(o.queue) > 0 || r.conn != nil && r.conn.inflight > 0 {
			o.dialBesideLocked(r)
		}
	})
}

func (o *origin) dialBesideLocked(r *h3Race) {
	r.due = false
	if r.tcp == nil {
		r.tcp = o.startDialLocked(nil, nil)
	}
}

// forgetDialLocked gives up a dial.
func (o *origin) forgetDialLocked(d *dial) {
	d.cancel()
	o.dials = slices.DeleteFunc(o.dials, func(x *dial) bool { return x == d })
}

// endRaceLocked ends the race. Where HTTP/3 won, TCP is given up.
func (o *origin) endRaceLocked(won bool) {
	r := o.race
	o.race, r.over = nil, true
	if r.timer != nil {
		r.timer.Stop()
	}
	if !won {
		return
	}
	if r.tcp != nil {
		o.forgetDialLocked(r.tcp)
	}
}

// refusedLocked is for TCP that failed for good beside HTTP/3, which got no response
// in its head start either: where the server is away, that is the error.
func (o *origin) refusedLocked(r *h3Race, err error) {
	r.refused = true
	o.dialFailed(err)
	time.AfterFunc(lastMoment, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if r.over || o.closed {
			return
		}
		o.endRaceLocked(false)
		o.doubtH3Locked(errH3Lost)
		if r.dial != nil {
			o.forgetDialLocked(r.dial)
		}
		if r.conn != nil {
			o.remove(r.conn, ClosedError)
		}
		if len(o.dials) == 0 && len(o.conns) == 0 {
			o.failQueueLocked(err)
		}
		o.dispatchLocked()
	})
}

// failQueueLocked fails all that wait.
func (o *origin) failQueueLocked(err error) {
	for _, w := range o.queue {
		w.grant <- grant{err: err}
	}
	clear(o.queue)
	o.queue = o.queue[:0]
}

// blockH3Locked leaves HTTP/3 alone for a while.
func (o *origin) blockH3Locked(why error) {
	o.p.facts.Update(o.key.String(), func(f *Facts) { f.blockQUIC(time.Now()) })
	o.debug("HTTP/3 is left alone for a while", "error", why)
}

// racedLocked is told how a dial ended that may have been part of a race. It
// reports whether nothing else need be done about it.
func (o *origin) racedLocked(d *dial, c *conn, err error) bool {
	r := o.race
	switch {
	case r == nil, d != r.dial && d != r.tcp:
		if h, ok := carrierH3(c); ok && !h.proven() && !o.p.onlyH3 {
			go c.cc.Close() // it was given up: nothing stands beside it
			o.dispatchLocked()
			return true
		}
		return false
	case d == r.dial && err != nil:
		o.endRaceLocked(false)
		if errors.Is(err, context.Canceled) || o.closed {
			return false
		}
		// TCP, if it isn't dialed already, is what remains.
		o.forgetElsewhereLocked(d.h3)
		o.doubtH3Locked(err)
		o.dialFailed(err)
		o.dispatchLocked()
		return true
	case d == r.dial:
		r.dial = nil
		if h, ok := carrierH3(c); ok && !h.proven() {
			r.conn = c
			return false
		}
		o.endRaceLocked(true)
	case err != nil:
		r.tcp = nil // what remains is HTTP/3
		switch canceled := errors.Is(err, context.Canceled); {
		case o.closed:
		case !canceled:
			o.refusedLocked(r, err)
			return true
		case r.conn != nil && r.conn.inflight > 0:
			o.dialBesideLocked(r)
		}
	default:
		// Several round trips and a head start were not enough for HTTP/3.
		o.endRaceLocked(false)
		o.doubtH3Locked(errH3Lost)
		if r.dial != nil {
			o.forgetElsewhereLocked(r.dial.h3)
			o.forgetDialLocked(r.dial)
		}
		if r.conn != nil {
			o.remove(r.conn, ClosedError) // its requests go again
		}
	}
	return false
}

func carrierH3(c *conn) (h3Carrier, bool) {
	if c == nil {
		return nil, false
	}
	h, ok := c.cc.(h3Carrier)
	return h, ok
}
