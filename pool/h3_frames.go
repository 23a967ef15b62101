package pool

import (
	"sync/atomic"

	"github.com/quic-go/quic-go"
	h3log "github.com/quic-go/quic-go/http3/qlog"
)

// quic-go takes the end of a stream for the end of a body, also within a DATA frame
// (RFC 9114 section 7.1 makes that an error). Its log has the lengths of frames, by
// the number of the stream. The number of a request's stream is that of the HEADERS
// frame which the log has next after the request's hook for the field that it writes:
// quic-go does both under one lock.

// maxFrames bounds the sum of lengths, which servers may make up.
const maxFrames = 1 << 60

// dataFrames are the DATA frames of one response.
type dataFrames struct {
	conn           *h3Conn
	stream         atomic.Int64 // its number and 1; 0: not known
	announcedBytes atomic.Int64 // bytes of payload that they announced
}

// wrote is called when a frame goes out.
func (h *h3Conn) wrote(e h3log.FrameCreated) {
	if _, ok := e.Frame.Frame.(h3log.HeadersFrame); !ok {
		return
	}
	if f := h.writing.Swap(nil); f != nil {
		f.stream.Store(int64(e.StreamID) + 1)
		h.streams.Store(e.StreamID, f)
	}
}

// parsed is called when the head of a frame has come in.
func (h *h3Conn) parsed(e h3log.FrameParsed) {
	if _, ok := e.Frame.Frame.(h3log.DataFrame); !ok {
		return
	}
	if f, ok := h.streams.Load(e.StreamID); ok {
		f := f.(*dataFrames)
		n := int64(e.Raw.PayloadLength)
		if n < 0 || n > maxFrames || f.announcedBytes.Load() > maxFrames {
			n = maxFrames
		}
		f.announcedBytes.Add(n)
	}
}

func (f *dataFrames) announced() int64 { return f.announcedBytes.Load() }

// forget is for a stream that is over.
func (f *dataFrames) forget() {
	if n := f.stream.Load(); n > 0 {
		f.conn.streams.CompareAndDelete(quic.StreamID(n-1), f)
	}
}
