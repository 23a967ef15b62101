//go:build !linux

package pool

import (
	"net"
	"time"
)

// setUserTimeout does nothing: keep-alive probes alone find a dead peer here.
func setUserTimeout(*net.TCPConn, time.Duration) {}
