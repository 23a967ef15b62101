package pool

import (
	"context"
	"crypto/tls"
	"sync"
)

// A SessionStore stores TLS sessions, possibly between runs, for example in a file
// ([SessionFile]) or in a database. It must be safe for concurrent use.
//
// A session is opaque. It can be resumed by this Go version only; the Pool ignores sessions
// that it cannot read. It holds secrets that can decrypt recorded connections.
//
// The Pool calls the store without a lock, so its methods may call Stats, Capacity,
// CloseIdleConnections and Close, and RoundTrip at another origin. Calls for one key are made in
// order. The context of a call has a deadline, 5 s away, and no values of a request. A handshake
// waits for Take, one second at most. After a wait of a second, no handshake waits for a minute.
// An error fails no request: the Pool logs the first one as a warning, and the handshake is a
// full one.
type SessionStore interface {
	// Take removes the newest session of key from the store and returns it, or returns nil. No
	// two calls may return the same session: the Pool offers each TLS 1.3 ticket to a server
	// once (RFC 8446 appendix C.4). A TLS 1.2 session may be offered several times, so the
	// Pool stores the session again with Put.
	Take(ctx context.Context, key SessionKey) (session []byte, err error)
	// Put adds a session of key. A store should keep the newest eight for 7 days at most,
	// because servers send one or two tickets per connection, and each ticket serves one
	// connection. A nil session removes all sessions of key, after the server failed on one of
	// them.
	Put(ctx context.Context, key SessionKey, session []byte) error
}

// A SessionKey identifies connections that may resume each other's sessions. The Pool uses a
// session only under its own key.
type SessionKey struct {
	Host, Port string // host in lower case, and port in decimal
	QUIC       bool   // TCP and QUIC have different sessions
	Trust      string // identifies the certificate authorities, or the absence of verification
	Identity   string // names the client certificate; empty means none
}

// A sessionStore is a store that the Pool can use directly. take leaves a reusable session in
// the store, so that concurrent dials can all resume it.
//
// A store that outlives the run keeps spare tickets of this run, one per connection. The next
// run opens as many connections at the same time, before any connection gets a ticket.
type sessionStore interface {
	take(key SessionKey, spare int) (session *tls.ClientSessionState, reusable bool)
	// put adds a session of key. Nil removes all sessions of key.
	put(key SessionKey, session *tls.ClientSessionState)
}

// A sessionCache is a store in memory.
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
		return nil, false // cannot happen: this process encoded the session
	}
	return session, e.reusable()
}

func (s *sessionCache) put(key SessionKey, session *tls.ClientSessionState) {
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

// sessionStore returns the store of the Pool's sessions, or nil.
func (p *Pool) sessionStore() sessionStore {
	c := &p.cfg
	if c.NoReuse || c.MaxSessions < 0 {
		return nil
	}
	if c.Sessions != nil {
		if _, named := c.trustName(); named {
			if f, ok := c.Sessions.(*SessionFile); ok {
				return f
			}
			return newUserSessions(c.Sessions, p.storeFailed("TLS sessions of the SessionStore are not used"))
		}
		c.Logger.Debug("TLS sessions are kept in memory: Trust is empty")
	}
	return newSessionCache(c.MaxSessions)
}

// keyedSessions are the sessions of one key. As a [tls.ClientSessionCache] it serves
// QUIC; the server name passed by crypto/tls is not a sufficient key.
type keyedSessions struct {
	store sessionStore
	key   SessionKey
}

// take returns a session to offer on one connection, or nil.
func (k *keyedSessions) take(spare int) (session *tls.ClientSessionState, reusable bool) {
	return k.store.take(k.key, spare)
}

func (k *keyedSessions) Get(string) (*tls.ClientSessionState, bool) {
	session, _ := k.take(0)
	return session, session != nil
}

func (k *keyedSessions) Put(_ string, session *tls.ClientSessionState) { k.store.put(k.key, session) }

// A sessionOffer is the [tls.ClientSessionCache] of one connection. It records the
// offered session.
type sessionOffer struct {
	*keyedSessions
	full     bool                    // offer no session, but store new ones
	reserve  int                     // number of tickets to spare, see sessionTaker
	session  *tls.ClientSessionState // the offered session
	reusable bool
}

func (s *sessionOffer) Get(string) (*tls.ClientSessionState, bool) {
	if s.full {
		return nil, false
	}
	s.session, s.reusable = s.take(s.reserve)
	return s.session, s.session != nil
}

// Put stores a session from the server. It ignores the nil that crypto/tls passes after a
// failed handshake, because dialTLS decides whether to drop the other sessions.
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
