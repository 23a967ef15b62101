package rdaptest

import (
	"net"
	"time"
)

func delayAccepted(c net.Conn, rtt time.Duration) net.Conn { return c }
