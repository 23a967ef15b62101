package pool_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// callbackStores are an OriginStore and a SessionStore that call back into the Pool. Their
// content is like that of a database.
type callbackStores struct {
	mu       sync.Mutex
	origins  map[string][]byte
	sessions map[pool.SessionKey][][]byte
	back     func(caller, origin string)
	calls    atomic.Int64
	lifeless atomic.Int64 // calls whose context had no deadline
}

func newCallbackStores(back func(caller, origin string)) *callbackStores {
	return &callbackStores{origins: make(map[string][]byte), sessions: make(map[pool.SessionKey][][]byte), back: back}
}

func (s *callbackStores) call(ctx context.Context, caller, origin string) {
	s.calls.Add(1)
	if _, ok := ctx.Deadline(); !ok {
		s.lifeless.Add(1)
	}
	s.back(caller, origin)
}

func (s *callbackStores) Get(ctx context.Context, origin string) ([]byte, error) {
	s.call(ctx, "Get", origin)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.origins[origin], nil
}

func (s *callbackStores) Put(ctx context.Context, origin string, data []byte) error {
	s.call(ctx, "Put", origin)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.origins[origin] = data
	return nil
}

// callbackSessions is the SessionStore of callbackStores.
type callbackSessions struct{ *callbackStores }

func (s callbackSessions) Take(ctx context.Context, key pool.SessionKey) ([]byte, error) {
	s.call(ctx, "Take", "https://"+key.Host+":"+key.Port)
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.sessions[key]
	if len(all) == 0 {
		return nil, nil
	}
	s.sessions[key] = all[:len(all)-1]
	return all[len(all)-1], nil
}

func (s callbackSessions) Put(ctx context.Context, key pool.SessionKey, session []byte) error {
	s.call(ctx, "PutSession", "https://"+key.Host+":"+key.Port)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[key] = append(s.sessions[key], session); session == nil {
		delete(s.sessions, key)
	}
	return nil
}

// An OriginStore, a SessionStore and OnEvent call Stats, CloseIdleConnections, Capacity and RoundTrip at
// a connected origin.
func TestUserCodeMayCallBack(t *testing.T) {
	t.Parallel() // the test mostly waits
	ca, err := rdaptest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	connected, s := rdaptest.Start(t, rdaptest.Config{CA: ca}), rdaptest.Start(t, rdaptest.Config{CA: ca})
	var p *pool.Pool
	var ready atomic.Bool
	var events, requests atomic.Int64
	back := func(_, origin string) {
		if !ready.Load() || origin == "https://"+connected.Addr() {
			return
		}
		p.Stats()
		p.CloseIdleConnections()
		p.Capacity(origin, 4)
		if _, err := get(t.Context(), p, connected.URL()+"domain/callback.example"); err != nil && !errors.Is(err, pool.ErrClosed) {
			t.Error(err)
		}
		requests.Add(1)
	}
	store := newCallbackStores(back)
	p = newPool(t, s, pool.Config{Origins: store, Sessions: callbackSessions{store}, Trust: "test", OnEvent: func(e pool.Event) {
		events.Add(1)
		back("OnEvent", e.Origin)
	}})
	within(t, "the Pool", hang, func() {
		if _, err := get(t.Context(), p, connected.URL()+"domain/first.example"); err != nil {
			t.Error(err)
		}
		ready.Store(true)
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				if _, err := get(t.Context(), p, fmt.Sprintf("%sdomain/name%d.example", s.URL(), i)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		p.CloseIdleConnections() // stores the observed properties of the connections
		p.Close()
	})
	if store.calls.Load() == 0 || events.Load() == 0 || requests.Load() == 0 {
		t.Errorf("%d calls of the store, %d events, %d requests from them", store.calls.Load(), events.Load(), requests.Load())
	}
	store.mu.Lock()
	defer store.mu.Unlock()
	if info := pool.DecodeOriginInfo(store.origins["https://"+s.Addr()]); info.Protocol != "h2" {
		t.Errorf("the store has %+v", info)
	}
	if n := store.lifeless.Load(); n != 0 || len(store.sessions) != 2 {
		t.Errorf("%d calls without a deadline; sessions of %d servers", n, len(store.sessions))
	}
}

// Close does not wait for callbacks if a callback calls Close. The test sets such a high limit
// for the wait that a wait would hang the test.
func TestCloseInCallback(t *testing.T) {
	t.Parallel() // the test mostly waits
	for _, from := range []string{"Get", "Put", "Take", "PutSession", "OnEvent"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			s := rdaptest.Start(t, rdaptest.Config{})
			var p *pool.Pool
			var once sync.Once
			closed := make(chan struct{})
			closeIn := func(caller string) {
				if caller == from {
					once.Do(func() {
						p.Close()
						close(closed)
					})
				}
			}
			store := newCallbackStores(func(caller, _ string) { closeIn(caller) })
			p = newPool(t, s, pool.Config{Origins: store, Sessions: callbackSessions{store}, Trust: "test", OnEvent: func(pool.Event) { closeIn("OnEvent") }})
			p.SetCloseLimit(time.Hour)
			within(t, "Close", hang, func() {
				_, _ = get(t.Context(), p, s.URL()+"domain/a.example") // fails if the Pool is closed by then
				p.CloseIdleConnections()
				<-closed
			})
			if _, err := get(t.Context(), p, s.URL()+"domain/b.example"); !errors.Is(err, pool.ErrClosed) {
				t.Errorf("a closed Pool: %v", err)
			}
		})
	}
}
