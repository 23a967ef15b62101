package main

import (
	"os"
	"syscall"
)

// peak is the most memory that a process had, in KiB.
func peak(p *os.ProcessState) int {
	if usage, ok := p.SysUsage().(*syscall.Rusage); ok {
		return int(usage.Maxrss)
	}
	return 0
}
