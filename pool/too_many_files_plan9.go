package pool

import (
	"errors"
	"syscall"
)

// tooManyFiles reports whether the process has too many open files.
func tooManyFiles(err error) bool { return errors.Is(err, syscall.EMFILE) }
