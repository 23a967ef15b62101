//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package pool

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// unread reports whether a connection has unread data or has ended.
func unread(nc net.Conn) (some bool) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return false
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	_ = rc.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		some = err == nil
	})
	return some
}
