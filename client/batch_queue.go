package client

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdapq/rdapq/internal/fifo"
	"github.com/rdapq/rdapq/internal/gate"
	"github.com/rdapq/rdapq/internal/spill"
)

// A queue passes the items of a batch to its workers, in FIFO order per host; see popReady for
// the order of hosts. No worker waits for a host. Instead, a host becomes ready when it may be
// queried, such as when one of its lookups ends or its pause is over.
type queue struct {
	queueConfig
	file           spill.File  // holds inputs of slow servers
	waitsForMemory atomic.Bool // workers wait for memory for bodies
	spillErr       error

	record    []byte         // buffer: the last input encoded for file
	unwritten []*spill.Chunk // chunks for flushPending
	warnings  []func()       // calls of log for flushPending
	diskBytes int64          // bytes of chunks in the file or in unwritten
	paused    bool           // the warning about paused reading was given

	mu        sync.Mutex
	workReady sync.Cond            // a host queue became ready, or the queue ended
	roomFreed sync.Cond            // there may be room for the reader
	byHost    map[int64]*hostQueue // by host ID
	ready     readyHeap
	readySeq  uint64 // sequence number of the last host queue that became ready

	unserved         []*hostQueue // host queues of ready without a lookup in flight, in the order in which they became ready
	unservedInFlight int          // lookups in flight that were taken from unserved
	timers           parkedHeap
	timer            *time.Timer // wakes parked host queues; nil if not set

	inMemory      int   // inputs read whose results were not yet taken; spilled inputs do not count
	waiting       int64 // items in all host queues
	spilledInputs int64 // inputs in the disk queues, included in waiting
	inFlight      int
	workers       int
	idle          int // workers that wait and have not been woken
	closed        bool
	ended         bool // waiting items are ended without being sent
	abandoned     bool // the consumer is gone

	joinable  map[uint64]*item // items in memory that others may join, by the hash of their keys
	coalesced int              // inputs that wait for the result of an item

	inputsRead int64 // number of inputs read
	// host ID to the number of the last input for that host, for hosts of recent inputs
	recentHosts map[int64]int64
}

// queueConfig has the parameters of a queue.
type queueConfig struct {
	maxWorkers int
	window     int // maximum of inMemory
	maxWait    time.Duration
	deadline   time.Time // deadline of the batch; zero if none
	hosts      *gate.Hosts
	memory     *memoryBudget
	capacity   func(origin string, demand int) int // nil means the transport does not report its capacity
	spawn      func()                              // starts a worker
	log        func(message string, args ...any)   // logs a warning; may be nil
	maxQueued  int64                               // maximum of waiting
	maxSpill   int64                               // maximum of diskBytes
}

const (
	// minInMemory is the number of items of a host queue that stay in memory when the rest is
	// spilled.
	minInMemory = 16
	// recheckAfter is the interval at which a host queue is rechecked while it waits for
	// a request of another batch or lookup to end.
	recheckAfter = 50 * time.Millisecond
)

func newQueue(cfg queueConfig) *queue {
	q := &queue{
		queueConfig: cfg, byHost: make(map[int64]*hostQueue), joinable: make(map[uint64]*item),
		recentHosts: make(map[int64]int64),
	}
	q.workReady.L, q.roomFreed.L = &q.mu, &q.mu
	return q
}

// hostQueueOf returns the queue of a host, and creates it if necessary.
func (q *queue) hostQueueOf(h *gate.Host) *hostQueue {
	l := q.byHost[h.ID()]
	if l == nil {
		l = &hostQueue{host: h, timerIndex: -1, readyIndex: -1}
		q.byHost[h.ID()] = l
		q.hosts.Keep(h)
	}
	return l
}

// dropIfEmpty removes l if it is empty.
func (q *queue) dropIfEmpty(l *hostQueue) {
	if l.inFlight == 0 && l.steppedAside == 0 && l.readyIndex < 0 && !l.hasFresh() && len(l.retries) == 0 && q.byHost[l.host.ID()] == l {
		q.unpark(l)
		delete(q.byHost, l.host.ID())
		q.hosts.Release(l.host)
	}
}

// makeReady adds l to the ready queues if a lookup may start, and wakes a worker.
func (q *queue) makeReady(l *hostQueue) {
	if l.readyIndex >= 0 || l.loading || !l.hasFresh() && len(l.retries) == 0 {
		return
	}
	if !q.ended {
		if !l.parkedUntil.IsZero() {
			return
		}
		if l.limit = q.limitOf(l); l.inFlight >= l.limit {
			return
		}
	}
	q.addReady(l)
	q.startWorker()
}

// wakeHost makes a queue ready after it got a fresh item, which can start before the next
// retry.
func (q *queue) wakeHost(l *hostQueue) {
	if l.retriesOnly {
		q.unpark(l)
	}
	q.makeReady(l)
}

// startWorker wakes or spawns a worker for a queue that became ready.
func (q *queue) startWorker() {
	switch {
	case q.idle > 0:
		q.idle-- // decremented here: the woken worker would count as idle until it runs
		q.workReady.Signal()
	case q.workers < q.maxWorkers:
		q.workers++
		q.spawn()
	}
}

// next waits for an item and returns it with the decision about it. It returns nil if
// there are no more.
func (q *queue) next() (*item, gate.Decision) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for len(q.ready) > 0 && !q.memoryFull() {
			l := q.popReady()
			if c := l.nextOnDisk(); c != nil {
				q.loadChunk(l, c)
				continue
			}
			if it, k := q.pick(l, time.Now()); it != nil {
				q.noteStarted(l, it, k)
				if q.idleForLackOfHosts() || !l.hasFresh() {
					q.roomFreed.Signal()
				}
				return it, k
			}
			q.dropIfEmpty(l)
		}
		if q.closed && q.waiting == 0 {
			q.workers--
			q.wakeAll()
			return nil, gate.Decision{}
		}
		if q.idleForLackOfHosts() {
			q.roomFreed.Signal()
		}
		q.idle++
		q.workReady.Wait()
	}
}

// memoryFull reports whether the bodies of lookups in flight use up the memory budget.
func (q *queue) memoryFull() bool {
	if q.inFlight == 0 || q.ended || !q.memory.underPressure() {
		return false
	}
	q.waitsForMemory.Store(true)
	return q.memory.underPressure() // check again: memory may have been released before waitsForMemory was set
}

// memoryReleased wakes workers that wait for memory.
func (q *queue) memoryReleased() {
	if !q.waitsForMemory.Load() || q.memory.underPressure() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waitsForMemory.Store(false)
	q.wakeAll()
}

// noteStarted records that an item is in flight.
func (q *queue) noteStarted(l *hostQueue, it *item, k gate.Decision) {
	if it.hostQueue == nil { // the item was read from the temporary file
		q.inMemory++
		q.spilledInputs--
	}
	it.hostQueue = l
	l.inFlight++
	q.inFlight++
	q.waiting--
	if q.waiting == q.maxQueued-1 {
		q.roomFreed.Signal()
	}
	if k.Verdict == gate.Allow {
		it.grantedAt = k.At
	}
	if it.fromUnserved = l.fromUnserved; it.fromUnserved {
		q.unservedInFlight++
	}
	it.beside = l.inFlight
	q.makeReady(l)
}

// Verdicts of a queue, in addition to those of the gate.
const (
	notLoaded   gate.Verdict = -1 - iota // the input is in the temporary file, and has not been resolved
	rejectEnded                          // the batch ends
)

// pick removes the next item of l and returns it with the decision about it: to send it,
// or to end it. It returns nil if l has to wait.
func (q *queue) pick(l *hostQueue, now time.Time) (*item, gate.Decision) {
	if !l.hasFresh() && len(l.retries) == 0 {
		return nil, gate.Decision{}
	}
	if q.ended {
		return q.anyInput(l), gate.Decision{Verdict: rejectEnded}
	}
	if l.exclusive || l.inFlight > 0 && l.inFlight >= q.limitOf(l) {
		return nil, gate.Decision{}
	}
	p := q.request(l, l.inFlight, now)
	due, at := l.dueRetry(now)
	fresh := l.hasFresh() && len(l.retries) < maxRetriesWaiting(l.host.Limit())
	if due < 0 && !fresh {
		if k, ok := l.host.Blocked(now, p); ok {
			return q.anyInput(l), k
		}
		q.park(l, at)
		l.retriesOnly = !l.hasFresh()
		return nil, gate.Decision{}
	}
	if due < 0 && len(l.resumed) == 0 && l.fresh.Len() == 0 {
		// Resolving the input calls user code, during which no place of the host may be
		// held.
		return q.popSpilled(l), gate.Decision{Verdict: notLoaded}
	}
	k := l.host.Acquire(now, p)
	switch k.Verdict {
	case gate.Allow:
		// If possible, a probe is a query that has not failed yet: a failed query may
		// itself be the cause of the failure.
		if k.Probe && due >= 0 && !fresh {
			due = l.leastTried(now)
		}
		// After a throttle, the server is first sent an input that was not refused. An
		// input refused more than once is retried first and alone, so another refusal
		// can only be about that input.
		if due < 0 || fresh && (k.Probe || k.AfterThrottle && !l.retries[due].refusedOften()) {
			return q.removeFresh(l), k
		}
		if l.retries[due].refusedOften() {
			if l.inFlight > 0 {
				l.host.Refund(k)
				return nil, gate.Decision{}
			}
			l.exclusive = true
		}
		return l.removeRetry(due), k
	case gate.Wait:
		if k.At.IsZero() && l.inFlight == 0 {
			k.At = now.Add(recheckAfter)
		}
		if !k.At.IsZero() {
			q.park(l, k.At)
			l.untilRequestEnds = k.UntilRelease
		}
		return nil, k
	default:
		return q.anyInput(l), k
	}
}

// request describes a request to the host of l, with inFlight others in flight.
func (q *queue) request(l *hostQueue, inFlight int, now time.Time) gate.Request {
	p := gate.Request{InFlight: inFlight, Waiting: int(min(l.waiting(), math.MaxInt32)), MaxWait: q.maxWait, HasAlternates: l.hasAlternates}
	if !q.deadline.IsZero() {
		p.MaxWait = min(p.MaxWait, q.deadline.Sub(now))
	}
	return p
}

// admitLoaded decides about an item that pick returned as notLoaded and that has been loaded
// since. Unless the verdict is Allow, the caller must requeue the item. Resumed items and
// retries precede it. Requeueing every item took 2% of the CPU time of a batch.
func (q *queue) admitLoaded(it *item) gate.Decision {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := it.hostQueue
	if q.ended || l.exclusive || !l.parkedUntil.IsZero() || len(l.resumed) > 0 || len(l.retries) > 0 {
		return gate.Decision{Verdict: gate.Wait}
	}
	now := time.Now()
	k := l.host.Acquire(now, q.request(l, l.inFlight-1, now))
	if k.Verdict == gate.Allow {
		it.grantedAt = k.At
	}
	return k
}

// anyInput removes any item of l, retries first.
func (q *queue) anyInput(l *hostQueue) *item {
	if n := len(l.retries); n > 0 {
		return l.removeRetry(n - 1)
	}
	return q.removeFresh(l)
}

// finishRequest releases the item's place at its host. If again is set, it adds the item
// to the queue of its next host.
func (q *queue) finishRequest(it *item, again bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := it.hostQueue
	l.inFlight--
	l.exclusive = false
	q.inFlight--
	if l.untilRequestEnds {
		q.unpark(l)
	}
	q.noteEnded(l, it)
	if again && !q.abandoned {
		it.restart()
		to := q.hostQueueOf(it.host)
		it.hostQueue = to
		q.waiting++
		if it.redirect != nil || it.result.reason() == nil || it.at.IsZero() && it.result.Verdict != VerdictRateLimited {
			to.resumed = append(to.resumed, it)
			q.wakeHost(to)
		} else {
			to.retries = append(to.retries, it)
			if !to.parkedUntil.IsZero() && it.at.Before(to.parkedUntil) {
				q.unpark(to) // recompute the end of the pause
			}
		}
		if to != l {
			q.makeReady(to)
		}
	}
	q.makeReady(l)
	q.dropIfEmpty(l)
}

// takeDuplicates returns the inputs that have joined an item. No other input can join it
// afterwards.
func (q *queue) takeDuplicates(it *item) []duplicate {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.joinable[it.hash] == it {
		delete(q.joinable, it.hash)
	}
	q.coalesced -= len(it.duplicates)
	return it.duplicates
}

// coalesce attaches a waiting item to another item with the same key whose response has
// not started, so that it shares that item's result.
func (q *queue) coalesce(it *item) (joined bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it.maybeDuplicate = false
	switch first := q.joinableFor(it); {
	case first == nil:
		q.joinable[it.hash] = it
	case first != it && len(it.duplicates) == 0 && q.coalesced < q.window/4:
		first.duplicates = append(first.duplicates, it.asDuplicate())
		q.coalesced++
		return true
	}
	return false
}

// joinableFor returns the item that the given item may join, or nil.
func (q *queue) joinableFor(it *item) *item {
	if first := q.joinable[it.hash]; first != nil && first.key == it.key && first.isJoinable() {
		return first
	}
	return nil
}

// releasePlace releases the place of a result that the consumer has taken.
func (q *queue) releasePlace() {
	q.mu.Lock()
	q.inMemory--
	if q.inMemory < q.window {
		q.roomFreed.Signal()
	}
	q.mu.Unlock()
}

func (q *queue) wakeAll() {
	q.idle = 0
	q.workReady.Broadcast()
}

// close records that there are no more inputs. Waiting items are still processed.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wakeAll()
}

// end makes next return all waiting items immediately, so that the workers can end them.
func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	for _, l := range q.byHost {
		q.unpark(l)
		q.makeReady(l)
	}
	q.wakeAll()
	q.roomFreed.Broadcast()
}

// clear drops all waiting items.
func (q *queue) clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.abandoned, q.ended = true, true
	for _, l := range q.byHost {
		l.resumed, l.fresh, l.disk, l.retries, l.readyIndex = nil, fifo.Queue[*item]{}, spill.Queue{}, nil, -1
		q.unpark(l)
		q.dropIfEmpty(l)
	}
	q.ready, q.waiting, q.spilledInputs = nil, 0, 0
	if q.timer != nil {
		q.timer.Stop()
	}
	q.wakeAll()
	q.roomFreed.Broadcast()
}
