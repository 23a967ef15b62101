package pool

import (
	"crypto/tls"
	"encoding/binary"
	"math"
	"net"
	"sync/atomic"
	"time"
)

// A observedConn is the connection that net/http reads from and writes to. It reads
// along, so that the Pool learns the state of the connection without calling
// a method of [http.ClientConn]: these take locks that a server can block for
// ever.
//
// Over HTTP/2 it follows the frames of the server: SETTINGS, GOAWAY and
// WINDOW_UPDATE (RFC 9113 section 6).
//
// Once it is closed it lets go of the connection underneath. net/http keeps an HTTP/2
// connection that has ended for up to five seconds; without that it would keep the
// buffers and keys of TLS as well.
type observedConn struct {
	under atomic.Pointer[netConn] // what is closed in good order
	raw   net.Conn                // what is closed by force
	state *tls.ConnectionState

	ended         atomic.Bool // reading failed, or Close was called
	onChange      atomic.Pointer[func(gone bool)]
	onLimitRaised atomic.Pointer[func()] // called when the stream limit was raised

	h2         bool
	goAway     atomic.Bool // GOAWAY came
	goAwayCode atomic.Uint32
	settings   atomic.Bool  // the first SETTINGS came
	streams    atomic.Int64 // SETTINGS_MAX_CONCURRENT_STREAMS; noLimit: not announced
	overflow   atomic.Bool  // a WINDOW_UPDATE came that no window can hold
	uploads    atomic.Bool  // a request with a body was sent, which uses up windows

	seq     atomic.Pointer[sequence]      // over HTTP/1.1, where connections are reused
	reading atomic.Pointer[chan struct{}] // closed by the next Read that returns

	closing atomic.Bool
	frames  frameReader // used by Read alone
}

// A netConn is a struct, as an atomic pointer needs one.
type netConn struct{ net.Conn }

// An endedConn is in the place of a connection that has been closed.
type endedConn struct{ net.Conn }

func (endedConn) Read([]byte) (int, error)         { return 0, net.ErrClosed }
func (endedConn) Write([]byte) (int, error)        { return 0, net.ErrClosed }
func (endedConn) SetDeadline(time.Time) error      { return net.ErrClosed }
func (endedConn) SetReadDeadline(time.Time) error  { return net.ErrClosed }
func (endedConn) SetWriteDeadline(time.Time) error { return net.ErrClosed }

// noLimit stands for a stream limit that the server has not announced.
const noLimit = -1

// closeTimeout bounds the orderly close of a connection: a TLS alert does not go
// out to a peer that reads nothing.
const closeTimeout = 250 * time.Millisecond

func newObservedConn(nc net.Conn, s setup) *observedConn {
	t := &observedConn{raw: s.raw, h2: s.alpn == protoHTTP2}
	t.under.Store(&netConn{nc})
	if s.secure != nil {
		state := s.secure.ConnectionState()
		t.state = &state
	}
	t.streams.Store(noLimit)
	t.frames.init()
	return t
}

// ConnectionState is how net/http learns about TLS over HTTP/2.
func (t *observedConn) ConnectionState() tls.ConnectionState { return *t.state }

func (t *observedConn) Read(p []byte) (int, error) {
	if t.h2 && t.frames.raised {
		// net/http reads on when it has handled all that came before.
		t.frames.raised = false
		again := t.settings.Swap(true)
		t.streams.Store(t.frames.streams)
		if f := t.onLimitRaised.Load(); f != nil && again {
			(*f)()
		}
		t.notify(false)
	}
	n, err := t.under.Load().Read(p)
	if s := t.seq.Load(); s != nil && n > 0 && !s.came() {
		n, err = 0, net.ErrClosed
	}
	if next := t.reading.Swap(nil); next != nil {
		close(*next)
	}
	if t.h2 && n > 0 && !t.readFrames(p[:n]) {
		t.overflow.Store(true)
		t.markEnded()
		return 0, errWindow
	}
	if err != nil {
		if t.ended.Load() {
			err = net.ErrClosed
		}
		t.markEnded()
	}
	return n, err
}

func (t *observedConn) Write(p []byte) (int, error) {
	s := t.seq.Load()
	if s == nil {
		return t.under.Load().Write(p)
	}
	s.wrote.Store(0)
	n, err := t.under.Load().Write(p)
	s.wrote.Store(time.Now().UnixNano())
	return n, err
}

// markEnded notes that the connection is of no more use.
func (t *observedConn) markEnded() {
	if t.ended.CompareAndSwap(false, true) {
		t.notify(true)
	}
}

// nextRead returns a channel that is closed by the next Read that returns.
func (t *observedConn) nextRead() <-chan struct{} {
	next := make(chan struct{})
	if old := t.reading.Swap(&next); old != nil {
		close(*old)
	}
	return next
}

// Close ends the connection. It does not wait for the peer.
func (t *observedConn) Close() error {
	if s := t.seq.Load(); s != nil && !t.ended.Load() {
		s.closed()
	}
	t.markEnded()
	if t.closing.Swap(true) {
		return net.ErrClosed
	}
	under := t.under.Load()
	_ = under.SetReadDeadline(time.Unix(1, 0)) // wakes a Read that waits
	go func() {
		timer := time.AfterFunc(closeTimeout, func() { t.raw.Close() })
		defer timer.Stop()
		under.Close()
		t.under.Store(&netConn{endedConn{}})
		t.onLimitRaised.Store(nil) // it knows the connection as well
	}()
	return nil
}

func (t *observedConn) LocalAddr() net.Addr               { return t.raw.LocalAddr() }
func (t *observedConn) RemoteAddr() net.Addr              { return t.raw.RemoteAddr() }
func (t *observedConn) SetDeadline(d time.Time) error     { return t.under.Load().SetDeadline(d) }
func (t *observedConn) SetReadDeadline(d time.Time) error { return t.under.Load().SetReadDeadline(d) }

func (t *observedConn) SetWriteDeadline(d time.Time) error { return t.under.Load().SetWriteDeadline(d) }

func (t *observedConn) notify(gone bool) {
	if f := t.onChange.Load(); f != nil {
		(*f)(gone)
	}
}

// limit is the number of requests at a time that the server allows, as far as
// it has said so, and whether it has.
func (t *observedConn) limit() (n int, announced bool) {
	switch n := t.streams.Load(); {
	case n != noLimit:
		return int(n), true
	case t.settings.Load():
		return unannouncedStreams, false
	}
	return firstStreams, false
}

// Requests at a time that net/http sends before the server's SETTINGS have
// come, and when they set no limit.
const (
	firstStreams       = 100
	unannouncedStreams = 1000
)

// Frame types, flags and settings (RFC 9113 sections 6 and 6.5.2).
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	frameRSTStream    = 0x3
	frameSettings     = 0x4
	frameGoAway       = 0x7
	frameWindowUpdate = 0x8

	flagAck       = 0x1
	flagEndStream = 0x1

	settingMaxStreams    = 0x3
	settingInitialWindow = 0x4

	frameHead     = 9
	defaultWindow = 65_535
	maxWindows    = 4096 // streams with a window of their own
)

// A frameReader finds the frames in what a server sends, however it is cut.
type frameReader struct {
	head    [frameHead]byte
	nhead   int
	left    int     // bytes of the payload still to come
	part    [8]byte // of the payload
	npart   int
	first   bool // part is the first of the payload
	initial int64
	windows map[uint32]int64 // by stream: what WINDOW_UPDATE has added
	shared  int64            // the same for the connection

	streams int64 // as announced last
	raised  bool  // net/http has yet to learn what streams or settings say
}

func (f *frameReader) init() { f.initial, f.streams = defaultWindow, noLimit }

// readFrames takes note of what the server sent. It reports whether net/http may
// see it.
func (t *observedConn) readFrames(p []byte) bool {
	f := &t.frames
	for len(p) > 0 {
		if f.nhead < frameHead {
			n := copy(f.head[f.nhead:], p)
			f.nhead += n
			p = p[n:]
			if f.nhead < frameHead {
				return true
			}
			f.left = int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2])
			f.npart, f.first = 0, true
			t.handleHead()
		}
		want := 0
		if f.first || f.head[3] == frameSettings {
			want = partSize(f.head[3])
		}
		if want == 0 || f.left < want-f.npart {
			n := min(f.left, len(p))
			f.left -= n
			p = p[n:]
		} else {
			n := copy(f.part[f.npart:want], p)
			f.npart += n
			f.left -= n
			p = p[n:]
			if f.npart == want {
				f.npart, f.first = 0, false
				if !t.handlePart() {
					return false
				}
			}
		}
		if f.left == 0 {
			f.nhead = 0
		}
	}
	return true
}

// partSize is how much of the payload of a frame is read at a time; 0: none.
func partSize(kind byte) int {
	switch kind {
	case frameSettings:
		return 6
	case frameGoAway:
		return 8
	case frameWindowUpdate:
		return 4
	}
	return 0
}

func (f *frameReader) stream() uint32 { return binary.BigEndian.Uint32(f.head[5:]) & math.MaxInt32 }

// handleHead is called when the head of a frame has come.
func (t *observedConn) handleHead() {
	f := &t.frames
	switch f.head[3] {
	case frameSettings:
		if f.head[4]&flagAck == 0 && !t.settings.Load() {
			f.raised = true
		}
	case frameData, frameHeaders:
		if f.head[4]&flagEndStream != 0 && len(f.windows) > 0 {
			delete(f.windows, f.stream())
		}
	case frameRSTStream:
		if len(f.windows) > 0 {
			delete(f.windows, f.stream())
		}
	}
}

// handlePart is called when a part of the payload has come that says something.
func (t *observedConn) handlePart() bool {
	f := &t.frames
	switch f.head[3] {
	case frameSettings:
		value := int64(binary.BigEndian.Uint32(f.part[2:]))
		switch binary.BigEndian.Uint16(f.part[:]) {
		case settingMaxStreams:
			f.streams = value
			if n, _ := t.limit(); value < int64(n) {
				t.streams.Store(value)
				if t.settings.Load() {
					break
				}
			}
			f.raised = true
		case settingInitialWindow:
			f.initial = value // net/http refuses what is too large
		}
	case frameGoAway:
		t.goAwayCode.Store(binary.BigEndian.Uint32(f.part[4:]))
		t.goAway.Store(true)
		t.notify(true)
	case frameWindowUpdate:
		return t.windowFits(f.stream(), int64(binary.BigEndian.Uint32(f.part[:])&math.MaxInt32))
	}
	return true
}

// windowFits reports whether a window holds more bytes. net/http takes the lock of
// its connection twice when that of a stream does not, and nothing that needs
// the lock returns from then on.
func (t *observedConn) windowFits(stream uint32, more int64) bool {
	f := &t.frames
	if t.uploads.Load() {
		return true // what has been sent is not counted here
	}
	if stream == 0 {
		f.shared += more
		return f.shared+defaultWindow <= math.MaxInt32
	}
	if f.windows == nil {
		f.windows = make(map[uint32]int64)
	}
	if len(f.windows) >= maxWindows {
		clear(f.windows) // of streams that ended long ago
	}
	f.windows[stream] += more
	return f.windows[stream]+f.initial <= math.MaxInt32
}
