package client

import (
	"context"
	"errors"
	"hash/maphash"
	"iter"
	"net/url"
	"runtime"
	"sync"
	"time"

	"github.com/rdapq/rdapq/internal/gate"
)

// An Input is one line of a [Client.Batch].
type Input struct {
	Line   int64  // number of the line, from 1; comes back in the Result
	Text   string // what to ask for
	Type   Type   // its type; empty: found by its shape, see Parse
	Server string // base URL of the server to ask; empty: bootstrap finds it
	Extra  []byte // whatever the caller wants back in the Result; not looked at
}

// Inputs makes inputs for [Client.Batch] and [Client.Plan] of texts, and numbers
// them from 1: client.Inputs(slices.Values(names)). A sequence that can fail, and
// inputs with more to them than a text, need one of the caller's own.
func Inputs(texts iter.Seq[string]) iter.Seq2[Input, error] {
	return func(yield func(Input, error) bool) {
		line := int64(0)
		for text := range texts {
			line++
			if !yield(Input{Line: line, Text: text}, nil) {
				return
			}
		}
	}
}

// Batch asks for all inputs and yields exactly one Result for each, as answers
// come: see Result.Line for whose it is. What is no query yields a Result too
// ([Invalid]), and so does an error of the sequence ([Failed] with
// [CodeInput]); reading goes on afterwards for as long as the sequence does.
//
// At most Config.Jobs lookups run at once, and of them at most as many at one
// server as Config.PerHost says. A server that is slow, that limits requests or
// that is dead holds up its own queue only. What is read and waits is bounded in
// memory, to about 16 × Jobs inputs, however long the sequence: when the inputs
// for one server fill that, they go to a temporary file (see Config.SpillDir), and
// the others go on. When so many wait as Config.MaxQueued says, or so many bytes as
// Config.MaxSpill says, the sequence waits as well.
//
// A server that fails several times in a row (502, 503 or 504 without Retry-After,
// a refused or reset connection, or silence) is paused and probed at growing
// intervals. Its inputs wait, within Config.MaxWait, and are retried when it is
// back. A server that never gave a useful response is waited for at most a minute.
// What waits longer ends without being sent. Refusals for too many requests are
// described at Config.MaxWait.
//
// An input joins an earlier one that asks for the same until the first byte of the
// response to that one's last attempt has come. Each has a Result of its own; that
// of the input that joined has Shared set and SharedLine, and shares what its
// Result points to: Raw, Header, Err and more. A response is never used for an
// input that came after it, except through [Config].Cache.
//
// When ctx ends, reading stops, lookups under way are given up, and every input
// read so far still yields its Result, with [CodeCanceled] (or [CodeTimeout])
// where nothing else came of it. To let lookups under way finish instead, use
// [Client.Drain], or end the sequence and wait for all that was read. Breaking
// out of the loop stops everything at once.
//
// The sequence runs in a goroutine of its own. If it panics, the loop over the
// results panics with the same value, and so it does for a Transport or another
// part of the Config that panics. Batch waits for the end of the sequence, except
// that after ctx or the batch has been ended, or the loop was left, it waits only
// briefly for a sequence that blocks, in a read of a terminal for instance.
func (c *Client) Batch(ctx context.Context, inputs iter.Seq2[Input, error]) iter.Seq[*Result] {
	return func(yield func(*Result) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		b := newBatch(ctx, c)
		b.run(cancel, inputs, yield)
		b.panics.repanic() // in what the sequence did after the loop was left
	}
}

// run yields the results of inputs. Whatever ends it, a panic of yield included,
// nothing is left running.
func (b *batch) run(cancel context.CancelFunc, inputs iter.Seq2[Input, error], yield func(*Result) bool) {
	b.c.tallies.add(b)
	if b.c.isClosed() {
		b.end() // Close may have looked before
	}
	stop := context.AfterFunc(b.ctx, b.end)
	go b.read(inputs)
	defer func() {
		close(b.consumerGone)
		cancel()
		b.queue.clear()
		for r := range b.results {
			b.memory.release(r.memoryOwner) // until it is closed
		}
		if !stop() {
			<-b.queueEnded
		}
		b.c.tallies.remove(b)
		if err := errors.Join(b.queue.spill.close(), b.c.flushLimits()); err != nil {
			b.c.cfg.Logger.Warn("after a batch", "error", err)
		}
	}()
	for {
		r, ok := b.receive()
		if !ok {
			return
		}
		holder := r.memoryOwner
		r.memoryOwner = nil // the consumer may keep the result for long
		b.queue.releasePlace()
		more := yield(r)
		b.memory.release(holder)
		b.queue.memoryReleased()
		if !more {
			return
		}
	}
}

// receive returns the next result; there is none after the last one. It panics
// if the sequence or a worker has.
func (b *batch) receive() (r *Result, ok bool) {
	b.panics.repanic()
	select {
	case <-b.panics.happened:
	case r, ok = <-b.results:
	}
	if !ok {
		b.panics.repanic()
	}
	return r, ok
}

// windowPerJob times the jobs is how many inputs may be on their way in memory,
// but with many jobs no more than maxWindow.
const (
	windowPerJob = 16
	maxWindow    = 2048
)

func windowFor(jobs int) int { return max(min(windowPerJob*jobs, maxWindow), 4*jobs) }

// sequenceGrace is how long an ended batch waits for its sequence to return.
const sequenceGrace = 250 * time.Millisecond

// A batch is one run of [Client.Batch].
type batch struct {
	c            *Client
	ctx          context.Context
	results      chan *Result
	consumerGone chan struct{} // closed when the consumer is gone
	queue        *queue
	memory       *bodies
	workers      sync.WaitGroup
	tally        tally
	seed         maphash.Seed                              // of the hashes of keys
	try          func(context.Context, *task) (again bool) // Client.step

	endOnce    sync.Once
	ending     chan struct{} // closed when nothing more is to be begun
	queueEnded chan struct{} // closed when the queue knows

	mu        sync.Mutex
	abandoned bool           // the sequence did not return in time
	preparing *Result        // of the input that is being parsed and resolved; nil: none is
	pushing   sync.WaitGroup // the input that is being pushed, if there is one

	panics panicked

	basesMu    sync.Mutex
	bases      map[string]*gate.Host // servers by base URL
	basesSweep int64                 // of hosts, when bases was begun
}

func newBatch(ctx context.Context, c *Client) *batch {
	b := &batch{
		c: c, ctx: ctx,
		results:      make(chan *Result, c.cfg.Jobs),
		consumerGone: make(chan struct{}),
		ending:       make(chan struct{}), queueEnded: make(chan struct{}),
		panics: panicked{happened: make(chan struct{})},
		bases:  make(map[string]*gate.Host), memory: newBodies(c.cfg.MaxMemory),
		seed: maphash.MakeSeed(), try: c.step,
	}
	b.queue = newQueue(queueConfig{
		maxWorkers: c.cfg.Jobs, window: windowFor(c.cfg.Jobs), maxWait: c.cfg.maxWait(true),
		hosts: c.hosts, memory: b.memory, capacity: c.capacity(),
		spawn: func() { b.workers.Go(b.work) },
		log:   c.cfg.Logger.Warn, maxQueued: c.cfg.MaxQueued, maxSpill: c.cfg.MaxSpill,
	})
	b.queue.deadline, _ = ctx.Deadline()
	b.queue.spill.dir = c.cfg.SpillDir
	return b
}

// end makes the batch begin nothing more.
func (b *batch) end() {
	b.endOnce.Do(func() {
		close(b.ending)
		b.queue.end()
		close(b.queueEnded)
	})
}

// read reads the sequence to its end and closes the results after the last one.
func (b *batch) read(inputs iter.Seq2[Input, error]) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer b.panics.catch()
		inputs(b.add)
		b.panics.noteReturned()
	}()
	select {
	case <-done:
	case <-b.ending:
		grace := time.NewTimer(sequenceGrace)
		defer grace.Stop()
		select {
		case <-done:
		case <-grace.C:
			b.abandon()
		}
	}
	b.queue.close()
	b.workers.Wait()
	close(b.results)
}

// abandon gives up waiting for the sequence. If it is in the Resolver, its input
// still has a result.
func (b *batch) abandon() {
	b.mu.Lock()
	b.abandoned = true
	r := b.preparing
	b.mu.Unlock()
	b.pushing.Wait()
	if r == nil {
		return
	}
	own := &Result{Line: r.Line, Extra: r.Extra}
	t := &task{result: own}
	b.c.abandon(b.ctx, t)
	if b.queue.reservePlace() {
		b.emit(own)
	}
}

// add takes in one input and reports whether more are wanted. It waits for a
// place in the window, and so paces the sequence.
func (b *batch) add(in Input, err error) bool {
	it := &item{input: in, loaded: true}
	it.result = &Result{Line: in.Line, Extra: in.Extra}
	b.mu.Lock()
	if b.abandoned {
		b.mu.Unlock()
		return false
	}
	b.tally.read.Add(1)
	b.preparing = it.result
	b.mu.Unlock()
	failed := b.prepare(it, err) // calls the Resolver

	b.mu.Lock()
	if b.abandoned {
		b.mu.Unlock()
		return false // its result has been handed out
	}
	b.preparing = nil
	b.pushing.Add(1)
	b.mu.Unlock()
	b.push(it, failed)
	select {
	case <-b.ending:
		return false
	case <-b.consumerGone:
		return false
	default:
		return true
	}
}

// push hands an input to the queue, or emits its result if its preparation failed.
// It waits for room in the queue, and may call the Logger.
func (b *batch) push(it *item, failed *Error) {
	defer b.pushing.Done()
	if failed == nil {
		it.readFor.Lines.Read.Add(1)
		b.queue.push(it)
		return
	}
	it.result.fail(failed)
	if b.queue.reservePlace() {
		b.emit(it.result)
	}
}

// prepare parses the input of an item and finds its server.
func (b *batch) prepare(it *item, err error) *Error {
	in, r := it.input, it.result
	if err != nil {
		r.Query.Text = in.Text
		return &Error{Code: CodeInput, Message: "the input cannot be read: " + visible(err.Error()), Err: err}
	}
	q, err := parseAt(in.Type, in.Text, in.Server)
	if err != nil {
		r.Query.Text = in.Text
		return asError(err)
	}
	q.Server = in.Server
	r.Query = b.c.registrable(q)
	servers, failed := b.c.resolve(b.ctx, r.Query)
	if failed != nil {
		return failed
	}
	r.Source, r.Entry = servers.Source, servers.Entry
	it.servers, it.batch, it.memory = servers, true, b.memory
	it.key = r.Query.lookupKey(servers.URLs[0])
	it.key.source = servers.Source
	it.hash = it.key.hash(b.seed)
	it.host = b.hostOf(servers.URLs[0])
	it.readFor = it.host
	return nil
}

// maxBases is how many base URLs a batch remembers the servers of.
const maxBases = 512

// hostOf returns the server that a base URL is at.
func (b *batch) hostOf(base string) *gate.Host {
	b.basesMu.Lock()
	// A host that has been forgotten must not be used: there may be another by its name.
	if swept := b.c.hosts.Sweeps(); swept != b.basesSweep || len(b.bases) >= maxBases {
		clear(b.bases)
		b.basesSweep = swept
	}
	h := b.bases[base]
	b.basesMu.Unlock()
	if h != nil {
		return h
	}
	u, err := url.Parse(base)
	if err != nil {
		u = new(url.URL) // try reports the error
	}
	h = b.c.hosts.At(u) // may call the store of the user
	b.basesMu.Lock()
	defer b.basesMu.Unlock()
	if b.basesSweep == b.c.hosts.Sweeps() {
		b.bases[base] = h
	}
	return h
}

// emit hands a result to the consumer, unless there is none any more.
func (b *batch) emit(r *Result) {
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	b.tally.count(r.Verdict)
	select {
	case b.results <- r:
	case <-b.consumerGone:
		b.memory.release(r.memoryOwner)
	}
}

// panicked keeps what ended a goroutine of a batch, for the loop over its results.
type panicked struct {
	once     sync.Once
	happened chan struct{} // closed when there is something
	value    any           // of the panic; nil: the goroutine called runtime.Goexit
	ok       bool          // the sequence returned
}

// noteReturned notes that the sequence has returned, before catch is called.
func (p *panicked) noteReturned() { p.ok = true }

// catch is to be deferred in the goroutine that calls the sequence.
func (p *panicked) catch() {
	if v := recover(); v != nil || !p.ok {
		p.set(v)
	}
}

// set notes a panic. Only the first one counts.
func (p *panicked) set(v any) {
	p.once.Do(func() {
		p.value = v
		close(p.happened)
	})
}

// repanic panics as the goroutine did, or ends this one as it did.
func (p *panicked) repanic() {
	select {
	case <-p.happened:
	default:
		return
	}
	if p.value == nil {
		runtime.Goexit()
	}
	panic(p.value)
}
