package pool

import (
	"crypto/tls"
	"time"
)

// Peek returns the session that Get would return, and leaves it in the store.
func (f *SessionFile) Peek(key SessionKey) *tls.ClientSessionState {
	f.mu.Lock()
	e := f.table.newest(key)
	f.mu.Unlock()
	if e == nil || e.expired(time.Now()) {
		return nil
	}
	session, err := e.session()
	if err != nil {
		return nil
	}
	return session
}
