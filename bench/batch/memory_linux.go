package main

import (
	"os"
	"syscall"
)

// peak returns the peak memory of a process in KiB.
func peak(p *os.ProcessState) int {
	if usage, ok := p.SysUsage().(*syscall.Rusage); ok {
		return int(usage.Maxrss)
	}
	return 0
}
