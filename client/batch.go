package client

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdapq/rdapq/internal/gate"
	"github.com/rdapq/rdapq/internal/repanic"
)

// An Input is one line of a [Batch].
type Input struct {
	Line   int64  // number of the line, from 1; copied to the Result
	Text   string // the query, see Parse
	Type   Type   // type of the query; if empty, Parse detects the type
	Server string // base URL of the server; if empty, the Resolver finds the server
	Extra  []byte // data of the caller, copied to the Result
}

// Inputs converts texts to inputs for [Client.Batch] and [Client.Plan], numbered from 1:
// client.Inputs(slices.Values(names)). If the source can fail, or the inputs have other fields,
// write a sequence of Inputs.
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

// A Batch is one run of lookups, made by [Client.Batch]. Range over All once, then call Err.
// Progress and Drain may be called at any time, from any goroutine. Like the Client, a Batch
// must not be copied. The Batch of a zero Client has no results.
type Batch struct {
	c            *Client
	ctx          context.Context
	inputs       iter.Seq2[Input, error]
	options      *options // nil without any
	results      chan *Result
	consumerGone chan struct{} // closed when the consumer is gone
	queue        *queue
	memory       *memoryBudget
	workers      sync.WaitGroup
	tally        tally
	seed         maphash.Seed                              // for hashing keys
	try          func(context.Context, *task) (again bool) // Client.step

	endOnce    sync.Once
	ending     chan struct{} // closed when no further lookup may start
	queueEnded chan struct{} // closed when the queue has ended

	mu        sync.Mutex
	abandoned bool           // the sequence did not return in time
	preparing *Result        // result of the input being parsed and resolved; nil if there is none
	pushing   sync.WaitGroup // counts the input that is being pushed

	spare *item // a spilled input's item, which add reuses; may be nil

	panics *repanic.Recorder

	basesMu    sync.Mutex
	bases      map[string]*gate.Host // servers by base URL
	basesSweep int64                 // hosts.Sweeps when bases was last cleared

	started atomic.Bool // All was called
	over    bool        // the loop received all results; guarded by mu
	cut     error       // why results may be missing; guarded by mu; nil if none are
	why     error       // argument of the first call of end, set before ending is closed
}

// All looks up all inputs and yields exactly one Result for each, in the order in which they
// complete; Result.Line identifies the input. The Result of an invalid query has the verdict
// [VerdictInvalid]. An error of the input sequence yields a Result with [VerdictFailed] and
// [CodeInput], and does not end the batch. A second call of All yields nothing.
//
// At most Config.Jobs lookups are concurrent, and at most Config.PerHost at one server. A
// server that is slow, rate-limited or down delays only its own inputs. About 16 × Jobs inputs
// wait in memory, however long the sequence. When the inputs for one server fill this window,
// they are spilled to a temporary file (see Config.SpillDir). Reading pauses when
// Config.MaxQueued inputs wait or the file has Config.MaxSpill bytes.
//
// A server that fails several times in a row (502, 503 or 504 without Retry-After, a refused or
// reset connection, or no response) is paused and probed at growing intervals. Its inputs wait,
// within Config.MaxWait, and are retried when it recovers. The wait for a server that never
// gave a useful response is at most a minute. Inputs that would wait longer end without being
// sent. Config.MaxWait describes refusals by a rate limit.
//
// A duplicate of an earlier input shares its lookup, unless the response to the last attempt
// has begun to arrive. Each input has its own Result; the Result of a duplicate has Shared and
// SharedLine set, and shares Raw, Header, errors and other data. A response is never used for
// an input read after it, except through [Config].Cache.
//
// When the context of the batch ends, reading stops and lookups in flight are canceled. Every
// input read so far still yields its Result. Lookups that were not sent have [CodeNotSent]. To
// let lookups in flight complete, use [Batch.Drain], or end the sequence. Breaking out of the
// loop stops everything immediately.
//
// The sequence runs in its own goroutine. If the sequence, a Transport or another part of the
// Config panics, the loop over the results panics with the same value. All waits for the
// sequence to return. After the end of the context, a Drain or a break, All waits only briefly
// for a sequence that blocks, such as in a read of a terminal.
func (b *Batch) All() iter.Seq[*Result] {
	return func(yield func(*Result) bool) {
		if b.c == nil || b.started.Swap(true) {
			return
		}
		var cancel context.CancelFunc
		b.ctx, cancel = context.WithCancel(b.ctx)
		defer cancel()
		b.run(cancel, b.inputs, yield)
		b.panics.Repanic() // if the sequence panicked after the loop ended
	}
}

// Progress returns the progress of the batch, and the state of all servers of the Client. It is
// cheap enough for a display that is updated several times per second.
func (b *Batch) Progress() Progress {
	p := Progress{Verdicts: make(map[Verdict]int64)}
	if b.c == nil {
		return p
	}
	p.Servers = b.c.Servers()
	byHost := make(map[string]*ServerProgress, len(p.Servers))
	for i := range p.Servers {
		byHost[p.Servers[i].Server] = &p.Servers[i]
	}
	p.add(&b.tally)
	b.queue.progress(&p, byHost)
	return p
}

// Drain ends the batch and returns immediately. The batch reads no more inputs. Lookups in
// flight complete. Lookups that wait for a retry end with their last result, and inputs that
// wait for their server end as [VerdictFailed] with [CodeNotSent].
func (b *Batch) Drain() {
	if b.c != nil {
		b.end(ErrUnfinished)
	}
}

// ErrUnfinished is wrapped by the errors of [Batch.Err].
var ErrUnfinished = errors.New("client: the batch did not run to its end")

// Err returns nil if the loop over All received the results of all inputs of the sequence.
// Otherwise the error wraps [ErrUnfinished] and the cause: that of the ended context, or
// [ErrClosed]. It has no other cause before the end of the loop, and after a break or Drain.
// Whether the queries were answered is in each [Result].
func (b *Batch) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.c == nil:
		return fmt.Errorf("%w: %w", ErrUnfinished, errNotMade)
	case !b.over || b.cut == ErrUnfinished:
		return ErrUnfinished
	case b.cut != nil:
		return fmt.Errorf("%w: %w", ErrUnfinished, b.cut)
	}
	return nil
}

// batches holds the running batches of a Client.
type batches struct {
	mu      sync.Mutex
	running map[*Batch]struct{}
}

func (l *batches) add(b *Batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == nil {
		l.running = make(map[*Batch]struct{})
	}
	l.running[b] = struct{}{}
}

func (l *batches) remove(b *Batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, b)
}

// end ends the running batches for the reason why.
func (l *batches) end(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for b := range l.running {
		b.end(why)
	}
}

// run yields the results of inputs. No goroutine is left running, even if yield panics.
func (b *Batch) run(cancel context.CancelFunc, inputs iter.Seq2[Input, error], yield func(*Result) bool) {
	b.c.batches.add(b)
	if b.c.users.Enter() {
		defer b.c.users.Leave()
	} else {
		b.end(ErrClosed) // Shutdown may have run before add
	}
	if b.c.isClosed() {
		b.end(ErrClosed) // Close may have run before add
	}
	stop := context.AfterFunc(b.ctx, func() { b.end(context.Cause(b.ctx)) })
	go b.read(inputs)
	defer func() {
		close(b.consumerGone)
		cancel()
		b.queue.clear()
		for r := range b.results {
			b.memory.release(r.memoryOwner) // ends when read closes results
		}
		if !stop() {
			<-b.queueEnded
		}
		b.c.batches.remove(b)
		if err := errors.Join(b.queue.file.Close(), b.c.flushLimits()); err != nil {
			b.c.cfg.Logger.Warn("cannot finish a batch", "error", err)
		}
	}()
	for {
		r, ok := b.receive()
		if !ok {
			b.mu.Lock()
			b.over = true
			b.mu.Unlock()
			return
		}
		holder := r.memoryOwner
		r.memoryOwner = nil // a consumer that keeps the result must not keep its task in memory
		b.queue.releasePlace()
		more := yield(r)
		b.memory.release(holder)
		b.queue.memoryReleased()
		if !more {
			return
		}
	}
}

// receive returns the next result; ok is false after the last result. It panics if the sequence
// or a worker panicked.
func (b *Batch) receive() (r *Result, ok bool) {
	b.panics.Repanic()
	select {
	case <-b.panics.Happened():
	case r, ok = <-b.results:
	}
	if !ok {
		b.panics.Repanic()
	}
	return r, ok
}

// windowPerJob times the jobs is the maximum of inputs in memory, up to maxWindow.
const (
	windowPerJob = 16
	maxWindow    = 2048
)

func windowFor(jobs int) int { return max(min(windowPerJob*jobs, maxWindow), 4*jobs) }

// sequenceGrace limits how long an ended batch waits for its sequence to return.
const sequenceGrace = 250 * time.Millisecond

func newBatch(ctx context.Context, c *Client, o *options) *Batch {
	jobs, maxWait := c.cfg.Jobs, c.cfg.maxWait(true)
	if o != nil {
		jobs = positive(o.jobs, jobs)
		if o.hasMaxWait {
			maxWait = o.maxWait
		}
	}
	b := &Batch{
		c: c, ctx: ctx, options: o,
		results:      make(chan *Result, jobs),
		consumerGone: make(chan struct{}),
		ending:       make(chan struct{}), queueEnded: make(chan struct{}),
		panics: repanic.NewRecorder(),
		bases:  make(map[string]*gate.Host), memory: newMemoryBudget(c.cfg.MaxMemory),
		seed: maphash.MakeSeed(), try: c.step,
	}
	b.queue = newQueue(queueConfig{
		maxWorkers: jobs, window: windowFor(jobs), maxWait: maxWait,
		hosts: c.hosts, memory: b.memory, capacity: c.capacity(),
		spawn: func() { b.workers.Go(b.work) },
		log:   c.cfg.Logger.Warn, maxQueued: c.cfg.MaxQueued, maxSpill: c.cfg.MaxSpill,
	})
	b.queue.deadline, _ = ctx.Deadline()
	b.queue.file.Dir = c.cfg.SpillDir
	return b
}

// end prevents further lookups from starting, for the reason why.
func (b *Batch) end(why error) {
	b.endOnce.Do(func() {
		b.why = why
		close(b.ending)
		b.queue.end()
		close(b.queueEnded)
	})
}

// read reads the sequence to its end and closes the results after the last result.
func (b *Batch) read(inputs iter.Seq2[Input, error]) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer b.panics.Catch()
		inputs(b.add)
		b.panics.NoteReturned()
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
	select {
	case <-b.ending:
		b.mu.Lock()
		b.cut = b.why
		b.mu.Unlock()
	default:
	}
	close(b.results)
}

// abandon stops waiting for the sequence. If the Resolver has not returned, its input
// still gets a result.
func (b *Batch) abandon() {
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

// add adds one input and reports whether to continue the sequence. It waits for a place
// in the window, which paces the sequence.
func (b *Batch) add(in Input, err error) bool {
	it := b.newItem(in)
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
		return false // abandon has emitted its result
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

// newItem returns the item of an input that was read.
func (b *Batch) newItem(in Input) *item {
	it := b.spare
	if b.spare = nil; it == nil {
		it = &item{task: task{result: new(Result)}}
	}
	r := it.result
	*r = Result{Line: in.Line, Extra: in.Extra}
	*it = item{task: task{result: r}, input: in, loaded: true}
	return it
}

// push hands an input to the queue, or emits its result if its preparation failed.
// It waits for room in the queue, and may call the Logger.
func (b *Batch) push(it *item, failed *Error) {
	defer b.pushing.Done()
	if failed == nil {
		it.readFor.Lines.Read.Add(1)
		it.queuedAt = time.Now()
		if kept := b.queue.push(it); !kept {
			b.spare = it
		}
		return
	}
	it.result.fail(failed)
	if b.queue.reservePlace() {
		b.emit(it.result)
	}
}

// prepare parses the input of an item and finds its server.
func (b *Batch) prepare(it *item, err error) *Error {
	in, r := it.input, it.result
	if err != nil {
		r.Query.Text = in.Text
		return &Error{Code: CodeInput, Message: "cannot read the input: " + visible(err.Error()), Err: err}
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
	it.servers, it.batch, it.memory, it.options = servers, true, b.memory, b.options
	it.key = r.Query.lookupKey(servers.URLs[0])
	it.key.source = servers.Source
	it.hash = it.key.hash(b.seed)
	it.host = b.hostOf(servers.URLs[0])
	it.readFor = it.host
	return nil
}

// maxBases limits the base URLs for which a batch caches the host.
const maxBases = 512

// hostOf returns the host of a base URL.
func (b *Batch) hostOf(base string) *gate.Host {
	b.basesMu.Lock()
	// A dropped host must not be used: a new one with the same name may exist.
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
	h = b.c.hosts.At(u) // may call Config.Budgets
	b.basesMu.Lock()
	defer b.basesMu.Unlock()
	if b.basesSweep == b.c.hosts.Sweeps() {
		b.bases[base] = h
	}
	return h
}

// emit sends a result to the consumer, unless the consumer is gone.
func (b *Batch) emit(r *Result) {
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
