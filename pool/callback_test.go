package pool_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A callbackStore is an OriginStore that calls back into the Pool.
type callbackStore struct {
	mu      sync.Mutex
	origins map[string]pool.OriginInfo
	back    func(caller, origin string)
	calls   atomic.Int64
}

func (s *callbackStore) Get(origin string) pool.OriginInfo {
	s.calls.Add(1)
	s.back("Get", origin)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.origins[origin]
}

func (s *callbackStore) Update(origin string, change func(*pool.OriginInfo)) {
	s.calls.Add(1)
	s.back("Update", origin)
	s.mu.Lock()
	defer s.mu.Unlock()
	info := s.origins[origin]
	change(&info)
	s.origins[origin] = info
}

// An OriginStore and OnEvent call Stats, CloseIdleConnections, Capacity and RoundTrip at
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
	store := &callbackStore{origins: make(map[string]pool.OriginInfo), back: back}
	p = newPool(t, s, pool.Config{Origins: store, OnEvent: func(e pool.Event) {
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
	if info := store.origins["https://"+s.Addr()]; info.Protocol != "h2" {
		t.Errorf("the store has %+v", info)
	}
}

// Close does not wait for callbacks if a callback calls Close. The test sets such a high limit
// for the wait that a wait would hang the test.
func TestCloseInCallback(t *testing.T) {
	t.Parallel() // the test mostly waits
	for _, from := range []string{"Get", "Update", "OnEvent"} {
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
			store := &callbackStore{origins: make(map[string]pool.OriginInfo), back: func(caller, _ string) { closeIn(caller) }}
			p = newPool(t, s, pool.Config{Origins: store, OnEvent: func(pool.Event) { closeIn("OnEvent") }})
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
