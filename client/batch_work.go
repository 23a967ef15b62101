package client

import (
	"time"

	"github.com/rdapq/rdapq/internal/gate"
)

// An itemOutcome is the next action of a worker on an item.
type itemOutcome int

const (
	outcomeCompleted itemOutcome = iota // the result may have links to follow
	outcomeDone                         // the result is complete
	outcomeRequeue                      // the item goes back to the queue
	outcomeCoalesced                    // the item shares the result of another item
)

// work takes inputs from the queue until there are none left.
func (b *Batch) work() {
	for {
		if !b.workOne() {
			return
		}
	}
}

// workOne processes one item of the queue. It returns false if there are no more, and
// after a panic, which the loop over the results repeats.
func (b *Batch) workOne() (more bool) {
	var it *item
	defer func() {
		if v := recover(); v != nil {
			if it != nil {
				it.giveBack()
			}
			b.panics.Set(v)
		}
	}()
	it, k := b.queue.next()
	if it == nil {
		return false
	}
	f := b.handle(it, k)
	if f == outcomeCompleted {
		if b.c.finish(b.ctx, &it.task) {
			f = outcomeRequeue
		}
	}
	if f == outcomeRequeue {
		b.memory.yield(&it.task)
		b.setHost(it)
		it.queuedAt = time.Now()
	}
	b.queue.finishRequest(it, f == outcomeRequeue)
	if f == outcomeCompleted || f == outcomeDone {
		b.finish(it)
	}
	return true
}

// handle carries out the decision of the queue about an item.
func (b *Batch) handle(it *item, k gate.Decision) itemOutcome {
	if k.Verdict == notLoaded {
		if f := b.loadItem(it); f != outcomeCompleted {
			return f
		}
		if k = b.queue.admitLoaded(it); k.Verdict != gate.Allow {
			return outcomeRequeue
		}
	}
	if k.Verdict == gate.Allow {
		it.addQueueTime(k.At)
		it.taken, it.decision = true, k
		if it.host == nil {
			it.host = it.hostQueue.host
		}
	}
	if f := b.loadItem(it); f != outcomeCompleted {
		it.giveBack()
		return f
	}
	if k.Verdict != gate.Allow {
		it.addQueueTime(time.Now())
	}
	switch k.Verdict {
	case gate.Allow:
		it.yields, it.queue = it, b.queue
		if b.try(b.ctx, &it.task) {
			return outcomeRequeue
		}
	case gate.RejectDead:
		e := deadError(it.host)
		if it.server+1 < len(it.servers.URLs) {
			it.server++
			it.redirect = nil
			it.result.warn(WarnOtherServer, "tried another server: "+e.Message)
			it.result.Refusal, it.result.Failure, it.result.Verdict = nil, nil, ""
			return outcomeRequeue
		}
		b.c.refuse(&it.task, e)
	case gate.RejectLimit:
		b.c.refuse(&it.task, limitError(it.host, time.Now(), k.At))
	case rejectEnded:
		b.c.abandon(b.ctx, &it.task)
	}
	return outcomeCompleted
}

// addQueueTime adds the time in the queue up to now to the result.
func (it *item) addQueueTime(now time.Time) {
	if !it.queuedAt.IsZero() {
		it.addWait(max(now.Sub(it.queuedAt), 0))
		it.queuedAt = time.Time{}
	}
}

// loadItem parses and resolves an input from the temporary file, and coalesces it with a
// duplicate that was read while it waited. It returns outcomeCompleted if the item is
// ready to be sent.
func (b *Batch) loadItem(it *item) itemOutcome {
	if it.loaded && !it.maybeDuplicate {
		return outcomeCompleted
	}
	if !it.loaded {
		it.loaded = true
		if it.readError != nil {
			it.result.fail(it.readError)
			return outcomeDone
		}
		if failed := b.prepare(it, nil); failed != nil {
			it.result.fail(failed)
			return outcomeDone
		}
	}
	switch {
	case b.queue.coalesce(it):
		return outcomeCoalesced
	case it.host != it.hostQueue.host:
		return outcomeRequeue // the item's server has changed
	}
	return outcomeCompleted
}

// setHost sets the host of the next request of an item.
func (b *Batch) setHost(it *item) {
	if it.redirect != nil {
		return // enter has set the host
	}
	it.host = b.hostOf(it.servers.URLs[it.server])
}

// finish emits the results of an item and of its duplicates. The last one emitted holds
// the memory of the body.
func (b *Batch) finish(it *item) {
	r := it.result
	duplicates := b.queue.takeDuplicates(it)
	if it.readFor != nil {
		countLines(it.readFor, int64(1+len(duplicates)), r.Verdict)
	}
	for _, d := range duplicates {
		shared := d.resultOf(r)
		b.emit(r)
		r = shared
	}
	r.memoryOwner = &it.task
	b.emit(r)
}
