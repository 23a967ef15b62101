//go:build !linux

package pool

import (
	"net"
	"syscall"
)

const fastOpenSupported = false

func fastOpen(_, _ string, _ syscall.RawConn) error { return nil }

func synPending(net.Conn) bool { return false }

func synDataAccepted(net.Conn) bool { return false }
