//go:build !plan9

package pool

import (
	"errors"
	"syscall"
)

// tooManyFiles reports whether the process, or the system, has too many open files.
func tooManyFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
