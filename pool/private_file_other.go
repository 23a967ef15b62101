//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package pool

import "io/fs"

// private leaves access to the directory's own list: a user's profile is
// closed to others.
func private(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errNotSessions
	}
	return nil
}
