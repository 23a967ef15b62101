package pool

import (
	"net"
	"runtime"
	"sync"
	"time"
)

// A writeBehind buffers writes while other goroutines are ready to run, and sends them with one
// system call. net/http writes every HTTP/2 request and window update separately; these system
// calls cost more than all other work of sending.
//
// Without a call of start, writes are not buffered. With buffering, Write waits only while much
// data is pending. A send that fails or takes too long closes the connection, and the next
// Write returns the error.
type writeBehind struct {
	net.Conn

	mu      sync.Mutex
	changed sync.Cond
	on      bool
	pending []byte
	closed  bool
	err     error
}

const (
	maxPending = 256 << 10
	sendTime   = 8 * time.Second // limit for one send; a peer that accepts nothing for this time is dead
	lastTime   = time.Second     // limit for pending data when the connection is closed
)

func newWriteBehind(c net.Conn) *writeBehind {
	w := &writeBehind{Conn: c}
	w.changed.L = &w.mu
	return w
}

// start turns on buffering.
func (w *writeBehind) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.on && !w.closed {
		w.on = true
		go w.send()
	}
}

func (w *writeBehind) Write(p []byte) (int, error) {
	w.mu.Lock()
	if !w.on {
		w.mu.Unlock()
		return w.Conn.Write(p)
	}
	defer w.mu.Unlock()
	for len(w.pending) > maxPending && w.err == nil && !w.closed {
		w.changed.Wait()
	}
	switch {
	case w.err != nil:
		return 0, w.err
	case w.closed:
		return 0, net.ErrClosed
	}
	if len(w.pending) == 0 {
		w.changed.Broadcast()
	}
	w.pending = append(w.pending, p...)
	return len(p), nil
}

func (w *writeBehind) send() {
	defer w.Conn.Close()
	var out []byte
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for len(w.pending) == 0 {
			if w.closed {
				return
			}
			w.changed.Wait()
		}
		// Yield, so that goroutines that are about to write run first.
		w.mu.Unlock()
		runtime.Gosched()
		w.mu.Lock()
		out, w.pending = w.pending, out[:0]
		limit := sendTime
		if w.closed {
			limit = lastTime
		}
		w.mu.Unlock()
		w.Conn.SetWriteDeadline(time.Now().Add(limit))
		_, err := w.Conn.Write(out)
		w.mu.Lock()
		if err != nil {
			w.err, w.pending = err, nil
			w.changed.Broadcast()
			return
		}
		w.changed.Broadcast()
	}
}

// Close sends the pending data and closes the connection. A blocked Read returns immediately.
func (w *writeBehind) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.on {
		w.closed = true
		return w.Conn.Close()
	}
	if w.closed {
		return net.ErrClosed
	}
	w.closed = true
	w.Conn.SetWriteDeadline(time.Now().Add(lastTime))
	w.Conn.SetReadDeadline(time.Unix(1, 0))
	w.changed.Broadcast()
	return w.err
}

// SetWriteDeadline has no effect on buffered writes: sends have their own limit.
func (w *writeBehind) SetWriteDeadline(t time.Time) error {
	w.mu.Lock()
	on := w.on
	w.mu.Unlock()
	if on {
		return nil
	}
	return w.Conn.SetWriteDeadline(t)
}

func (w *writeBehind) SetDeadline(t time.Time) error {
	if err := w.SetWriteDeadline(t); err != nil {
		return err
	}
	return w.Conn.SetReadDeadline(t)
}
