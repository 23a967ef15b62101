package statefile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// TryLock takes the lock on a file unless another process has it. The system releases the lock
// when the file is closed, at the latest when the process ends. The locked byte is far behind
// the content, which stays readable.
func TryLock(f *os.File) (ok bool, err error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 20})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
