//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package bootstrap

import "os"

// tryLock always succeeds where there are no locks: the worst that can happen
// is one download too many.
func tryLock(*os.File) (ok bool, err error) { return true, nil }
