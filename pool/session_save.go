package pool

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rdapq/rdapq/internal/statefile"
)

// lockWait is how long a save waits for other processes, whose saves take milliseconds. A
// process that holds the lock for longer must not delay the end of this process.
const lockWait = 200 * time.Millisecond

// save updates the file and returns its new content, which includes sessions of
// other processes.
func (f *SessionFile) save(removed sessionRemovals, added []*savedSession) (*sessionTable, error) {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return nil, err
	}
	unlock, err := statefile.Lock(f.path, statefile.Within(lockWait))
	if err != nil {
		return nil, err
	}
	defer func() { _ = unlock() }()
	table := f.read()
	removed.apply(table)
	now := time.Now()
	for _, e := range added {
		if !e.expired(now) {
			table.add(e)
		}
	}
	return table, statefile.Replace(f.path, appendSessions(nil, table))
}

// read returns the sessions of the file that have not expired, or none if the file is unusable.
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
	if err := checkPrivate(info); err != nil {
		return nil, err
	}
	if info.Size() > maxSessionFile {
		return nil, errNotSessionFile
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(file, data); err != nil {
		return nil, err
	}
	return parseSessions(data)
}
