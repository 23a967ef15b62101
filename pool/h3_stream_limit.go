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

// defaultStreams is the assumed stream limit of a server until it is known (RFC 9114
// section 6.1 recommends at least 100).
const defaultStreams = 100

// qlogKey is the context key of the h3Conn during a dial.
type qlogKey struct{}

// traceConn returns a log that reads the server's transport parameters and the lengths of
// frames. quic-go reports both only in its log.
func traceConn(ctx context.Context, _ bool, _ quic.ConnectionID) qlogwriter.Trace {
	if h, ok := ctx.Value(qlogKey{}).(*h3Conn); ok {
		return &qlogTrace{conn: h, dial: ctx}
	}
	return nil
}

// A qlogTrace is the log of one QUIC connection. An h3Conn may try several.
type qlogTrace struct {
	conn    *h3Conn
	dial    context.Context // done when the dial has ended
	control atomic.Bool     // HTTP/3 will open its control stream before the handshake is done
}

// AddProducer returns a recorder for QUIC and HTTP/3.
func (t *qlogTrace) AddProducer() qlogwriter.Recorder { return qlogRecorder{t} }

type qlogRecorder struct{ trace *qlogTrace }

func (r qlogRecorder) RecordEvent(e qlogwriter.Event) {
	t := r.trace
	switch e := e.(type) {
	case qlog.ParametersRestored: // parameters from the session
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

// openWait limits how long the server's parameters wait for early streams that are
// being opened, which takes microseconds if the process gets CPU time.
const (
	openWait = time.Second
	openPoll = 100 * time.Microsecond
)

// endEarly ends the use of early data just before the server's parameters take effect. quic-go
// reads the parameters without a lock when it opens a stream
// (https://github.com/quic-go/quic-go/issues/4303). So from now on no early request may open a
// stream, nor HTTP/3 its control stream.
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
