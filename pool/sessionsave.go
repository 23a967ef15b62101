package pool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rdapq/rdapq/internal/filelock"
)

// lockWait is how long a save waits for other processes to finish theirs, which
// take milliseconds. A process that holds the lock for longer must not delay the
// end of this one: what is not saved is learned again.
const lockWait = 200 * time.Millisecond

// save changes the file, and returns what it holds then, with the sessions of
// other processes.
func (f *SessionFile) save(removed sessionRemovals, added []*savedSession) (*sessionTable, error) {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return nil, err
	}
	unlock, err := lockFile(f.path + ".lock")
	if err != nil {
		return nil, err
	}
	defer unlock()
	table := f.read()
	removed.apply(table)
	now := time.Now()
	for _, e := range added {
		if !e.expired(now) {
			table.add(e)
		}
	}
	return table, replaceFile(f.path, appendSessions(nil, table))
}

// read returns the sessions of the file that have not expired: none if the file
// is not used.
func (f *SessionFile) read() *sessionTable {
	all, err := readSessions(f.path)
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, errOtherGo), errors.Is(err, errOtherFormat):
		f.log.Debug("saved TLS sessions are ignored", "file", f.path, "error", err)
	default:
		f.log.Warn("saved TLS sessions are ignored and replaced", "file", f.path, "error", err)
	}
	table, now := newSessionTable(f.maxKeys), time.Now()
	for _, e := range slices.Backward(all) {
		if !e.expired(now) {
			table.add(e)
		}
	}
	return table
}

func readSessions(path string) ([]*savedSession, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := private(info); err != nil {
		return nil, err
	}
	if info.Size() > maxSessionFile {
		return nil, errNotSessions
	}
	data := make([]byte, info.Size()) // for good: files are replaced, never written to
	if _, err := io.ReadFull(file, data); err != nil {
		return nil, err
	}
	return parseSessions(data)
}

// replaceFile writes a file so that readers see the old or the new one whole.
// Who calls it holds the lock, so that whatever has the temporary name is left
// from a process that ended in the middle.
func replaceFile(path string, data []byte) (err error) {
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

// lockFile waits for the lock on a file of that name, which stays.
func lockFile(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		ok, err := filelock.Try(file)
		switch {
		case ok:
			return func() { file.Close() }, nil // which gives it back
		case err != nil:
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		case time.Since(start) > lockWait:
			return nil, errors.Join(fmt.Errorf("lock %s: another process keeps it", path), file.Close())
		}
	}
}
