//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package journal

import "os"

// tryLock always succeeds where there are no locks.
func tryLock(*os.File) (ok bool, err error) { return true, nil }
