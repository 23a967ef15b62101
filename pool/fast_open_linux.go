package pool

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

const fastOpenSupported = true

// fastOpen is a [net.Dialer] Control. If the kernel has a cookie of the server,
// connect sends nothing, and the SYN carries the first data. If client Fast Open is
// off (net.ipv4.tcp_fastopen), the option fails with EOPNOTSUPP and the connection
// is made as usual.
func fastOpen(_, _ string, rc syscall.RawConn) error {
	return rc.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1)
	})
}

// synPending reports whether the SYN of a connection waits for data.
func synPending(nc net.Conn) bool {
	info := tcpInfo(nc)
	return info != nil && info.State != unix.BPF_TCP_ESTABLISHED
}

// synDataAccepted reports whether the peer accepted the data in the SYN.
func synDataAccepted(nc net.Conn) bool {
	const synData = 0x20 // TCPI_OPT_SYN_DATA of linux/tcp.h
	info := tcpInfo(nc)
	return info != nil && info.Options&synData != 0
}

// tcpInfo returns the kernel's information about a connection, or nil.
func tcpInfo(nc net.Conn) (info *unix.TCPInfo) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return nil
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	_ = rc.Control(func(fd uintptr) {
		if got, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			info = got
		}
	})
	return info
}
