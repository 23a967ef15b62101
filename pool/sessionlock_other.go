//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package pool

import (
	"io/fs"
	"os"
)

// tryLock always succeeds where there are no locks: the worst that can happen
// is that a session of another process is lost, and costs a full handshake.
func tryLock(*os.File) (ok bool, err error) { return true, nil }

func private(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errNotSessions
	}
	return nil
}
