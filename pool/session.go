package pool

import (
	"container/list"
	"crypto/tls"
	"sync"
)

// A sessionCache keeps the newest TLS session of each origin, those used most
// recently, up to a number. crypto/tls looks sessions up by server name alone;
// here the port counts too.
type sessionCache struct {
	mu      sync.Mutex
	most    int
	entries map[originKey]*list.Element
	recent  list.List // of *sessionEntry, the one used last in front
}

type sessionEntry struct {
	key   originKey
	state *tls.ClientSessionState
}

func newSessionCache(most int) *sessionCache {
	return &sessionCache{most: most, entries: make(map[originKey]*list.Element)}
}

// of returns the view of the cache that one origin's connections use.
func (s *sessionCache) of(key originKey) tls.ClientSessionCache { return originSessions{s, key} }

type originSessions struct {
	cache *sessionCache
	key   originKey
}

func (v originSessions) Get(string) (*tls.ClientSessionState, bool) {
	s := v.cache
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[v.key]
	if !ok {
		return nil, false
	}
	s.recent.MoveToFront(e)
	return e.Value.(*sessionEntry).state, true
}

// Put keeps a session; nil drops the one that the server refused.
func (v originSessions) Put(_ string, state *tls.ClientSessionState) {
	s := v.cache
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[v.key]
	switch {
	case state == nil && ok:
		s.recent.Remove(e)
		delete(s.entries, v.key)
	case state == nil:
	case ok:
		e.Value.(*sessionEntry).state = state
		s.recent.MoveToFront(e)
	default:
		s.entries[v.key] = s.recent.PushFront(&sessionEntry{v.key, state})
		if s.recent.Len() > s.most {
			oldest := s.recent.Back()
			s.recent.Remove(oldest)
			delete(s.entries, oldest.Value.(*sessionEntry).key)
		}
	}
}
