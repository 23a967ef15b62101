//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package pool

import "net"

// unread returns false: this system has no such check. net/http detects unexpected data when it
// reads.
func unread(net.Conn) bool { return false }
