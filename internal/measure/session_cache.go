package measure

import (
	"crypto/tls"
	"slices"
	"sync"

	"github.com/rdapq/rdapq/pool"
)

// A sessionCache is the sessions that the runs of one mode leave to the next: those of
// this process only, never the user's.
type sessionCache struct {
	mu       sync.Mutex
	sessions map[pool.SessionKey][]*tls.ClientSessionState // oldest first
}

// maxTickets is how many tickets of a server a [pool.SessionFile] keeps, too.
const maxTickets = 8

func newSessionCache() *sessionCache {
	return &sessionCache{sessions: make(map[pool.SessionKey][]*tls.ClientSessionState)}
}

func (m *sessionCache) Get(key pool.SessionKey) *tls.ClientSessionState {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.sessions[key]
	if len(all) == 0 {
		return nil
	}
	newest := all[len(all)-1]
	m.sessions[key] = slices.Delete(all, len(all)-1, len(all))
	return newest
}

func (m *sessionCache) Put(key pool.SessionKey, session *tls.ClientSessionState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if session == nil {
		delete(m.sessions, key)
		return
	}
	all := append(m.sessions[key], session)
	m.sessions[key] = slices.Delete(all, 0, max(0, len(all)-maxTickets))
}
