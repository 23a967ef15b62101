package pool

import (
	"sync/atomic"
	"time"
)

// h3Watchdog is the wait of one request for its response.
type h3Watchdog struct {
	conn          *h3Conn
	earlyAttempt  bool // it is to go out as early data
	frames        *dataFrames
	idle          bool   // nothing else was under way, and the handshake was done
	packetsBefore uint64 // packets that had come when it was sent
	hasStream     atomic.Bool
	early         atomic.Bool // it was opened before the handshake was done
	timer         *time.Timer
	due           time.Time // when it runs out
	rechecked     bool      // a second look will do
}

// silenceTimeout is after how long a request on a connection that was idle makes one
// look whether anything was heard since. Every peer acknowledges in less and a
// few round trips.
const silenceTimeout = time.Second

// interval is how often one looks after a request that has no stream.
func (w *h3Watchdog) interval() time.Duration { return w.conn.dialer.cfg.DeadAfter / 3 }

func (w *h3Watchdog) start() {
	d := w.interval()
	if w.idle {
		stats := w.conn.quic.ConnectionStats()
		w.packetsBefore = stats.PacketsReceived
		d = max(min(silenceTimeout, d), 6*stats.SmoothedRTT)
	}
	w.timer = time.AfterFunc(time.Hour, w.check)
	w.checkIn(d) // which uses timer
}

func (w *h3Watchdog) checkIn(d time.Duration) {
	w.due = time.Now().Add(d)
	w.timer.Reset(d)
}

// streamOpened is called when the request has a stream.
func (w *h3Watchdog) streamOpened() {
	if !w.hasStream.Swap(true) {
		w.dequeue()
		select {
		case <-w.conn.quic.HandshakeComplete():
		default:
			w.early.Store(true)
		}
	}
}

func (w *h3Watchdog) dequeue() {
	w.conn.unopened.Add(-1)
	if w.earlyAttempt {
		w.conn.opening.Add(-1)
	}
}

func (w *h3Watchdog) stop() {
	w.timer.Stop()
	if !w.hasStream.Swap(true) {
		w.dequeue()
	}
	w.conn.active.Add(-1)
}

// check closes a connection that is of no use: its peer has gone without a word,
// or grants no more streams although it owes nothing on those that it granted.
func (w *h3Watchdog) check() {
	h := w.conn
	const tolerance = silenceTimeout / 10
	switch {
	case time.Since(w.due) > tolerance:
		// This process gets no time, so that much may lie unread.
		w.checkIn(silenceTimeout)
	case !w.hasStream.Load() && h.done.Load() && h.unopened.Load() >= h.active.Load():
		h.futile.Store(true)
		h.quic.CloseWithError(h3InternalError, "no stream is granted")
	case !w.hasStream.Load():
		w.checkIn(w.interval())
	case !w.idle || h.quic.ConnectionStats().PacketsReceived > w.packetsBefore:
	case !w.rechecked:
		w.rechecked = true
		w.checkIn(min(silenceTimeout, w.interval()) / 2)
	default:
		h.futile.Store(true)
		h.quic.CloseWithError(h3InternalError, "nothing is heard")
	}
}
