//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package pool

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkPrivate returns an error if other users could have read or written a file. A forged
// session would let its author impersonate the server.
func checkPrivate(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errNotSessionFile
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("other users can read or write it (mode %#o)", mode)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("owned by user %d", stat.Uid)
	}
	return nil
}
