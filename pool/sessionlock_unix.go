//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package pool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryLock takes the lock on a file unless somebody has it. The system gives
// it back when the file is closed, at the latest when the process ends.
func tryLock(f *os.File) (ok bool, err error) {
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

// private is an error if others could have read a file, or written it: a
// session that they put there would let them pass for the server.
func private(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errNotSessions
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("others may read or write it (mode %#o)", mode)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("it belongs to user %d", stat.Uid)
	}
	return nil
}
