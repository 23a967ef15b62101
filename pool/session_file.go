package pool

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// A SessionFile is a [SessionStore] in a file, so that the next run of a program resumes the
// sessions of this run. Several processes may use the same file at the same time. Flush adds
// the sessions that each process stored, and removes the tickets that it used. Between two
// calls of Flush, processes that read the same file may offer the same ticket.
//
// The file holds secrets that can decrypt recorded connections. It is created for its owner
// only. The store does not use a file that others could have read or written, or that has
// another Go version or format. It logs and replaces such a file.
//
// Flush and Close write changes; without them, the store writes 15 seconds after the first
// change.
type SessionFile struct {
	path    string
	maxKeys int
	log     *slog.Logger

	saveMu sync.Mutex // allows one save at a time; taken before mu

	mu      sync.Mutex
	table   *sessionTable
	removed sessionRemovals // sessions removed since the last save
	writing bool            // a save is in progress
	timer   *time.Timer     // saves; nil when nothing has changed
	closed  bool
}

// sessionRemovals describes the sessions to remove from the file. The sessions to add are those
// in the table that are not saved.
type sessionRemovals struct {
	used map[sessionID]struct{}
	// times by key; sessions of the key that were stored up to the time are removed
	dropped map[SessionKey]int64
}

func newSessionRemovals() sessionRemovals {
	return sessionRemovals{used: make(map[sessionID]struct{}), dropped: make(map[SessionKey]int64)}
}

// saveAfter is how long a change waits to be written, unless Flush comes first.
const saveAfter = 15 * time.Second

// Lifetimes. RFC 8446 section 4.6.1 allows seven days, and crypto/tls applies the server's
// lifetime if it is shorter. TLS 1.2 has no binding lifetime and no new key exchange: RFC 5246
// appendix F.1.4 suggests a day at most.
const (
	maxSessionAgeTLS13 = 7 * 24 * time.Hour
	maxSessionAgeTLS12 = 24 * time.Hour
	clockSkew          = time.Hour // a session from further in the future is ignored
)

// OpenSessionFile opens the store at path. If the file does not exist, the first write creates
// it and its directory. The store holds the sessions of the maxKeys servers (see [SessionKey])
// that were used most recently; 0 means [DefaultMaxSessions]. A nil log is silent.
//
// An error means that the file cannot be created or opened. A damaged file is replaced.
func OpenSessionFile(path string, maxKeys int, log *slog.Logger) (*SessionFile, error) {
	if maxKeys <= 0 {
		maxKeys = DefaultMaxSessions
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f := &SessionFile{path: path, maxKeys: maxKeys, log: log, removed: newSessionRemovals()}
	info, err := os.Stat(path)
	switch {
	case path == "":
		return nil, errors.New("pool: session file: empty path")
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("pool: session file %s: not a regular file", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("pool: session file: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("pool: session file: %w", err)
	}
	f.table = f.read()
	return f, nil
}

// Take implements [SessionStore]. It reads no file, and the error is always nil.
func (f *SessionFile) Take(_ context.Context, key SessionKey) ([]byte, error) {
	return f.pop(key, 0, true).marshal(), nil
}

// Put implements [SessionStore]. It ignores a session that it cannot read. The error is always
// nil.
func (f *SessionFile) Put(_ context.Context, key SessionKey, session []byte) error {
	if session == nil {
		f.put(key, nil)
	} else if e := unmarshalSession(key, session); e != nil {
		f.add(e)
	}
	return nil
}

func (f *SessionFile) take(key SessionKey, spare int) (*tls.ClientSessionState, bool) {
	e := f.pop(key, spare, false)
	session := f.parse(e)
	return session, session != nil && e.reusable()
}

// pop returns the newest session of key, or nil. sessionTaker describes spare. A reusable
// session stays in the store unless always is set.
func (f *SessionFile) pop(key SessionKey, spare int, always bool) *savedSession {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		e := f.table.newestBeyond(key, spare)
		if e == nil {
			return nil
		}
		expired := e.expired(time.Now())
		if always || expired || !e.reusable() {
			f.remove(e)
		}
		if !expired {
			return e
		}
	}
}

// parse decodes e. The caller must not hold the lock.
func (f *SessionFile) parse(e *savedSession) *tls.ClientSessionState {
	if e == nil {
		return nil
	}
	session, err := e.session()
	if err != nil {
		f.log.Warn("saved TLS session is invalid", "file", f.path, "server", e.key.Host, "error", err)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.remove(e)
		return nil
	}
	return session
}

// remove removes e, also from the file if it is or will be there.
func (f *SessionFile) remove(e *savedSession) {
	f.table.remove(e.key, func(x *savedSession) bool { return x == e })
	if e.saved || f.writing {
		f.removed.used[e.id()] = struct{}{}
		f.scheduleSave()
	}
}

func (f *SessionFile) put(key SessionKey, session *tls.ClientSessionState) {
	if session != nil {
		if e := newSavedSession(key, session); e != nil {
			f.add(e)
		}
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if newest := f.table.newest(key); newest != nil {
		f.table.drop(key)
		f.removed.drop(key, newest.stored, 2*f.maxKeys)
		f.scheduleSave()
	}
}

func (f *SessionFile) add(e *savedSession) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.table.add(e)
	f.scheduleSave()
}

// drop adds a key. Beyond maxKeys keys it forgets another key, whose sessions stay in the file
// until a full handshake replaces them.
func (r sessionRemovals) drop(key SessionKey, until int64, maxKeys int) {
	r.dropped[key] = max(r.dropped[key], until)
	for other := range r.dropped {
		if len(r.dropped) <= maxKeys {
			return
		}
		if other != key {
			delete(r.dropped, other)
		}
	}
}

// apply removes the sessions from a table.
func (r sessionRemovals) apply(t *sessionTable) {
	for key, until := range r.dropped {
		t.remove(key, func(e *savedSession) bool { return e.stored <= until })
	}
	for id := range r.used {
		t.remove(id.key, func(e *savedSession) bool { return e.id() == id })
	}
}

func (r sessionRemovals) empty() bool { return len(r.used)+len(r.dropped) == 0 }

func (f *SessionFile) scheduleSave() {
	if f.timer == nil && !f.closed {
		f.timer = time.AfterFunc(saveAfter, func() {
			if err := f.Flush(); err != nil {
				f.log.Warn("TLS sessions could not be saved", "file", f.path, "error", err)
			}
		})
	}
}

// Flush writes all changes since the last write. Changes that cannot be written are
// written with the next change.
func (f *SessionFile) Flush() error {
	f.saveMu.Lock()
	defer f.saveMu.Unlock()
	f.mu.Lock()
	removed, added := f.removed, f.unsaved()
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	if removed.empty() && len(added) == 0 {
		f.mu.Unlock()
		return nil
	}
	f.removed, f.writing = newSessionRemovals(), true
	f.mu.Unlock()

	table, err := f.save(removed, added)

	f.mu.Lock()
	defer f.mu.Unlock()
	f.writing = false
	if err != nil {
		for id := range removed.used {
			f.removed.used[id] = struct{}{}
		}
		for key, until := range removed.dropped {
			f.removed.drop(key, until, 2*f.maxKeys)
		}
		return fmt.Errorf("pool: session file: %w", err)
	}
	// The table has the sessions of other processes. Add the changes of this process.
	for _, e := range added {
		e.saved = true
	}
	f.removed.apply(table)
	for _, e := range f.unsaved() {
		table.add(e)
	}
	f.table = table
	return nil
}

// unsaved returns the sessions that are not in the file, oldest first.
func (f *SessionFile) unsaved() []*savedSession {
	var all []*savedSession
	for e := range f.table.each() {
		if !e.saved {
			all = append(all, e)
		}
	}
	slices.Reverse(all)
	return all
}

// Close writes all changes. The store can still be used, but writes only when Flush is
// called.
func (f *SessionFile) Close() error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	return f.Flush()
}
