package pool

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"syscall"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

// udpSocket keeps quic-go from printing a warning where the system allows only
// small buffers: it gives access to the buffers' true size once it has been
// asked to enlarge them.
type udpSocket struct {
	*net.UDPConn
	enlarged bool
}

func (s *udpSocket) SyscallConn() (syscall.RawConn, error) {
	if !s.enlarged {
		return nil, errNotYet
	}
	return s.UDPConn.SyscallConn()
}

var errNotYet = errors.New("not yet")

func (s *udpSocket) SetReadBuffer(bytes int) error {
	_ = s.UDPConn.SetReadBuffer(bytes) // smaller ones do as well
	return nil
}

func (s *udpSocket) SetWriteBuffer(bytes int) error {
	_ = s.UDPConn.SetWriteBuffer(bytes)
	s.enlarged = true
	return nil
}

// defaultStreams is the number of requests at once that a server is taken to
// allow before it is known (RFC 9114 section 6.1 asks for 100 at least).
const defaultStreams = 100

// limitKey is what the place for a connection's stream limit is found by.
type limitKey struct{}

// traceLimit finds the server's stream limit, which quic-go tells to its log
// alone.
func traceLimit(ctx context.Context, _ bool, _ quic.ConnectionID) qlogwriter.Trace {
	if limit, ok := ctx.Value(limitKey{}).(*atomic.Int64); ok {
		return &limitTrace{store: limit.Store}
	}
	return nil
}

type limitTrace struct {
	store func(int64)
	given bool
}

// AddProducer serves QUIC, which asks first, and not HTTP/3.
func (t *limitTrace) AddProducer() qlogwriter.Recorder {
	if t.given {
		return nil
	}
	t.given = true
	return limitRecorder{t.store}
}

type limitRecorder struct{ store func(int64) }

func (r limitRecorder) RecordEvent(e qlogwriter.Event) {
	switch e := e.(type) {
	case qlog.ParametersSet:
		if e.Initiator == qlog.InitiatorRemote {
			r.store(e.InitialMaxStreamsBidi)
		}
	case qlog.ParametersRestored:
		r.store(e.InitialMaxStreamsBidi)
	}
}

func (limitRecorder) Close() error { return nil }
