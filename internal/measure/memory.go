package measure

import (
	"crypto/tls"
	"sync"

	"github.com/rdapq/rdapq/pool"
)

// A memory is the sessions that the runs of one mode leave to the next. It is
// never the user's.
type memory struct {
	mu       sync.Mutex
	sessions map[pool.SessionKey]*tls.ClientSessionState
}

func newMemory() *memory {
	return &memory{sessions: make(map[pool.SessionKey]*tls.ClientSessionState)}
}

func (m *memory) Get(key pool.SessionKey) *tls.ClientSessionState {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sessions[key]
}

func (m *memory) Put(key pool.SessionKey, session *tls.ClientSessionState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if session == nil {
		delete(m.sessions, key)
		return
	}
	m.sessions[key] = session
}
