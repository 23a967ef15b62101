package pool

import (
	"crypto/tls"
	"encoding/binary"
	"math"
	"net"
	"sync/atomic"
	"time"
)

// An observedConn is the connection that net/http reads from and writes to. It parses the data
// read, so that the Pool can determine the state of the connection without calling a method of
// [http.ClientConn]. Such methods take locks that a server can block forever.
//
// Over HTTP/2 it parses SETTINGS, GOAWAY and WINDOW_UPDATE frames (RFC 9113 section 6).
//
// Close releases the underlying connection. Otherwise net/http, which keeps a closed HTTP/2
// connection for up to five seconds, would also keep the buffers and keys of TLS.
type observedConn struct {
	under atomic.Pointer[netConn] // connection for an orderly close
	raw   net.Conn                // connection for a forced close
	state *tls.ConnectionState

	ended         atomic.Bool // a read failed, or Close was called
	onChange      atomic.Pointer[func(gone bool)]
	onLimitRaised atomic.Pointer[func()] // called when the stream limit rises

	h2         bool
	goAway     atomic.Bool // the server sent GOAWAY
	goAwayCode atomic.Uint32
	settings   atomic.Bool  // the first SETTINGS have arrived
	streams    atomic.Int64 // SETTINGS_MAX_CONCURRENT_STREAMS; noLimit means not announced
	overflow   atomic.Bool  // a WINDOW_UPDATE overflowed its window
	uploads    atomic.Bool  // a request with a body was sent, which uses up windows

	seq     atomic.Pointer[sequence]      // nil except over HTTP/1.1 with reuse
	reading atomic.Pointer[chan struct{}] // closed by the next Read that returns

	closing atomic.Bool
	frames  frameReader // used by Read only
}

// A netConn wraps a connection so that an atomic pointer can point to it.
type netConn struct{ net.Conn }

// An endedConn replaces a closed connection.
type endedConn struct{ net.Conn }

func (endedConn) Read([]byte) (int, error)         { return 0, net.ErrClosed }
func (endedConn) Write([]byte) (int, error)        { return 0, net.ErrClosed }
func (endedConn) SetDeadline(time.Time) error      { return net.ErrClosed }
func (endedConn) SetReadDeadline(time.Time) error  { return net.ErrClosed }
func (endedConn) SetWriteDeadline(time.Time) error { return net.ErrClosed }

// noLimit means that the server has not announced a stream limit.
const noLimit = -1

// closeTimeout limits the orderly close of a connection: a TLS alert cannot be sent
// to a peer that does not read.
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

// ConnectionState informs net/http about TLS over HTTP/2.
func (t *observedConn) ConnectionState() tls.ConnectionState { return *t.state }

func (t *observedConn) Read(p []byte) (int, error) {
	if t.h2 && t.frames.raised {
		// net/http has handled all earlier data, because it reads again.
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

// markEnded marks the connection as unusable.
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
	_ = under.SetReadDeadline(time.Unix(1, 0)) // ends a blocked Read
	go func() {
		timer := time.AfterFunc(closeTimeout, func() { t.raw.Close() })
		defer timer.Stop()
		under.Close()
		t.under.Store(&netConn{endedConn{}})
		t.onLimitRaised.Store(nil) // drop the reference to the connection
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

// limit returns the stream limit, and whether the server announced it.
func (t *observedConn) limit() (n int, announced bool) {
	switch n := t.streams.Load(); {
	case n != noLimit:
		return int(n), true
	case t.settings.Load():
		return unannouncedStreams, false
	}
	return firstStreams, false
}

// Numbers of concurrent requests that net/http sends before the server's SETTINGS arrive, and
// if the SETTINGS set no limit.
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
	maxWindows    = 4096 // maximum number of streams whose windows are tracked
)

// A frameReader parses the frames that a server sends.
type frameReader struct {
	head    [frameHead]byte
	nhead   int
	left    int     // number of payload bytes not read so far
	part    [8]byte // buffer for a part of the payload
	npart   int
	first   bool // part is at the start of the payload
	initial int64
	windows map[uint32]int64 // sums of WINDOW_UPDATE by stream
	shared  int64            // sum of WINDOW_UPDATE of the connection

	streams int64 // last announced limit
	raised  bool  // net/http has not handled new settings so far
}

func (f *frameReader) init() { f.initial, f.streams = defaultWindow, noLimit }

// readFrames parses data from the server. It reports whether net/http may see it.
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

// partSize returns how much of a frame's payload is parsed at a time; 0 means nothing.
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

// handleHead handles a complete frame header.
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

// handlePart handles a complete part of the payload.
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
			f.initial = value // net/http rejects invalid values
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

// windowFits reports whether a window can grow by more bytes. If a stream's window overflows,
// net/http takes the lock of its connection twice, and blocks every call that needs the lock.
func (t *observedConn) windowFits(stream uint32, more int64) bool {
	f := &t.frames
	if t.uploads.Load() {
		return true // uploads use up windows, and sent data is not counted
	}
	if stream == 0 {
		f.shared += more
		return f.shared+defaultWindow <= math.MaxInt32
	}
	if f.windows == nil {
		f.windows = make(map[uint32]int64)
	}
	if len(f.windows) >= maxWindows {
		clear(f.windows) // these streams ended long ago
	}
	f.windows[stream] += more
	return f.windows[stream]+f.initial <= math.MaxInt32
}
