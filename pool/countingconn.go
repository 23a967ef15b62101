package pool

import (
	"net"
	"sync/atomic"
)

// countingConn counts the bytes on the wire.
type countingConn struct {
	net.Conn
	in, out atomic.Int64
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
