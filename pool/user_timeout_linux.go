package pool

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// setUserTimeout limits how long sent data may stay unacknowledged (RFC 5482;
// tcp(7), TCP_USER_TIMEOUT). The system's default is 15 minutes.
func setUserTimeout(tc *net.TCPConn, d time.Duration) {
	if rc, err := tc.SyscallConn(); err == nil {
		_ = rc.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
		})
	}
}
