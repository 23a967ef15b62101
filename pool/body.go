package pool

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// maxDrain is how much of a body that is closed early is read so that an
// HTTP/1.1 connection can be kept, and drainTime for how long. Close waits for
// drainWait of that, in which what has come already is read, so that the caller's
// next request finds the connection free.
const (
	maxDrain  = 64 << 10
	drainTime = 500 * time.Millisecond
	drainWait = 25 * time.Millisecond
)

// A body frees its connection's place when it has been read or closed. As with
// net/http, it may be closed beside a Read that waits.
type body struct {
	rc        io.ReadCloser
	o         *origin
	c         *conn
	trace     *Trace
	start     time.Time
	sent      time.Time // when the request had its place on the connection
	first     bool      // it paid for the connection
	zipped    bool
	switched  bool // of a response 101
	n         atomic.Int64
	complete  atomic.Bool // rc came to its end
	ended     atomic.Bool // rc gave its last byte or an error
	closed    atomic.Bool
	once      sync.Once
	traceOnce sync.Once // trace is complete

	mu     sync.Mutex
	gunzip *gunzipper // between calls of Read; nil before the first
	err    error      // why there is none to be had
}

// errReading is for a second Read beside one that has not returned.
var errReading = errors.New("pool: concurrent reads of a response body")

func (b *body) Read(p []byte) (int, error) {
	if !b.zipped {
		return (*openBody)(b).Read(p)
	}
	z, err := b.takeGunzipper()
	if err != nil {
		return 0, err
	}
	if !z.started {
		z.started = true
		z.buf.Reset((*openBody)(b))
		if err := z.gz.Reset(&z.buf); err != nil {
			err = GzipError(err, b.complete.Load())
			b.returnGunzipper(z, err)
			return 0, err
		}
	}
	n, err := z.gz.Read(p)
	if err != nil && err != io.EOF {
		err = GzipError(err, b.complete.Load())
	}
	if err == io.EOF && !b.ended.Load() {
		// Find the end of what carries the gzip stream as well.
		io.CopyN(io.Discard, (*rawBody)(b), maxDrain)
	}
	b.returnGunzipper(z, nil)
	return n, err
}

// takeGunzipper gives Read the unzipper to itself: once Close has put it among the
// spare ones, it serves another body.
func (b *body) takeGunzipper() (*gunzipper, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return nil, b.err
	}
	z := b.gunzip
	if z == nil {
		z = gunzippers.Get().(*gunzipper)
	}
	b.gunzip, b.err = nil, errReading
	return z, nil
}

// returnGunzipper gives it back. It is of no more use if it failed, or if the body
// was closed meanwhile.
func (b *body) returnGunzipper(z *gunzipper, failed error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.err != errReading:
		z.recycle()
	case failed != nil:
		z.recycle()
		b.err = failed
	default:
		b.gunzip, b.err = z, nil
	}
}

// Close frees the connection. It must be called.
func (b *body) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	b.mu.Lock()
	if b.gunzip != nil {
		b.gunzip.recycle()
		b.gunzip = nil
	}
	b.err = http.ErrBodyReadAfterClose
	b.mu.Unlock()
	b.completeTrace()
	if !b.ended.Load() && !b.c.shared() && !b.o.p.cfg.noReuse() && !b.switched {
		waitInSteps(drainWait, 5, func() {
			b.drain()
			b.rc.Close()
			b.finish()
		})
		return nil
	}
	err := b.rc.Close()
	b.finish()
	return err
}

// drain reads on. A connection on which that takes too long is closed: when the
// time is up twice in a row, since a process that stands still has what came
// meanwhile unread.
func (b *body) drain() {
	done := make(chan struct{})
	stop := time.AfterFunc(drainTime/2, func() {
		select {
		case <-done:
		case <-time.After(drainTime / 2):
			b.c.cc.Close()
		}
	})
	io.CopyN(io.Discard, (*rawBody)(b), maxDrain)
	close(done)
	stop.Stop()
}

func (b *body) finish() {
	b.once.Do(func() {
		b.completeTrace()
		now, setup := time.Now(), b.o.setupTime(b.c)
		b.o.savedModel.end(b.sent, now, setup, !b.first)
		b.o.p.savedModel.end(b.sent, now, setup, !b.first)
		if b.c.seq != nil {
			b.c.seq.ended(b.complete.Load())
		}
		b.o.release(b.c)
	})
}

// completeTrace completes the trace, while the caller is in Read or Close.
func (b *body) completeTrace() {
	b.traceOnce.Do(func() {
		if b.trace != nil {
			b.trace.Total, b.trace.BytesIn = time.Since(b.start), b.n.Load()
		}
	})
}

// A switchedBody is the body of a response 101 (Switching Protocols): the
// connection, on which another protocol is spoken.
type switchedBody struct {
	*body
	io.Writer
}

// rawBody is a body before decompression.
type rawBody body

func (w *rawBody) Read(p []byte) (int, error) {
	n, err := w.rc.Read(p)
	w.n.Add(int64(n))
	if err != nil {
		w.complete.Store(err == io.EOF)
		w.ended.Store(true)
		(*body)(w).finish()
	}
	return n, err
}

// openBody is what there is to read of a body, which is nothing once it is closed:
// the rest is for Close to drain.
type openBody body

func (o *openBody) Read(p []byte) (int, error) {
	if o.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := (*rawBody)(o).Read(p)
	if err == io.EOF && o.closed.Load() {
		// It may be the end that a server makes of an answer when it sees the
		// connection closed.
		err = http.ErrBodyReadAfterClose
	}
	return n, err
}

// An gunzipper is what it takes to undo gzip, with the buffer that a gzip.Reader
// would otherwise make anew for each body.
type gunzipper struct {
	started bool
	buf     bufio.Reader
	gz      gzip.Reader
}

var gunzippers = sync.Pool{New: func() any { return new(gunzipper) }}

// recycle keeps z for another body, and nothing of this one.
func (z *gunzipper) recycle() {
	z.started = false
	z.buf.Reset(nil)
	gunzippers.Put(z)
}

// An EncodingError is returned by the body of a response that cannot be decoded as its
// Content-Encoding says, and that came whole.
type EncodingError struct {
	Encoding string // the content coding, such as "gzip" (RFC 9110 section 8.4.1)
	Err      error  // the decoder's; nil if there is no decoder for it
}

// Error returns the name of the coding and what is wrong.
func (e *EncodingError) Error() string {
	switch {
	case e.Err == nil:
		return "pool: the body is encoded as " + e.Encoding
	case errors.Is(e.Err, io.ErrUnexpectedEOF):
		return "pool: the " + e.Encoding + " data of the body end too early"
	}
	return "pool: the body is not " + e.Encoding + ": " + e.Err.Error()
}

// Unwrap returns the decoder's error.
func (e *EncodingError) Unwrap() error { return e.Err }

// GzipError returns an [*EncodingError] for an error of gzip about the data that it
// decodes, and other errors as they are. whole says that the data came to their end.
func GzipError(err error, whole bool) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	switch {
	case err == nil:
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), corrupt, whole && errors.Is(err, io.ErrUnexpectedEOF):
		return &EncodingError{Encoding: "gzip", Err: err}
	}
	return err
}
