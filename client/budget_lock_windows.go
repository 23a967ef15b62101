package client

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLockBudgets takes the lock on a file unless somebody has it. The system
// gives it back when the file is closed, at the latest when the process ends.
func tryLockBudgets(f *os.File) (ok bool, err error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
