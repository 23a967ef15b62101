package pool

import (
	"net"
	"sync"
	"sync/atomic"
)

// A countingConn counts the bytes on the wire.
type countingConn struct {
	net.Conn
	in, out atomic.Int64

	mu      sync.Mutex
	closed  bool
	onClose func() // called once when the connection is closed; may be nil
}

// onClosed sets the function that is called when the connection is closed.
func (c *countingConn) onClosed(f func()) {
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.onClose = f
	}
	c.mu.Unlock()
	if closed {
		f()
	}
}

func (c *countingConn) Close() error {
	err := c.Conn.Close()
	c.mu.Lock()
	f := c.onClose
	c.closed, c.onClose = true, nil
	c.mu.Unlock()
	if f != nil {
		f()
	}
	return err
}

func (c *countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.in.Add(int64(n))
	return n, err
}

func (c *countingConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.out.Add(int64(n))
	return n, err
}
