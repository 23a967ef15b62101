package client

import (
	"context"
	"iter"
	"sync"
	"time"
)

// An Input is one line of a [Client.Batch].
type Input struct {
	Line   int64  // number of the line, from 1; comes back in the Result
	Text   string // what to ask for
	Type   Type   // its type; empty: found by its shape, see Parse
	Server string // base URL of the server to ask; empty: bootstrap finds it
	Extra  []byte // whatever the caller wants back in the Result; not looked at
}

// Batch asks for all inputs and yields exactly one Result for each, as answers
// come: see Result.Line for whose it is. What is no query yields a Result too
// ([Invalid]), and so does an error of the sequence ([Failed] with
// [CodeInput]); reading goes on afterwards for as long as the sequence does.
//
// At most Config.Jobs lookups run at once, and at most Config.PerHost at one
// server; those limits hold within one Batch. A slow server holds up its own
// queue only, up to a window of 16 × Jobs inputs that were read and whose
// results were not taken yet: memory is bounded, however long the sequence.
//
// When ctx ends, reading stops, lookups under way are given up, and every input
// read so far still yields its Result, with [CodeCanceled] (or [CodeTimeout])
// where nothing else came of it. To let lookups under way finish instead, end
// the sequence. Breaking out of the loop stops everything at once.
//
// The sequence runs in a goroutine of its own. Batch waits for its end, except
// that after ctx has ended or the loop was left it waits only briefly for a
// sequence that blocks, in a read of a terminal for instance.
func (c *Client) Batch(ctx context.Context, inputs iter.Seq2[Input, error]) iter.Seq[*Result] {
	return func(yield func(*Result) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		b := newBatch(ctx, c)
		go b.run(inputs)
		defer func() {
			// Whatever ended the loop, a panic in its body included, nothing
			// is left running.
			close(b.left)
			cancel()
			b.queue.clear()
			for range b.results {
				continue // until it is closed
			}
		}()
		for r := range b.results {
			<-b.window
			if !yield(r) {
				return
			}
		}
	}
}

// windowPerJob times the jobs is how many inputs may be on their way.
const windowPerJob = 16

// readerGrace is how long an ended batch waits for its sequence to return.
const readerGrace = 250 * time.Millisecond

// A batch is one run of [Client.Batch].
type batch struct {
	c       *Client
	ctx     context.Context
	window  chan struct{} // a place for each input between reading and the consumer
	results chan *Result
	left    chan struct{} // closed when the consumer is gone
	queue   *queue
	workers sync.WaitGroup

	mu        sync.Mutex // held while an input is taken in
	abandoned bool       // the sequence did not return in time
}

func newBatch(ctx context.Context, c *Client) *batch {
	b := &batch{
		c: c, ctx: ctx,
		window:  make(chan struct{}, windowPerJob*c.cfg.Jobs),
		results: make(chan *Result, c.cfg.Jobs),
		left:    make(chan struct{}),
	}
	b.queue = newQueue(c.cfg.Jobs,
		func() limiter { return fixedLimit(positive(c.cfg.PerHost, DefaultPerHost)) },
		func() { b.workers.Go(b.work) })
	return b
}

// run reads the sequence to its end and closes the results after the last one.
func (b *batch) run(inputs iter.Seq2[Input, error]) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		inputs(b.take)
	}()
	select {
	case <-read:
	case <-b.ctx.Done():
		grace := time.NewTimer(readerGrace)
		defer grace.Stop()
		select {
		case <-read:
		case <-grace.C:
			b.mu.Lock()
			b.abandoned = true
			b.mu.Unlock()
		}
	}
	b.queue.close()
	b.workers.Wait()
	close(b.results)
}

// take takes in one input and reports whether more are wanted. It waits for a
// place in the window, and so paces the sequence.
func (b *batch) take(in Input, err error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.abandoned {
		return false
	}
	select {
	case b.window <- struct{}{}:
	case <-b.left:
		return false
	}
	start := time.Now()
	r := &Result{Line: in.Line, Extra: in.Extra}
	j, failed := b.prepare(r, in, err)
	if failed != nil {
		r.fail(failed)
		r.end(start)
		b.emit(r)
	} else {
		b.queue.push(j)
	}
	return b.ctx.Err() == nil
}

// prepare parses the input and finds its server.
func (b *batch) prepare(r *Result, in Input, err error) (job, *Error) {
	if err != nil {
		r.Query.Text = in.Text
		return job{}, &Error{Code: CodeInput, Message: "the input cannot be read: " + visible(err.Error()), Err: err}
	}
	q, err := ParseAs(in.Type, in.Text)
	if err != nil {
		r.Query.Text = in.Text
		return job{}, asError(err)
	}
	q.Server = in.Server
	r.Query = q
	servers, failed := b.c.resolve(b.ctx, q)
	if failed != nil {
		return job{}, failed
	}
	return job{result: r, servers: servers}, nil
}

// work runs lookups until there are none left.
func (b *batch) work() {
	for {
		j, ok := b.queue.next()
		if !ok {
			return
		}
		b.c.ask(b.ctx, j.result, j.servers)
		b.queue.done(j)
		b.emit(j.result)
	}
}

func (b *batch) emit(r *Result) {
	select {
	case b.results <- r:
	case <-b.left:
	}
}
