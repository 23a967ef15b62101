//go:build !linux

package pool

import (
	"net"
	"time"
)

// setUserTimeout does nothing: only keep-alive probes detect a dead peer here.
func setUserTimeout(*net.TCPConn, time.Duration) {}
