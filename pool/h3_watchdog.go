package pool

import (
	"sync/atomic"
	"time"
)

// h3Wait is the wait of one request for its response.
type h3Wait struct {
	conn    *h3Conn
	attempt bool // it is to go out as early data
	frames  *h3Frames
	idle    bool   // nothing else was under way, and the handshake was done
	heard   uint64 // packets that had come when it was sent
	open    atomic.Bool
	early   atomic.Bool // it was opened before the handshake was done
	timer   *time.Timer
	due     time.Time // when it runs out
	sure    bool      // a second look will do
}

// quietTime is after how long a request on a connection that was idle makes one
// look whether anything was heard since. Every peer acknowledges in less and a
// few round trips.
const quietTime = time.Second

// again is how often one looks after a request that has no stream.
func (w *h3Wait) again() time.Duration { return w.conn.net.cfg.DeadAfter / 3 }

func (w *h3Wait) start() {
	d := w.again()
	if w.idle {
		stats := w.conn.quic.ConnectionStats()
		w.heard = stats.PacketsReceived
		d = max(min(quietTime, d), 6*stats.SmoothedRTT)
	}
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.lookIn(d) // which uses timer
}

func (w *h3Wait) lookIn(d time.Duration) {
	w.due = time.Now().Add(d)
	w.timer.Reset(d)
}

// opened is called when the request has a stream.
func (w *h3Wait) opened() {
	if !w.open.Swap(true) {
		w.gone()
		select {
		case <-w.conn.quic.HandshakeComplete():
		default:
			w.early.Store(true)
		}
	}
}

func (w *h3Wait) gone() {
	w.conn.unopened.Add(-1)
	if w.attempt {
		w.conn.opening.Add(-1)
	}
}

func (w *h3Wait) over() {
	w.timer.Stop()
	if !w.open.Swap(true) {
		w.gone()
	}
	w.conn.active.Add(-1)
}

// look closes a connection that is of no use: its peer has gone without a word,
// or grants no more streams although it owes nothing on those that it granted.
func (w *h3Wait) look() {
	h := w.conn
	const tolerance = quietTime / 10
	switch {
	case time.Since(w.due) > tolerance:
		// This process gets no time, so that much may lie unread.
		w.lookIn(quietTime)
	case !w.open.Load() && h.done.Load() && h.unopened.Load() >= h.active.Load():
		h.futile.Store(true)
		h.quic.CloseWithError(codeInternal, "no stream is granted")
	case !w.open.Load():
		w.lookIn(w.again())
	case !w.idle || h.quic.ConnectionStats().PacketsReceived > w.heard:
	case !w.sure:
		w.sure = true
		w.lookIn(min(quietTime, w.again()) / 2)
	default:
		h.futile.Store(true)
		h.quic.CloseWithError(codeInternal, "nothing is heard")
	}
}
