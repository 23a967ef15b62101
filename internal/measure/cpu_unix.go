//go:build unix

package measure

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the CPU time of this process, user and system, or 0 if unknown.
func cpuTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
