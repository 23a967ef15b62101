package pool

import (
	"bytes"
	"context"
	"crypto/tls"
	"sync/atomic"
	"time"
)

// marshal returns a session for a user's [SessionStore], or nil. It is a session file with one
// session.
func (e *savedSession) marshal() []byte {
	if e == nil {
		return nil
	}
	table := newSessionTable(1)
	table.add(e)
	return appendSessions(nil, table)
}

// unmarshalSession returns the session of key that marshal encoded. It returns nil for one of
// another key or Go version, and for one that has expired.
func unmarshalSession(key SessionKey, data []byte) *savedSession {
	all, err := parseSessions(data)
	if err != nil || len(all) != 1 || all[0].key != key || all[0].expired(time.Now()) {
		return nil
	}
	all[0].saved = false
	return all[0]
}

// userSessions are the sessions in a user's [SessionStore].
type userSessions struct {
	store SessionStore
	calls *storeCalls[SessionKey]
}

func newUserSessions(s SessionStore, failed func(error)) *userSessions {
	return &userSessions{store: s, calls: newStoreCalls[SessionKey](failed)}
}

// take waits for the store, for storeWait at most. It stores a session again that comes later.
func (u *userSessions) take(key SessionKey, _ int) (*tls.ClientSessionState, bool) {
	var data []byte
	var decided atomic.Bool // data is set, or not waited for any more
	done := u.calls.add(key, func(ctx context.Context) error {
		if decided.Load() {
			return nil
		}
		session, err := u.store.Take(ctx, key)
		data = bytes.Clone(session)
		if !decided.Swap(true) || data == nil || err != nil {
			return err
		}
		return u.store.Put(ctx, key, data)
	})
	u.calls.await(context.Background(), done)
	if !decided.Swap(true) {
		return nil, false // too late
	}
	e := unmarshalSession(key, data)
	if e == nil {
		return nil, false
	}
	session, err := e.session()
	if err != nil {
		return nil, false
	}
	if e.reusable() {
		u.put(key, session)
	}
	return session, e.reusable()
}

func (u *userSessions) put(key SessionKey, session *tls.ClientSessionState) {
	var data []byte
	if session != nil {
		if data = newSavedSession(key, session).marshal(); data == nil {
			return
		}
	}
	u.calls.add(key, func(ctx context.Context) error { return u.store.Put(ctx, key, data) })
}
