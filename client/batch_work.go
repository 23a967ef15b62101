package client

import (
	"context"
	"net/url"
	"time"

	"github.com/rdapq/rdapq/internal/weburl"
)

// A fate is what becomes of an input after a worker has had it.
type fate int

const (
	asked  fate = iota // its result may lead to something else to ask
	over               // its result is complete
	goesOn             // it goes back to the queue
	joined             // another input brings its result
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
	if f == asked {
		it.finishSearch()
		if b.c.follow(b.ctx, &it.task) {
			f = goesOn
		}
	}
	if f == goesOn {
		b.memory.rest(&it.task)
		b.head(it)
	}
	b.queue.done(it, f == goesOn)
	if f == asked || f == over {
		b.finish(it)
	}
	return true
}

// handle does what the queue decided about an input.
func (b *batch) handle(it *item, k ticket) fate {
	if k.grant == granted {
		it.taken, it.ticket = true, k
		if it.host == nil {
			it.host = it.lane.host
		}
	}
	if f := b.look(it); f != asked {
		it.giveBack()
		return f
	}
	switch k.grant {
	case unready:
		return goesOn
	case granted:
		it.yields, it.queue = it, b.queue
		if b.try(b.ctx, &it.task) {
			return goesOn
		}
	case givenUpDead:
		e := it.host.deadError()
		if it.server+1 < len(it.servers.URLs) {
			it.server++
			it.redirect = nil
			it.result.warn(WarnOtherServer, "asked another server: "+e.Message)
			it.result.Err, it.result.Verdict = nil, ""
			return goesOn
		}
		b.c.refuse(&it.task, e)
	case givenUpLimit:
		b.c.refuse(&it.task, it.host.limitError(time.Now(), k.at))
	case givenUpEnd:
		b.c.abandon(b.ctx, &it.task)
	}
	return asked
}

// look makes an input that comes from the temporary file ready, and finds out
// whether the same has been asked for while it waited. It is asked if something
// is to be done still.
func (b *batch) look(it *item) fate {
	if it.loaded && !it.late {
		return asked
	}
	if !it.loaded {
		it.loaded = true
		if it.lost != nil {
			it.result.fail(it.lost)
			return over
		}
		if failed := b.prepare(it, nil); failed != nil {
			it.result.fail(failed)
			return over
		}
	}
	switch {
	case b.queue.meet(it):
		return joined
	case it.host != it.lane.host:
		return goesOn // it belongs to another server by now
	}
	return asked
}

// head sees to it that an item knows the host of its next request.
func (b *batch) head(it *item) {
	if it.redirect != nil {
		return // enter has set it
	}
	if u, err := url.Parse(it.servers.URLs[it.server]); err == nil {
		it.host = b.c.hosts.at(u)
	}
}

// finish hands out the result of an item, and those of its twins. The last of
// them accounts for the body.
func (b *batch) finish(it *item) {
	it.finishSearch()
	r := it.result
	twins := b.queue.finish(it)
	if it.home != nil {
		it.home.lines.end(int64(1+len(twins)), r.Verdict)
	}
	for _, t := range twins {
		twin := t.of(r)
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
		r.fail(&Error{Code: CodeCanceled, Message: "not asked: the client was closed", Err: ErrClosed})
	default:
		r.fail(&Error{Code: CodeCanceled, Message: "not asked: the batch was ended before", Err: context.Canceled})
	}
}
