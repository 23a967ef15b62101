package pool

import (
	"sync/atomic"
	"time"
)

// An h3Watchdog watches the wait of one request for its response.
type h3Watchdog struct {
	conn          *h3Conn
	earlyAttempt  bool // the request should be sent as early data
	frames        *dataFrames
	idle          bool   // no other request was in flight, and the handshake was done
	packetsBefore uint64 // packets received before the request
	hasStream     atomic.Bool
	early         atomic.Bool // the request got a stream before the handshake was done
	timer         *time.Timer
	due           time.Time // when the timer fires
	rechecked     bool      // the check was repeated
}

// silenceTimeout is the time from a request on an idle connection to the check whether packets
// have come. Peers acknowledge within a few round trips.
const silenceTimeout = time.Second

// interval returns the time between checks of a request without a stream.
func (w *h3Watchdog) interval() time.Duration { return w.conn.dialer.cfg.DeadAfter / 3 }

func (w *h3Watchdog) start() {
	d := w.interval()
	if w.idle {
		stats := w.conn.quic.ConnectionStats()
		w.packetsBefore = stats.PacketsReceived
		d = max(min(silenceTimeout, d), 6*stats.SmoothedRTT)
	}
	w.timer = time.AfterFunc(time.Hour, w.check)
	w.checkIn(d) // checkIn reads timer
}

func (w *h3Watchdog) checkIn(d time.Duration) {
	w.due = time.Now().Add(d)
	w.timer.Reset(d)
}

// streamOpened records that the request has a stream.
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

// check closes a connection whose peer has disappeared, or which grants no streams although
// none is in use.
func (w *h3Watchdog) check() {
	h := w.conn
	const tolerance = silenceTimeout / 10
	switch {
	case time.Since(w.due) > tolerance:
		// The process got no CPU time; unread packets may be waiting.
		w.checkIn(silenceTimeout)
	case !w.hasStream.Load() && h.done.Load() && h.unopened.Load() >= h.active.Load():
		h.futile.Store(true)
		h.quic.CloseWithError(h3InternalError, "no stream granted")
	case !w.hasStream.Load():
		w.checkIn(w.interval())
	case !w.idle || h.quic.ConnectionStats().PacketsReceived > w.packetsBefore:
	case !w.rechecked:
		w.rechecked = true
		w.checkIn(min(silenceTimeout, w.interval()) / 2)
	default:
		h.futile.Store(true)
		h.quic.CloseWithError(h3InternalError, "no packets received")
	}
}
