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

// Limits of draining a body that is closed early, which keeps its HTTP/1.1 connection usable:
// maxDrain bytes, and Config.DrainTimeout. Close waits at most drainWait for the drain. It reads
// the data that has arrived already, so that the caller's next request finds the connection
// free.
const (
	maxDrain  = 64 << 10
	drainWait = 25 * time.Millisecond
)

// A body frees the slot on its connection when it has been read or closed. As with
// net/http, Close may be called during a Read.
type body struct {
	raw       io.ReadCloser
	origin    *origin
	conn      *conn
	trace     *Trace
	start     time.Time
	sent      time.Time // when the request got its slot
	first     bool      // the request is the first one on the connection
	zipped    bool
	switched  bool // the status is 101
	bytesRead atomic.Int64
	complete  atomic.Bool // rc returned io.EOF
	ended     atomic.Bool // rc returned io.EOF or an error
	closed    atomic.Bool
	once      sync.Once
	traceOnce sync.Once // guards trace.Total and trace.BytesIn

	mu     sync.Mutex
	gunzip *gunzipper // set between calls of Read; nil before the first call
	err    error      // reason why gunzip cannot be used
}

// errReading is returned by a Read during another Read.
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
		// Read to the end of the encoded body, too.
		io.CopyN(io.Discard, (*rawBody)(b), maxDrain)
	}
	b.returnGunzipper(z, nil)
	return n, err
}

// takeGunzipper gives the gunzipper to one Read. Close must not recycle it meanwhile, because
// another body would use it.
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

// returnGunzipper returns the gunzipper after a Read. It recycles the gunzipper if decoding
// failed or the body was closed meanwhile.
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

// Close frees the connection. Every caller must call it.
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
	if !b.ended.Load() && !b.conn.shared() && !b.origin.pool.cfg.noReuse() && !b.switched && b.origin.pool.cfg.DrainTimeout > 0 {
		waitInSteps(min(drainWait, b.origin.pool.cfg.DrainTimeout), 5, func() {
			b.drain()
			b.raw.Close()
			b.finish()
		})
		return nil
	}
	err := b.raw.Close()
	b.finish()
	return err
}

// drain reads the rest of the body. It closes the connection if DrainTimeout runs out. It
// checks the time twice, because data may have arrived while the process was suspended.
func (b *body) drain() {
	done, half := make(chan struct{}), b.origin.pool.cfg.DrainTimeout/2
	stop := time.AfterFunc(half, func() {
		select {
		case <-done:
		case <-time.After(half):
			b.conn.cc.Close()
		}
	})
	io.CopyN(io.Discard, (*rawBody)(b), maxDrain)
	close(done)
	stop.Stop()
}

func (b *body) finish() {
	b.once.Do(func() {
		b.completeTrace()
		now, setup := time.Now(), b.origin.setupTime(b.conn)
		b.origin.savedModel.end(b.sent, now, setup, !b.first)
		b.origin.pool.savedModel.end(b.sent, now, setup, !b.first)
		if b.conn.seq != nil {
			b.conn.seq.ended(b.complete.Load())
		}
		b.origin.release(b.conn)
	})
}

// completeTrace sets the last fields of the trace, during the caller's Read or
// Close.
func (b *body) completeTrace() {
	b.traceOnce.Do(func() {
		if b.trace != nil {
			b.trace.Total, b.trace.BytesIn = time.Since(b.start), b.bytesRead.Load()
		}
	})
}

// A switchedBody is the body of a response with status 101 (Switching Protocols):
// the connection, which now carries another protocol.
type switchedBody struct {
	*body
	io.Writer
}

// rawBody reads a body before decompression.
type rawBody body

func (w *rawBody) Read(p []byte) (int, error) {
	n, err := w.raw.Read(p)
	w.bytesRead.Add(int64(n))
	if err != nil {
		w.complete.Store(err == io.EOF)
		w.ended.Store(true)
		(*body)(w).finish()
	}
	return n, err
}

// An openBody is a rawBody until Close, which drains the remaining data.
type openBody body

func (o *openBody) Read(p []byte) (int, error) {
	if o.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := (*rawBody)(o).Read(p)
	if err == io.EOF && o.closed.Load() {
		// The server may end the response because the connection was closed.
		err = http.ErrBodyReadAfterClose
	}
	return n, err
}

// A gunzipper decodes gzip. Bodies reuse it for its buffers.
type gunzipper struct {
	started bool
	buf     bufio.Reader
	gz      gzip.Reader
}

var gunzippers = sync.Pool{New: func() any { return new(gunzipper) }}

// recycle makes z available to another body.
func (z *gunzipper) recycle() {
	z.started = false
	z.buf.Reset(nil)
	gunzippers.Put(z)
}

// An EncodingError is the error of reading a complete response whose body does not match its
// Content-Encoding.
type EncodingError struct {
	Encoding string // content coding, such as "gzip" (RFC 9110 section 8.4.1)
	Err      error  // the decoder's error; nil if the coding is not supported
}

// Error returns the coding and the problem.
func (e *EncodingError) Error() string {
	switch {
	case e.Err == nil:
		return "pool: unsupported content encoding " + e.Encoding
	case errors.Is(e.Err, io.ErrUnexpectedEOF):
		return "pool: truncated " + e.Encoding + " body"
	}
	return "pool: invalid " + e.Encoding + " body: " + e.Err.Error()
}

// Unwrap returns the decoder's error.
func (e *EncodingError) Unwrap() error { return e.Err }

// GzipError returns an [*EncodingError] if err shows that gzip data is invalid, and err
// otherwise. whole states whether all of the data was received.
func GzipError(err error, whole bool) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	switch {
	case err == nil:
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), corrupt, whole && errors.Is(err, io.ErrUnexpectedEOF):
		return &EncodingError{Encoding: "gzip", Err: err}
	}
	return err
}
