//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package pool

import "io/fs"

// checkPrivate relies on the access list of the directory: a user's profile is
// closed to others.
func checkPrivate(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errNotSessionFile
	}
	return nil
}
