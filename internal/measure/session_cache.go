package measure

import (
	"context"
	"slices"
	"sync"

	"github.com/rdapq/rdapq/pool"
)

// A sessionCache passes TLS sessions between the runs of one mode, within this process.
type sessionCache struct {
	mu       sync.Mutex
	sessions map[pool.SessionKey][][]byte // sessions by key, oldest first
}

// maxTickets limits the tickets per server, as in a [pool.SessionFile].
const maxTickets = 8

func newSessionCache() *sessionCache {
	return &sessionCache{sessions: make(map[pool.SessionKey][][]byte)}
}

// Take implements [pool.SessionStore].
func (m *sessionCache) Take(_ context.Context, key pool.SessionKey) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.sessions[key]
	if len(all) == 0 {
		return nil, nil
	}
	newest := all[len(all)-1]
	m.sessions[key] = slices.Delete(all, len(all)-1, len(all))
	return newest, nil
}

// Put implements [pool.SessionStore].
func (m *sessionCache) Put(_ context.Context, key pool.SessionKey, session []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if session == nil {
		delete(m.sessions, key)
		return nil
	}
	all := append(m.sessions[key], session)
	m.sessions[key] = slices.Delete(all, 0, max(0, len(all)-maxTickets))
	return nil
}
