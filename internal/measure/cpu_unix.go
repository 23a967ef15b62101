//go:build unix

package measure

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is what this process has used of it, user and system; 0 where
// that can't be known.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
