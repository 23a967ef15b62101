// Package statefile replaces small files that several processes read and write.
//
// A process holds the lock of a file while it reads the file, changes the content and replaces
// the file. Thus no change of another process is lost. Readers need no lock: they see either
// the old or the new file.
package statefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// ErrBusy reports that another process holds the lock of a file; see [Within].
var ErrBusy = errors.New("another process holds the lock")

// Lock takes the lock of the file at path. The file need not exist, but its directory must.
// While another process holds the lock, Lock calls wait, which sleeps briefly, and fails if
// wait returns an error. The lock is held on a file next to path, which is not removed. The
// system releases the lock when the process ends.
func Lock(path string, wait func() error) (unlock func() error, err error) {
	path += ".lock"
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		ok, err := TryLock(file)
		if ok {
			return file.Close, nil // closing the file releases the lock
		}
		if err == nil {
			err = wait()
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
	}
}

// poll is the time between two attempts to take a lock.
const poll = 5 * time.Millisecond

// Within returns a wait function for Lock that returns ErrBusy once d has passed.
func Within(d time.Duration) func() error {
	deadline := time.Now().Add(d)
	return func() error {
		if time.Now().After(deadline) {
			return ErrBusy
		}
		time.Sleep(poll)
		return nil
	}
}

// Replace writes a file that only its owner may read. The caller must hold the lock of path.
// Therefore an existing file with the temporary name is from a process that ended during
// Replace.
func Replace(path string, data []byte) (err error) {
	temp := path + ".tmp"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(temp))
	}
	return err
}
