package client

import (
	"context"
	"time"

	"github.com/rdapq/rdapq/internal/gate"
	"github.com/rdapq/rdapq/internal/weburl"
)

// An itemOutcome is what becomes of an input after a worker has had it.
type itemOutcome int

const (
	outcomeCompleted itemOutcome = iota // its result may lead to something else to ask
	outcomeDone                         // its result is complete
	outcomeRequeue                      // it goes back to the queue
	outcomeCoalesced                    // another input brings its result
)

// work takes inputs from the queue until there are none left.
func (b *batch) work() {
	for {
		if !b.workOne() {
			return
		}
	}
}

// workOne takes one input from the queue. It is false when there are none left,
// and after a panic, which the loop over the results repeats.
func (b *batch) workOne() (more bool) {
	var it *item
	defer func() {
		if v := recover(); v != nil {
			if it != nil {
				it.giveBack()
			}
			b.panics.set(v)
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
		b.memory.rest(&it.task)
		b.setHost(it)
	}
	b.queue.finishRequest(it, f == outcomeRequeue)
	if f == outcomeCompleted || f == outcomeDone {
		b.finish(it)
	}
	return true
}

// handle does what the queue decided about an input.
func (b *batch) handle(it *item, k gate.Decision) itemOutcome {
	if k.Verdict == gate.Allow {
		it.taken, it.decision = true, k
		if it.host == nil {
			it.host = it.hostQueue.host
		}
	}
	if f := b.loadItem(it); f != outcomeCompleted {
		it.giveBack()
		return f
	}
	switch k.Verdict {
	case notLoaded:
		return outcomeRequeue
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
			it.result.warn(WarnOtherServer, "asked another server: "+e.Message)
			it.result.Err, it.result.Verdict = nil, ""
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

// loadItem makes an input that comes from the temporary file ready, and finds out
// whether the same has been asked for while it waited. It is asked if something
// is to be done still.
func (b *batch) loadItem(it *item) itemOutcome {
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
		return outcomeRequeue // it belongs to another server by now
	}
	return outcomeCompleted
}

// setHost sees to it that an item knows the host of its next request.
func (b *batch) setHost(it *item) {
	if it.redirect != nil {
		return // enter has set it
	}
	it.host = b.hostOf(it.servers.URLs[it.server])
}

// finish hands out the result of an item, and those of its twins. The last of
// them accounts for the body.
func (b *batch) finish(it *item) {
	r := it.result
	twins := b.queue.takeDuplicates(it)
	if it.readFor != nil {
		countLines(it.readFor, int64(1+len(twins)), r.Verdict)
	}
	for _, t := range twins {
		twin := t.resultOf(r)
		b.emit(r)
		r = twin
	}
	r.memoryOwner = &it.task
	b.emit(r)
}

// abandon ends a task because its batch comes to its end. What came of it so far
// stands; what was not asked is canceled.
func (c *Client) abandon(ctx context.Context, t *task) {
	r := t.result
	switch {
	case r.Err != nil:
	case ctx.Err() != nil:
		if r.Server == "" && len(t.servers.URLs) > 0 {
			r.Server = weburl.Redact(t.servers.URLs[t.server])
		}
		c.stop(ctx, t, "waiting for "+visible(r.Server))
	case c.isClosed():
		r.fail(&Error{Code: CodeCanceled, Message: "not sent: the client was closed", Err: ErrClosed})
	default:
		r.fail(&Error{Code: CodeCanceled, Message: "not sent: the batch was ended", Err: context.Canceled})
	}
}
