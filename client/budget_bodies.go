package client

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
)

// bodies accounts for the octets of answers that are in memory: of those that
// are being read, and of those in results that the consumer has not done with.
//
// Readers wait for room. Several may each hold a part and wait for more; so that
// they cannot wait for one another for ever, one of them at a time may go over
// the bound, until everything is below it again, or what that one has taken is
// given back, or it waits for something else. As the consumer gives back what it
// has got, and needs nothing from those that wait, that time comes. So that it
// may ask for more beside that, in the loop over its results for instance, each
// Batch has an account of its own, and single lookups have one together.
type bodies struct {
	most    int64
	used    atomic.Int64
	watched atomic.Int32 // those who wait, and one more while somebody is over

	mu   sync.Mutex
	room sync.Cond
	over *task // may go over the bound; nil: nobody does
}

func newBodies(most int64) *bodies {
	b := &bodies{most: most}
	b.room.L = &b.mu
	return b
}

// take accounts n more octets to t. It waits until there is room, or ctx has
// ended, which is the error then.
func (b *bodies) take(ctx context.Context, t *task, n int64) error {
	if b.fit(n) {
		t.reserved += n
		return nil
	}
	defer context.AfterFunc(ctx, b.look)()
	t.clock.pause() // the server is not what is waited for
	defer t.clock.resume()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watched.Add(1)
	defer b.watched.Add(-1)
	for !b.fit(n) {
		if b.over == nil {
			b.over = t
			b.watched.Add(1)
		}
		if b.over == t {
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

// fit accounts for n more octets if there is room. Until it is known that there
// is, nothing of them shows: pass tells by the sum whether somebody is over.
func (b *bodies) fit(n int64) bool {
	for {
		used := b.used.Load()
		if used+n > b.most {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// look wakes those who wait.
func (b *bodies) look() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.room.Broadcast()
}

// release gives back what t has taken; t may be nil.
func (b *bodies) release(t *task) {
	if t == nil {
		return
	}
	if t.reserved != 0 {
		b.used.Add(-t.reserved)
		t.reserved = 0
	}
	b.pass(t)
}

// rest tells that t waits for something else than room. A body that nobody wants,
// as it broke off, takes none from then on. What t keeps does, but others may go
// over the bound: they may have what t waits for.
func (b *bodies) rest(t *task) {
	if t.result.Raw == nil {
		b.release(t)
	} else {
		b.pass(t)
	}
}

// pass lets those who wait look again, and one of them go over the bound if nobody
// has to any more, or t was the one.
func (b *bodies) pass(t *task) {
	if b.watched.Load() == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over == t || b.over != nil && b.used.Load() <= b.most {
		b.over = nil
		b.watched.Add(-1)
	}
	b.room.Broadcast()
}

// tight says that no more lookups should begin: those under way need the room.
func (b *bodies) tight() bool { return b.used.Load() > b.most/2 }

// metered accounts for what is read.
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
