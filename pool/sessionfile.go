package pool

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A SessionFile is a [SessionStore] in a file, so that the next run of a
// program resumes the sessions of this one. Several processes may use the same
// file at once: what each stores is merged, the newest session of a server
// wins.
//
// The file holds secrets by which recorded connections can be read. It is made
// for its owner alone, and one that others could have read or written is not
// believed. Nor is one of another Go version, as the form of a session is that
// version's own. Not believed means that it is logged and replaced; looking a
// session up never fails.
//
// Changes are written by Flush and Close, and some time after they were made.
type SessionFile struct {
	path string
	most int
	log  *slog.Logger

	saving sync.Mutex // one save at a time; taken before mu

	mu      sync.Mutex
	entries map[SessionKey]*savedSession
	changed map[SessionKey]*savedSession // since the last save
	timer   *time.Timer                  // saves; nil when nothing has changed
	closed  bool
}

// A savedSession is never changed but for live, which SessionFile.mu guards.
type savedSession struct {
	key           SessionKey
	stored        int64 // when, in nanoseconds of Unix time
	ticket, state []byte
	live          *tls.ClientSessionState // parsed state, once somebody asked
	gone          bool                    // no session: drops those stored until then
}

// saveAfter is how long a change waits to be written, unless Flush comes first.
const saveAfter = 15 * time.Second

// Lifetimes. RFC 8446 section 4.6.1 allows seven days, and crypto/tls keeps to
// what the server said if that is less. For TLS 1.2 the server says nothing
// binding, and there is no new key exchange: RFC 5246 appendix F.1.4 suggests
// a day at most.
const (
	maxAgeTLS13 = 7 * 24 * time.Hour
	maxAgeTLS12 = 24 * time.Hour
	clockSkew   = time.Hour // a session from further in the future is none
)

// OpenSessionFile opens the store at path, which need not exist: it and its
// directory are made when something is written. It keeps the newest most
// sessions; 0 means DefaultMaxSessions. A nil log is silent.
//
// The error is that there can be no such file. One that is broken is replaced.
func OpenSessionFile(path string, most int, log *slog.Logger) (*SessionFile, error) {
	if most <= 0 {
		most = DefaultMaxSessions
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f := &SessionFile{path: path, most: most, log: log, changed: make(map[SessionKey]*savedSession)}
	info, err := os.Stat(path)
	switch {
	case path == "":
		return nil, errors.New("pool: session file without a name")
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("pool: session file %s: not a regular file", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("pool: session file: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("pool: session file: %w", err)
	}
	f.entries = byKey(f.read())
	bound(f.entries, f.most)
	return f, nil
}

// Get implements [SessionStore].
func (f *SessionFile) Get(key SessionKey) *tls.ClientSessionState {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.entries[key]
	if e == nil {
		return nil
	}
	if e.expired(time.Now()) {
		f.drop(e)
		return nil
	}
	if e.live == nil {
		var err error
		if e.live, err = loadSession(e.ticket, e.state); err != nil {
			f.log.Warn("saved TLS session is broken", "file", f.path, "server", key.Host, "error", err)
			f.drop(e)
			return nil
		}
	}
	return e.live
}

// Put implements [SessionStore].
func (f *SessionFile) Put(key SessionKey, session *tls.ClientSessionState) {
	e := newSavedSession(key, session)
	f.mu.Lock()
	defer f.mu.Unlock()
	if e == nil {
		if old := f.entries[key]; old != nil {
			f.drop(old)
		}
		return
	}
	f.entries[key] = e
	bound(f.entries, f.most)
	f.change(e)
}

// newSavedSession returns nil for no session, and for one that can't be saved.
func newSavedSession(key SessionKey, session *tls.ClientSessionState) *savedSession {
	ticket, state, err := session.ResumptionState()
	if err != nil || state == nil {
		return nil
	}
	e := &savedSession{key: key, stored: time.Now().UnixNano(), ticket: ticket, live: session}
	if e.state, err = state.Bytes(); err != nil || e.size() > maxSessionSize {
		return nil
	}
	return e
}

// drop takes out e, and what other processes saved before it.
func (f *SessionFile) drop(e *savedSession) {
	delete(f.entries, e.key)
	f.change(&savedSession{key: e.key, stored: e.stored, gone: true})
}

func (f *SessionFile) change(e *savedSession) {
	f.changed[e.key] = e
	bound(f.changed, 2*f.most) // drops among them
	if f.timer == nil && !f.closed {
		f.timer = time.AfterFunc(saveAfter, func() {
			if err := f.Flush(); err != nil {
				f.log.Warn("TLS sessions could not be saved", "file", f.path, "error", err)
			}
		})
	}
}

// Flush writes what has changed since it was written last. What can't be
// written is tried again with the next change.
func (f *SessionFile) Flush() error {
	f.saving.Lock()
	defer f.saving.Unlock()
	f.mu.Lock()
	changed := f.changed
	f.changed = make(map[SessionKey]*savedSession)
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	f.mu.Unlock()
	if len(changed) == 0 {
		return nil
	}
	saved, err := f.save(changed)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		for key, e := range changed {
			if f.changed[key] == nil {
				f.changed[key] = e
			}
		}
		bound(f.changed, 2*f.most)
		return fmt.Errorf("pool: session file: %w", err)
	}
	// Other processes may have newer ones.
	for key, e := range saved {
		have := f.entries[key]
		if change := f.changed[key]; change != nil && change.stored >= e.stored {
			continue
		}
		if have == nil || have.stored < e.stored {
			f.entries[key] = e
		}
	}
	bound(f.entries, f.most)
	return nil
}

// Close writes what has changed. The store can still be used, but writes only
// when Flush is called.
func (f *SessionFile) Close() error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	return f.Flush()
}
