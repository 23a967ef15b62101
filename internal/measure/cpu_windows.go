package measure

import (
	"time"

	"golang.org/x/sys/windows"
)

// cpuTime returns the CPU time of this process, user and system, or 0 if unknown.
func cpuTime() time.Duration {
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user) != nil {
		return 0
	}
	// The values kernel and user are durations in units of 100 ns, not times since 1601.
	ticks := func(f windows.Filetime) int64 { return int64(f.HighDateTime)<<32 | int64(f.LowDateTime) }
	return time.Duration(ticks(kernel)+ticks(user)) * 100
}
