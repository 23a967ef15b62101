//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

// Package filelock keeps processes apart that write the same file.
package filelock

import "os"

// Try always succeeds where there are no locks.
func Try(*os.File) (ok bool, err error) { return true, nil }
