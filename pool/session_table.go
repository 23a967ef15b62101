package pool

import (
	"container/list"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"iter"
	"slices"
	"time"
)

// maxTickets is the number of TLS 1.3 tickets stored per key, which is the largest number of
// connections that a deep queue opens.
const maxTickets = 8

// A savedSession is one session. It is immutable except for saved, which the lock of its
// store guards.
type savedSession struct {
	key     SessionKey
	stored  int64 // time of storing, as Unix time in nanoseconds
	version uint16
	ticket  []byte

	// live is the session. If nil, three parts hold its encoding, and sessions of one key may
	// share the middle part. A QUIC session is stored encoded, because the connection that
	// resumes it modifies it.
	live  *tls.ClientSessionState
	state [3][]byte

	fresh bool // the session was created in this run
	saved bool // the session was written to the file
}

// newSavedSession returns e for a session. It returns nil for a nil session, and for a session
// that cannot be encoded or is too large.
func newSavedSession(key SessionKey, session *tls.ClientSessionState) *savedSession {
	ticket, state, err := session.ResumptionState()
	if err != nil || state == nil {
		return nil
	}
	encoded, err := state.Bytes()
	if err != nil {
		return nil
	}
	if len(ticket)+len(encoded) > maxSessionSize {
		return nil
	}
	e := &savedSession{key: key, stored: time.Now().UnixNano(), version: versionOf(encoded), ticket: ticket, fresh: true}
	if key.QUIC {
		e.state[0] = encoded
	} else {
		e.live = session
	}
	return e
}

// versionOf returns the TLS version of an encoded session: its first two bytes.
// The encoding belongs to crypto/tls. If it changes, sessions count as TLS 1.3
// sessions, which are used once.
func versionOf(state []byte) uint16 {
	if len(state) < 2 {
		return tls.VersionTLS13
	}
	return binary.BigEndian.Uint16(state)
}

// reusable reports whether several connections may resume e. A TLS 1.3 ticket is used once,
// because a reused ticket would let an observer link the connections (RFC 8446 appendix C.4).
func (e *savedSession) reusable() bool {
	return e.version >= tls.VersionTLS10 && e.version <= tls.VersionTLS12
}

// encoded returns the state of e in the encoding of crypto/tls, or nil.
func (e *savedSession) encoded() []byte {
	if e.live == nil {
		return slices.Concat(e.state[:]...)
	}
	_, state, err := e.live.ResumptionState()
	if err != nil || state == nil {
		return nil
	}
	b, err := state.Bytes()
	if err != nil {
		return nil
	}
	return b
}

// session returns e in the form that a connection can resume.
func (e *savedSession) session() (*tls.ClientSessionState, error) {
	if e.live != nil {
		return e.live, nil
	}
	return loadSession(e.ticket, e.encoded())
}

func loadSession(ticket, data []byte) (*tls.ClientSessionState, error) {
	session, err := tls.ParseSessionState(data)
	if err != nil {
		return nil, err
	}
	return tls.NewResumptionState(ticket, session)
}

// expired reports whether e is too old to be offered. The age counts from the time of storing,
// because crypto/tls does not report when a session expires.
func (e *savedSession) expired(now time.Time) bool {
	age := now.Sub(time.Unix(0, e.stored))
	if age < -clockSkew || age > maxSessionAgeTLS13 {
		return true
	}
	return e.version != tls.VersionTLS13 && age > maxSessionAgeTLS12
}

// A sessionID identifies a session, also between processes.
type sessionID struct {
	key    SessionKey
	ticket [sha256.Size]byte
}

func (e *savedSession) id() sessionID { return sessionID{e.key, sha256.Sum256(e.ticket)} }

// A sessionTable holds the sessions of the most recently used keys. Its owner locks
// it.
type sessionTable struct {
	maxKeys int
	keys    map[SessionKey]*list.Element
	recent  list.List // holds *keySessions, most recently used first
}

// keySessions holds the sessions of one key, newest first: at most maxTickets, and one reusable
// session among them.
type keySessions struct {
	key      SessionKey
	sessions []*savedSession
}

func newSessionTable(maxKeys int) *sessionTable {
	return &sessionTable{maxKeys: maxKeys, keys: make(map[SessionKey]*list.Element)}
}

// add inserts e by its age. It replaces an equal session, and removes the oldest sessions
// beyond the limits.
func (t *sessionTable) add(e *savedSession) {
	at, ok := t.keys[e.key]
	if !ok {
		at = t.recent.PushFront(&keySessions{key: e.key})
		t.keys[e.key] = at
		if t.recent.Len() > t.maxKeys {
			t.drop(t.recent.Back().Value.(*keySessions).key)
		}
	}
	t.recent.MoveToFront(at)
	k := at.Value.(*keySessions)
	newer := slices.IndexFunc(k.sessions, func(x *savedSession) bool { return x.reusable() && e.reusable() && x.stored > e.stored })
	if newer >= 0 {
		return
	}
	k.sessions = slices.DeleteFunc(k.sessions, func(x *savedSession) bool {
		return x.reusable() && e.reusable() || slices.Equal(x.ticket, e.ticket)
	})
	i := slices.IndexFunc(k.sessions, func(x *savedSession) bool { return x.stored <= e.stored })
	if i < 0 {
		i = len(k.sessions)
	}
	k.sessions = slices.Insert(k.sessions, i, e)
	if len(k.sessions) > maxTickets {
		clear(k.sessions[maxTickets:])
		k.sessions = k.sessions[:maxTickets]
	}
}

// newest returns the newest session of key, or nil. Using a key keeps it from
// being replaced.
func (t *sessionTable) newest(key SessionKey) *savedSession { return t.newestBeyond(key, 0) }

// newestBeyond is like newest, but leaves spare tickets of this run in the table.
func (t *sessionTable) newestBeyond(key SessionKey, spare int) *savedSession {
	at, ok := t.keys[key]
	if !ok {
		return nil
	}
	t.recent.MoveToFront(at)
	all := at.Value.(*keySessions).sessions
	for _, e := range all {
		if len(all) > spare || !e.fresh || e.reusable() {
			return e
		}
	}
	return nil
}

// remove removes the sessions of key that gone accepts.
func (t *sessionTable) remove(key SessionKey, gone func(*savedSession) bool) {
	at, ok := t.keys[key]
	if !ok {
		return
	}
	k := at.Value.(*keySessions)
	if k.sessions = slices.DeleteFunc(k.sessions, gone); len(k.sessions) == 0 {
		t.drop(key)
	}
}

// drop removes all sessions of key.
func (t *sessionTable) drop(key SessionKey) {
	if at, ok := t.keys[key]; ok {
		t.recent.Remove(at)
		delete(t.keys, key)
	}
}

// each yields the sessions by key, most recently used first, and for each key the
// newest session first. Sessions of the current key may be removed meanwhile.
func (t *sessionTable) each() iter.Seq[*savedSession] {
	return func(yield func(*savedSession) bool) {
		for at := t.recent.Front(); at != nil; {
			k := at.Value.(*keySessions)
			at = at.Next()
			for _, e := range slices.Clone(k.sessions) {
				if !yield(e) {
					return
				}
			}
		}
	}
}
