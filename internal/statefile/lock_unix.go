//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package statefile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// TryLock takes the lock on a file unless another process has it. The system releases the lock
// when the file is closed, at the latest when the process ends. TryLock always succeeds on file
// systems without locks.
func TryLock(f *os.File) (ok bool, err error) {
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, err
		}
	}
}
