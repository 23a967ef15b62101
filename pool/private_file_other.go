//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package pool

import "io/fs"

// checkPrivate returns nil: the access list of the directory protects the file, because a
// user's profile is closed to others.
func checkPrivate(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errNotSessionFile
	}
	return nil
}
