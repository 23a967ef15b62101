package pool

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	h3log "github.com/quic-go/quic-go/http3/qlog"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

// defaultStreams is the number of requests at once that a server is taken to
// allow before it is known (RFC 9114 section 6.1 asks for 100 at least).
const defaultStreams = 100

// qlogKey is what a connection is found by while it is made.
type qlogKey struct{}

// traceConn listens for the server's transport parameters and for the
// lengths of frames, which quic-go writes to its log alone.
func traceConn(ctx context.Context, _ bool, _ quic.ConnectionID) qlogwriter.Trace {
	if h, ok := ctx.Value(qlogKey{}).(*h3Conn); ok {
		return &qlogTrace{conn: h, dial: ctx}
	}
	return nil
}

// A qlogTrace is the log of one connection. Several may be tried for an
// h3Conn.
type qlogTrace struct {
	conn    *h3Conn
	dial    context.Context // done when the dial is
	control atomic.Bool     // HTTP/3 is about to open its control stream early
}

// AddProducer serves QUIC and HTTP/3.
func (t *qlogTrace) AddProducer() qlogwriter.Recorder { return qlogRecorder{t} }

type qlogRecorder struct{ trace *qlogTrace }

func (r qlogRecorder) RecordEvent(e qlogwriter.Event) {
	t := r.trace
	switch e := e.(type) {
	case qlog.ParametersRestored: // those of the session
		t.conn.limit.Store(e.InitialMaxStreamsBidi)
		t.control.Store(true)
	case h3log.StreamTypeSet:
		if e.Initiator == h3log.InitiatorLocal {
			t.control.Store(false)
		}
	case h3log.FrameCreated:
		t.conn.wrote(e)
	case h3log.FrameParsed:
		t.conn.parsed(e)
	case qlog.ParametersSet:
		if e.Initiator == qlog.InitiatorRemote {
			t.conn.limit.Store(e.InitialMaxStreamsBidi)
			t.conn.endEarly(t)
		}
	}
}

func (qlogRecorder) Close() error { return nil }

// openWait bounds how long the server's parameters wait for streams that are
// just being opened early, which takes microseconds if this process gets time.
const (
	openWait = time.Second
	openPoll = 100 * time.Microsecond
)

// endEarly is called just before the server's parameters come into force.
// quic-go reads them unguarded when it opens a stream
// (https://github.com/quic-go/quic-go/issues/4303), so no early request may
// open one from now on, nor HTTP/3 its control stream.
func (h *h3Conn) endEarly(t *qlogTrace) {
	h.mu.Lock()
	h.earlyClosed = true
	h.mu.Unlock()
	for end := time.Now().Add(openWait); h.opening.Load() > 0 || t.control.Load(); time.Sleep(openPoll) {
		if time.Now().After(end) || t.dial.Err() != nil && !h.dialWon.Load() {
			return
		}
	}
}
