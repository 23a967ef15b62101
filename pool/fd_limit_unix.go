//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package pool

import "golang.org/x/sys/unix"

// descriptorLimit returns the number of descriptors that the process may have.
func descriptorLimit() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return maxDescriptors
	}
	return int(min(uint64(limit.Cur), maxDescriptors))
}
