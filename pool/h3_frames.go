package pool

import (
	"sync/atomic"

	"github.com/quic-go/quic-go"
	h3log "github.com/quic-go/quic-go/http3/qlog"
)

// quic-go treats the end of a stream as the end of a body, even within a DATA frame (RFC 9114
// section 7.1 makes that an error). The log of quic-go has the lengths of frames by stream
// number. The first HEADERS frame in the log after a request's WroteHeaderField hook shows the
// request's stream, because quic-go does both under one lock.

// maxFrames limits the sum of lengths, which a server can choose freely.
const maxFrames = 1 << 60

// dataFrames counts the DATA frames of one response.
type dataFrames struct {
	conn           *h3Conn
	stream         atomic.Int64 // stream number plus 1; 0 means unknown
	announcedBytes atomic.Int64 // sum of the payload lengths of DATA frames
}

// wrote handles a frame that was sent.
func (h *h3Conn) wrote(e h3log.FrameCreated) {
	if _, ok := e.Frame.Frame.(h3log.HeadersFrame); !ok {
		return
	}
	if f := h.writing.Swap(nil); f != nil {
		f.stream.Store(int64(e.StreamID) + 1)
		h.streams.Store(e.StreamID, f)
	}
}

// parsed handles a frame header that was received.
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

// forget drops the counts of a stream that has ended.
func (f *dataFrames) forget() {
	if n := f.stream.Load(); n > 0 {
		f.conn.streams.CompareAndDelete(quic.StreamID(n-1), f)
	}
}
