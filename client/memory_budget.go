package client

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
)

// A memoryBudget counts the bytes of bodies in memory: bodies that are being read, and bodies
// of results that the consumer has not finished with.
//
// Readers wait for room. Several readers may each hold a part of a body and wait for more. To
// prevent a deadlock, one reader at a time may exceed the limit. It may exceed the limit until
// the sum is below the limit again, or the reader releases its bytes or waits for something
// else. The sum will decrease, because the consumer releases its results without needing the
// waiting readers. Each Batch has its own budget, and single lookups share one, so that the
// loop over the results of a Batch may look names up.
type memoryBudget struct {
	max      int64
	used     atomic.Int64
	watchers atomic.Int32 // waiting readers, plus one while a task holds the overdraft

	mu        sync.Mutex
	room      sync.Cond
	overdraft *task // may exceed the limit; nil means no task may
}

func newMemoryBudget(most int64) *memoryBudget {
	b := &memoryBudget{max: most}
	b.room.L = &b.mu
	return b
}

// take adds n bytes to those of t. It waits until there is room, or returns the error
// of ctx.
func (b *memoryBudget) take(ctx context.Context, t *task, n int64) error {
	if b.fit(n) {
		t.reserved += n
		return nil
	}
	defer context.AfterFunc(ctx, b.wakeWaiters)()
	t.clock.Pause() // the server is not the cause of this wait
	defer t.clock.Resume()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchers.Add(1)
	defer b.watchers.Add(-1)
	for !b.fit(n) {
		if b.overdraft == nil {
			b.overdraft = t
			b.watchers.Add(1)
		}
		if b.overdraft == t {
			b.used.Add(n)
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		b.room.Wait()
	}
	t.reserved += n
	return nil
}

// fit adds n bytes if there is room. It never adds bytes tentatively, because passOn compares
// the sum with the limit.
func (b *memoryBudget) fit(n int64) bool {
	for {
		used := b.used.Load()
		if used+n > b.max {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// wakeWaiters wakes the waiting readers.
func (b *memoryBudget) wakeWaiters() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.room.Broadcast()
}

// release returns the bytes of t; t may be nil.
func (b *memoryBudget) release(t *task) {
	if t == nil {
		return
	}
	if t.reserved != 0 {
		b.used.Add(-t.reserved)
		t.reserved = 0
	}
	b.passOn(t)
}

// yield records that t waits for something other than memory. It releases the bytes of an
// incomplete body. Bytes that t keeps still count, but another reader may exceed the limit,
// because t may wait for that reader.
func (b *memoryBudget) yield(t *task) {
	if t.result.Raw == nil {
		b.release(t)
	} else {
		b.passOn(t)
	}
}

// passOn wakes the waiting readers. It ends the overdraft if t holds it, or if the sum no
// longer exceeds the limit.
func (b *memoryBudget) passOn(t *task) {
	if b.watchers.Load() == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.overdraft == t || b.overdraft != nil && b.used.Load() <= b.max {
		b.overdraft = nil
		b.watchers.Add(-1)
	}
	b.room.Broadcast()
}

// underPressure reports whether no lookup should begin, because lookups in flight need the
// room.
func (b *memoryBudget) underPressure() bool { return b.used.Load() > b.max/2 }

// A metered reader adds what it reads to the budget of its task.
type metered struct {
	io.Reader
	ctx  context.Context
	task *task
}

func (m metered) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if n > 0 {
		if full := m.task.memory.take(m.ctx, m.task, int64(n)); full != nil {
			return n, full
		}
	}
	return n, err
}
