package pool

import (
	"errors"
	"net"
	"syscall"
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
