package pool

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rdapq/rdapq/internal/callback"
)

// Limits of the calls of a user's store.
const (
	storeWait      = time.Second     // wait of a request or a handshake for the store
	storePause     = time.Minute     // after such a wait, nothing waits for the store for that long
	storeTimeout   = 5 * time.Second // one call
	maxStoreCalls  = 64              // queued calls for one key; later calls are dropped
	maxStoreQueues = 1024            // keys with a running call; calls for others are dropped
)

// storeCalls calls a store of the user: in order for one key, and concurrently for several
// keys. It holds no lock of the Pool during a call.
type storeCalls[K comparable] struct {
	failed func(error) // called with each error

	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	slow   time.Time // until then nothing waits for the store
	queues map[K]*storeQueue
	idle   chan struct{} // closed when there is no queue; nil if there was none
}

// A storeQueue is the queue of calls for one key.
type storeQueue struct{ calls []storeCall }

type storeCall struct {
	f    func(context.Context) error
	done chan struct{} // closed when f has returned
}

func newStoreCalls[K comparable](failed func(error)) *storeCalls[K] {
	s := &storeCalls[K]{failed: failed, queues: make(map[K]*storeQueue)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// add queues a call of f, and returns a channel that is closed when f has returned or is
// dropped.
func (s *storeCalls[K]) add(key K, f func(context.Context) error) <-chan struct{} {
	c := storeCall{f, make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[key]
	switch {
	case q == nil && len(s.queues) >= maxStoreQueues, q != nil && len(q.calls) >= maxStoreCalls, s.ctx.Err() != nil:
		close(c.done)
		return c.done
	case q == nil:
		if len(s.queues) == 0 {
			s.idle = make(chan struct{})
		}
		q = new(storeQueue)
		s.queues[key] = q
		go s.run(key, q)
	}
	q.calls = append(q.calls, c)
	return c.done
}

func (s *storeCalls[K]) run(key K, q *storeQueue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(q.calls) > 0 {
		c := q.calls[0]
		q.calls = q.calls[1:]
		s.mu.Unlock()
		s.call(c)
		s.mu.Lock()
	}
	if delete(s.queues, key); len(s.queues) == 0 {
		close(s.idle)
	}
}

func (s *storeCalls[K]) call(c storeCall) {
	defer close(c.done)
	if s.ctx.Err() != nil {
		return // the Pool is closed
	}
	ctx, cancel := context.WithTimeout(s.ctx, storeTimeout)
	defer cancel()
	var err error
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
		if err != nil && s.ctx.Err() == nil {
			s.failed(err)
		}
	}()
	callback.Do(func() { err = c.f(ctx) })
}

// await waits for a call, for storeWait at most.
func (s *storeCalls[K]) await(ctx context.Context, done <-chan struct{}) {
	s.mu.Lock()
	slow := time.Now().Before(s.slow)
	s.mu.Unlock()
	if slow {
		return
	}
	timer := time.NewTimer(storeWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-ctx.Done():
	case <-timer.C:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.slow = time.Now().Add(storePause)
	}
}

// wait returns when no call is queued.
func (s *storeCalls[K]) wait() {
	s.mu.Lock()
	idle := s.idle
	s.mu.Unlock()
	if idle != nil {
		<-idle
	}
}
