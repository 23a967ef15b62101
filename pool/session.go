package pool

import (
	"crypto/tls"
	"sync"
)

// A SessionStore keeps TLS sessions between connections, and possibly between
// runs. It must be safe for concurrent use, and must not use the Pool.
type SessionStore interface {
	// Get removes the newest session of key from the store and returns it, or
	// returns nil. The Pool offers each TLS 1.3 ticket to a server once (RFC 8446
	// appendix C.4). A TLS 1.2 session may be offered several times: the Pool
	// stores it again with Put.
	Get(key SessionKey) *tls.ClientSessionState
	// Put adds a session of key. A store should keep the newest eight: servers
	// send one or two tickets per connection, and each serves one connection. A
	// nil session removes all sessions of key, because the server failed on one.
	Put(key SessionKey, session *tls.ClientSessionState)
}

// A SessionKey is what connections must have in common to resume a session. No
// session is used under another key.
type SessionKey struct {
	Host, Port string
	QUIC       bool   // sessions of TCP and QUIC differ
	Trust      string // names the certificate authorities, or that nothing is verified
	Identity   string // names the client certificate; empty: none
}

// A sessionTaker is a store of this package. Its take leaves a reusable session
// in the store, so that connections made at the same time can all resume it.
//
// A store that outlives the run keeps as many of this run's tickets as spare
// says, one for each connection: the next run opens as many connections, and
// opens them at the same time, before any of them brings a ticket. A ticket saves
// as much then as it would save now.
type sessionTaker interface {
	take(key SessionKey, spare int) (session *tls.ClientSessionState, reusable bool)
}

// A sessionCache is the store in memory.
type sessionCache struct {
	mu    sync.Mutex
	table *sessionTable
}

func newSessionCache(maxKeys int) *sessionCache {
	return &sessionCache{table: newSessionTable(maxKeys)}
}

func (s *sessionCache) take(key SessionKey, _ int) (*tls.ClientSessionState, bool) {
	s.mu.Lock()
	e := s.table.newest(key)
	if e != nil && !e.reusable() {
		s.table.remove(key, func(x *savedSession) bool { return x == e })
	}
	s.mu.Unlock()
	if e == nil {
		return nil, false
	}
	session, err := e.session()
	if err != nil {
		return nil, false // it was encoded by this process
	}
	return session, e.reusable()
}

func (s *sessionCache) Get(key SessionKey) *tls.ClientSessionState {
	session, reusable := s.take(key, 0)
	if reusable {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.table.remove(key, func(x *savedSession) bool { return x.live == session })
	}
	return session
}

func (s *sessionCache) Put(key SessionKey, session *tls.ClientSessionState) {
	e := newSavedSession(key, session)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case session == nil:
		s.table.drop(key)
	case e != nil:
		s.table.add(e)
	}
}

// sessionStore returns what keeps the Pool's sessions, nil for nothing.
func (c *Config) sessionStore() SessionStore {
	if c.NoReuse || c.MaxSessions < 0 {
		return nil
	}
	if c.Sessions != nil {
		if _, named := c.trustName(); named {
			return c.Sessions
		}
		c.Logger.Debug("sessions stay in the pool: nothing names what it trusts")
	}
	return newSessionCache(c.MaxSessions)
}

// keyedSessions are the sessions of one key. As a [tls.ClientSessionCache] it
// serves QUIC; crypto/tls passes it a server name, which is not enough.
type keyedSessions struct {
	store SessionStore
	key   SessionKey
}

// take returns a session to be offered on one connection, or nil.
func (k *keyedSessions) take(spare int) (session *tls.ClientSessionState, reusable bool) {
	if t, ok := k.store.(sessionTaker); ok {
		return t.take(k.key, spare)
	}
	if session = k.store.Get(k.key); session == nil {
		return nil, false
	}
	if e := newSavedSession(k.key, session); e != nil && e.reusable() {
		k.store.Put(k.key, session)
		reusable = true
	}
	return session, reusable
}

func (k *keyedSessions) Get(string) (*tls.ClientSessionState, bool) {
	session, _ := k.take(0)
	return session, session != nil
}

func (k *keyedSessions) Put(_ string, session *tls.ClientSessionState) { k.store.Put(k.key, session) }

// A sessionOffer is the [tls.ClientSessionCache] of one connection. It records
// which session the handshake offered.
type sessionOffer struct {
	*keyedSessions
	full     bool                    // offer no session, but store those that the server sends
	reserve  int                     // see sessionTaker
	session  *tls.ClientSessionState // the one that was offered
	reusable bool
}

func (s *sessionOffer) Get(string) (*tls.ClientSessionState, bool) {
	if s.full {
		return nil, false
	}
	s.session, s.reusable = s.take(s.reserve)
	return s.session, s.session != nil
}

// Put stores a session that the server sent. crypto/tls passes nil after a
// failed handshake; [dialer.dialTLS] decides what that means for the others.
func (s *sessionOffer) Put(name string, session *tls.ClientSessionState) {
	if session != nil {
		s.keyedSessions.Put(name, session)
	}
}

// returnUnused stores the offered session again.
func (s *sessionOffer) returnUnused() {
	if s.session != nil && !s.reusable {
		s.keyedSessions.Put("", s.session)
	}
	s.session = nil
}
