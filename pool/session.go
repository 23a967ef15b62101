package pool

import (
	"container/list"
	"crypto/tls"
	"sync"
)

// A SessionStore keeps TLS sessions between connections, and maybe between
// runs. It must be safe for concurrent use.
type SessionStore interface {
	// Get returns the newest session for key, or nil.
	Get(key SessionKey) *tls.ClientSessionState
	// Put keeps a session for key in place of an older one; nil drops what
	// there is, because the server refused it.
	Put(key SessionKey, session *tls.ClientSessionState)
}

// A SessionKey is what connections must have in common to resume a session:
// none may cross from one to another.
type SessionKey struct {
	Host, Port string
	QUIC       bool   // sessions of TCP and QUIC differ
	Trust      string // names the certificate authorities, or that nothing is verified
	Identity   string // names the client certificate; empty: none
}

// A sessionCache is the store in memory: the newest session of each key, those
// used most recently, up to a number.
type sessionCache struct {
	mu      sync.Mutex
	most    int
	entries map[SessionKey]*list.Element
	recent  list.List // of *sessionEntry, the one used last in front
}

type sessionEntry struct {
	key   SessionKey
	state *tls.ClientSessionState
}

func newSessionCache(most int) *sessionCache {
	return &sessionCache{most: most, entries: make(map[SessionKey]*list.Element)}
}

func (s *sessionCache) Get(key SessionKey) *tls.ClientSessionState {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[key]
	if !ok {
		return nil
	}
	s.recent.MoveToFront(e)
	return e.Value.(*sessionEntry).state
}

func (s *sessionCache) Put(key SessionKey, state *tls.ClientSessionState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[key]
	switch {
	case state == nil && ok:
		s.recent.Remove(e)
		delete(s.entries, key)
	case state == nil:
	case ok:
		e.Value.(*sessionEntry).state = state
		s.recent.MoveToFront(e)
	default:
		s.entries[key] = s.recent.PushFront(&sessionEntry{key, state})
		if s.recent.Len() > s.most {
			oldest := s.recent.Back()
			s.recent.Remove(oldest)
			delete(s.entries, oldest.Value.(*sessionEntry).key)
		}
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

// keyedSessions is a store as crypto/tls sees it on the connections of one
// origin. crypto/tls asks by server name, which is not enough.
type keyedSessions struct {
	store SessionStore
	key   SessionKey
}

func (k *keyedSessions) Get(string) (*tls.ClientSessionState, bool) {
	state := k.store.Get(k.key)
	if state != nil && k.key.QUIC {
		state = copySession(state)
	}
	return state, state != nil
}

func (k *keyedSessions) Put(_ string, state *tls.ClientSessionState) { k.store.Put(k.key, state) }

// putOnly has nothing to resume.
type putOnly struct{ *keyedSessions }

func (putOnly) Get(string) (*tls.ClientSessionState, bool) { return nil, false }

// copySession returns a copy, or nil. Over QUIC the session that a connection
// resumes is written to: 0-RTT is taken out of it when it can't be used.
func copySession(state *tls.ClientSessionState) *tls.ClientSessionState {
	ticket, session, err := state.ResumptionState()
	if err != nil || session == nil {
		return nil
	}
	data, err := session.Bytes()
	if err != nil {
		return nil
	}
	again, err := loadSession(ticket, data)
	if err != nil {
		return nil
	}
	return again
}

func loadSession(ticket, data []byte) (*tls.ClientSessionState, error) {
	session, err := tls.ParseSessionState(data)
	if err != nil {
		return nil, err
	}
	return tls.NewResumptionState(ticket, session)
}
