package pool

import (
	"context"
	"crypto/tls"
	"net/netip"
	"time"
)

// OriginInfo is the information about an origin.
type OriginInfo = originInfo

// InfoOf returns the information about an origin.
func (p *Pool) InfoOf(origin string) OriginInfo { return p.store.info(origin) }

// Info returns the information about an origin.
func (s *OriginFile) Info(origin string) OriginInfo { return s.info(origin) }

// Update changes the information about an origin.
func (s *OriginFile) Update(origin string, change func(*OriginInfo)) { s.update(origin, change) }

// DecodeOriginInfo decodes the data in an OriginStore.
func DecodeOriginInfo(data []byte) OriginInfo { return decodeOriginInfo(data) }

// TrustWindows lets net/http see the WINDOW_UPDATE frames that make net/http take the lock of
// its connection twice.
func (p *Pool) TrustWindows() { p.dialer.trustWindows = true }

// AbandonTime is the maximum time to detect that net/http does not return.
const AbandonTime time.Duration = returnCheckAfter + lockTimeout

// SetLookup replaces the resolver of a Pool, which must not have been used.
func (p *Pool) SetLookup(f func(ctx context.Context, network, host string) ([]netip.Addr, error)) {
	p.dialer.resolver.lookup = f
}

// PutState adds a session, or removes those of a key.
func (f *SessionFile) PutState(key SessionKey, session *tls.ClientSessionState) { f.put(key, session) }

// RekeySession returns a session of a SessionStore under another key.
func RekeySession(data []byte, key SessionKey) []byte {
	all, err := parseSessions(data)
	if err != nil {
		return nil
	}
	all[0].key = key
	return all[0].marshal()
}

// Peek returns the session that Take would return, but does not remove it.
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

// SetTCPFailedGrace replaces the time that HTTP/3 gets after TCP has failed.
func (p *Pool) SetTCPFailedGrace(d time.Duration) { p.tcpFailedGrace = d }

// SetCloseLimit replaces the limit of the time that Close waits.
func (p *Pool) SetCloseLimit(d time.Duration) { p.closeLimit = d }

// EndedConns returns the number of connections that have ended although their requests have
// not.
func (p *Pool) EndedConns() int {
	n := 0
	for _, o := range p.all() {
		o.mu.Lock()
		for _, c := range o.conns {
			if c.cc.Err() != nil {
				n++
			}
		}
		o.mu.Unlock()
	}
	return n
}
