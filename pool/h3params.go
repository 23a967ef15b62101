package pool

import (
	"context"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

// defaultStreams is the number of requests at once that a server is taken to
// allow before it is known (RFC 9114 section 6.1 asks for 100 at least).
const defaultStreams = 100

// tracedKey is what a connection is found by while it is made.
type tracedKey struct{}

// traceParameters listens for the server's transport parameters, which quic-go
// tells to its log alone.
func traceParameters(ctx context.Context, _ bool, _ quic.ConnectionID) qlogwriter.Trace {
	if h, ok := ctx.Value(tracedKey{}).(*h3Conn); ok {
		return &paramsTrace{conn: h}
	}
	return nil
}

type paramsTrace struct {
	conn  *h3Conn
	given bool
}

// AddProducer serves QUIC, which asks first, and not HTTP/3.
func (t *paramsTrace) AddProducer() qlogwriter.Recorder {
	if t.given {
		return nil
	}
	t.given = true
	return paramsRecorder{t.conn}
}

type paramsRecorder struct{ conn *h3Conn }

func (r paramsRecorder) RecordEvent(e qlogwriter.Event) {
	switch e := e.(type) {
	case qlog.ParametersRestored: // those of the session
		r.conn.limit.Store(e.InitialMaxStreamsBidi)
	case qlog.ParametersSet:
		if e.Initiator == qlog.InitiatorRemote {
			r.conn.limit.Store(e.InitialMaxStreamsBidi)
			r.conn.endEarly()
		}
	}
}

func (paramsRecorder) Close() error { return nil }

// openWait bounds how long the server's parameters wait for requests that are
// just going out as early data.
const openWait = 20 * time.Millisecond

// endEarly is called just before the server's parameters come into force.
// quic-go reads them unguarded when it opens a stream
// (https://github.com/quic-go/quic-go/issues/4303), so no early request may
// open one from now on.
func (h *h3Conn) endEarly() {
	h.mu.Lock()
	h.tooLate = true
	h.mu.Unlock()
	for end := time.Now().Add(openWait); h.opening.Load() > 0 && time.Now().Before(end); {
		time.Sleep(openWait / 100)
	}
}
