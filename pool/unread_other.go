//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package pool

import "net"

// unread is not supported here. Unexpected data is noticed when net/http reads it.
func unread(net.Conn) bool { return false }
