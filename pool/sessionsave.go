package pool

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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

// save brings changed into the file, beside what other processes have put
// there, and returns what it then holds.
func (f *SessionFile) save(changed map[SessionKey]*savedSession) (map[SessionKey]*savedSession, error) {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return nil, err
	}
	unlock, err := lockFile(f.path + ".lock")
	if err != nil {
		return nil, err
	}
	defer unlock()
	now := time.Now()
	old := func(_ SessionKey, e *savedSession) bool { return e.expired(now) }
	merged := byKey(f.read())
	maps.DeleteFunc(merged, old) // first: what a wrong clock stored is newer than all
	for key, e := range changed {
		if have := merged[key]; have != nil && have.stored > e.stored {
			continue
		}
		if e.gone {
			delete(merged, key)
		} else {
			merged[key] = e
		}
	}
	maps.DeleteFunc(merged, old)
	bound(merged, f.most)
	return merged, replaceFile(f.path, appendSessions(nil, newestFirst(merged)))
}

// read returns what is in the file: nothing if it is not to be believed.
func (f *SessionFile) read() []*savedSession {
	all, err := readSessions(f.path)
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, errOtherGo):
		f.log.Debug("saved TLS sessions left unused", "file", f.path, "error", err)
	default:
		f.log.Warn("saved TLS sessions left unused, and replaced", "file", f.path, "error", err)
	}
	return all
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

func byKey(all []*savedSession) map[SessionKey]*savedSession {
	m := make(map[SessionKey]*savedSession, len(all))
	for _, e := range all {
		if have := m[e.key]; have == nil || have.stored < e.stored {
			m[e.key] = e
		}
	}
	return m
}

func newestFirst(m map[SessionKey]*savedSession) []*savedSession {
	return slices.SortedFunc(maps.Values(m), func(a, b *savedSession) int { return cmp.Compare(b.stored, a.stored) })
}

// bound takes out the oldest above most.
func bound(m map[SessionKey]*savedSession, most int) {
	switch over := len(m) - most; {
	case over == 1: // as ever when one comes in
		var oldest *savedSession
		for _, e := range m {
			if oldest == nil || e.stored < oldest.stored {
				oldest = e
			}
		}
		delete(m, oldest.key)
	case over > 1:
		for _, e := range newestFirst(m)[most:] {
			delete(m, e.key)
		}
	}
}
