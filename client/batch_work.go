package client

import (
	"context"
	"net/url"
	"time"
)

// work takes inputs from the queue until there are none left.
func (b *batch) work() {
	for {
		it, k := b.queue.next()
		if it == nil {
			return
		}
		again := b.handle(it, k)
		if !again {
			it.settle()
			again = b.c.follow(b.ctx, &it.task)
		}
		if again {
			b.head(it)
		}
		b.queue.done(it, again)
		if !again {
			b.finish(it)
		}
	}
}

// handle does what the queue decided about an input and reports whether it has
// to go back there. If not, its result is complete.
func (b *batch) handle(it *item, k ticket) (again bool) {
	if k.grant == granted {
		it.taken, it.probe = true, k.probe
		if it.host == nil {
			it.host = it.lane.host
		}
	}
	if it.result.Verdict == Failed && it.result.Err.Code == CodeInput {
		it.giveBack() // it could not be read back
		return false
	}
	if !it.loaded {
		if done, again := b.load(it); done || again {
			it.giveBack()
			return again
		}
	}
	r := it.result
	switch k.grant {
	case granted:
		return b.try(b.ctx, &it.task)
	case givenUpDead:
		e := it.host.deadError()
		if it.next+1 < len(it.servers.URLs) {
			it.next++
			it.hop = nil
			r.warn("asked another server: " + e.Message)
			r.Err, r.Verdict = nil, ""
			return true
		}
		b.c.refuse(&it.task, e)
	case givenUpLimit:
		b.c.refuse(&it.task, it.host.limitError(time.Now(), k.at))
	case givenUpEnd:
		b.c.abandon(b.ctx, &it.task)
	}
	return false
}

// load parses an input that comes from the temporary file. It is done if there is
// a result already, and has to go back if it belongs to another server by now.
func (b *batch) load(it *item) (done, again bool) {
	it.loaded = true
	if failed := b.prepare(it, nil); failed != nil {
		it.result.fail(failed)
		return true, false
	}
	if r, ok := b.queue.recall(it); ok {
		it.result = r
		return true, false
	}
	return false, it.host != it.lane.host
}

// head sees to it that an item knows the host of its next request.
func (b *batch) head(it *item) {
	if it.hop != nil {
		return // enter has set it
	}
	if u, err := url.Parse(it.servers.URLs[it.next]); err == nil {
		it.host = b.c.hosts.at(u)
	}
}

// finish hands out the result of an item, and those of its twins. The last of
// them accounts for the body.
func (b *batch) finish(it *item) {
	it.settle()
	all := []*Result{it.result}
	for _, t := range b.queue.finish(it) {
		all = append(all, t.of(it.result))
	}
	all[len(all)-1].held = it.held
	for _, r := range all {
		b.emit(r)
	}
}

// abandon ends a task because its batch comes to its end. What came of it so far
// stands; what was not asked is canceled.
func (c *Client) abandon(ctx context.Context, t *task) {
	r := t.result
	switch {
	case r.Err != nil:
	case ctx.Err() != nil:
		if r.Server == "" && len(t.servers.URLs) > 0 {
			r.Server = redact(t.servers.URLs[t.next])
		}
		c.stop(ctx, t, "waiting for "+visible(r.Server))
	default:
		r.fail(&Error{Code: CodeCanceled, Message: "not asked: the batch was ended before", Err: context.Canceled})
	}
}
