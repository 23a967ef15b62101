package client

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdapq/rdapq/internal/gate"
)

// A queue hands the inputs of a batch to its workers: first come, first served
// at each server, and of the servers the one next that has the fewest workers, so
// that slow ones do not end up with them all. A server that may not be asked now
// leaves those that are ready, until one of its lookups has ended or its time has
// come, so that no worker ever waits for it.
type queue struct {
	queueConfig
	spill          spillFile
	waitsForMemory atomic.Bool // somebody waits for room for bodies
	spillErr       error

	unwritten []*chunk // to be written by settle
	warnings  []func() // to be printed by settle
	diskBytes int64    // bytes of chunks that are in the file, or to be written
	paused    bool     // a warning has said that the source waits

	mu        sync.Mutex
	workReady sync.Cond            // a lane became ready, or the queue ended
	roomFreed sync.Cond            // the reader may go on
	byHost    map[int64]*hostQueue // by the ids of their hosts
	ready     readyHeap
	readySeq  uint64 // counts lanes becoming ready

	unserved         []*hostQueue // lanes of ready without a lookup under way, those first that became ready first
	unservedInFlight int          // lookups that were taken from there
	timers           parkedHeap
	timer            *time.Timer // nil: none is set

	inMemory      int   // inputs between reading and the consumer, those on shelves not counted
	waiting       int64 // in all lanes
	spilledInputs int64 // of them, those on shelves
	inFlight      int
	workers       int
	idle          int // workers that wait and have not been woken
	closed        bool
	ended         bool // what waits is given up
	abandoned     bool // nobody wants results any more

	joinable  map[uint64]*item // by hash of their keys: in memory, and others may join
	coalesced int              // inputs that wait for the result of another

	inputsRead  int64           // inputs
	recentHosts map[int64]int64 // ids of the hosts that some of the last inputs were for, and the last of those
}

// queueConfig is what a queue needs of its batch.
type queueConfig struct {
	maxWorkers int
	window     int // bound of inMemory
	maxWait    time.Duration
	deadline   time.Time // of the batch; zero: none
	hosts      *gate.Hosts
	memory     *bodies
	capacity   func(origin string, demand int) int // nil: the transport does not say what it carries
	spawn      func()                              // starts a worker
	log        func(message string, args ...any)   // prints a warning; may be nil
	maxQueued  int64                               // bound of waiting
	maxSpill   int64                               // bound of onDisk
}

const (
	// minInMemory is how many inputs of a lane stay in memory when the rest of
	// it goes to the temporary file.
	minInMemory = 16
	// recheckAfter is when a lane is looked at again that waits for the end of a
	// request which is not its own.
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

// hostQueueOf returns the line of a host, which is new if nothing stands in it.
func (q *queue) hostQueueOf(h *gate.Host) *hostQueue {
	l := q.byHost[h.ID()]
	if l == nil {
		l = &hostQueue{host: h, timerIndex: -1, readyIndex: -1}
		q.byHost[h.ID()] = l
		q.hosts.Keep(h)
	}
	return l
}

// dropIfEmpty forgets a lane if it is empty.
func (q *queue) dropIfEmpty(l *hostQueue) {
	if l.inFlight == 0 && l.steppedAside == 0 && l.readyIndex < 0 && !l.hasFresh() && len(l.retries) == 0 && q.byHost[l.host.ID()] == l {
		q.unpark(l)
		delete(q.byHost, l.host.ID())
		q.hosts.Release(l.host)
	}
}

// makeReady puts l on the list if it has something to do, and finds a worker.
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

// wakeHost offers a lane that has got something fresh, which need not wait for the
// time of those to be repeated.
func (q *queue) wakeHost(l *hostQueue) {
	if l.retriesOnly {
		q.unpark(l)
	}
	q.makeReady(l)
}

// startWorker finds a worker for a lane that became ready.
func (q *queue) startWorker() {
	switch {
	case q.idle > 0:
		q.idle-- // here and not by the woken one, or it would be counted on twice
		q.workReady.Signal()
	case q.workers < q.maxWorkers:
		q.workers++
		q.spawn()
	}
}

// next returns an input with what may become of it. It waits for one, and is nil
// when none will come.
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

// memoryFull says that the bodies of what is under way need all the memory there is.
func (q *queue) memoryFull() bool {
	if q.inFlight == 0 || q.ended || !q.memory.tight() {
		return false
	}
	q.waitsForMemory.Store(true)
	return q.memory.tight() // again: it may have become free before that was seen
}

// memoryReleased tells the queue that bodies have been given back.
func (q *queue) memoryReleased() {
	if !q.waitsForMemory.Load() || q.memory.tight() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waitsForMemory.Store(false)
	q.wakeAll()
}

// noteStarted notes that it is under way.
func (q *queue) noteStarted(l *hostQueue, it *item, k gate.Decision) {
	if it.hostQueue == nil { // from the shelf
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

// Verdicts of a queue, beside those of the gate.
const (
	notLoaded   gate.Verdict = -1 - iota // the input is in the temporary file, and has not been resolved
	rejectEnded                          // the batch ends
)

// pick decides what to do at a lane: to make a request, to give up an input, or
// nothing until later.
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
	p := gate.Request{InFlight: l.inFlight, Waiting: int(min(l.waiting(), math.MaxInt32)), MaxWait: q.maxWait, HasAlternates: l.hasAlternates}
	if !q.deadline.IsZero() {
		p.MaxWait = min(p.MaxWait, q.deadline.Sub(now))
	}
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
	if due < 0 && len(l.resumed) == 0 && l.fresh.len() == 0 {
		// Its server is found by user code, which must not have the host's place.
		return q.popSpilled(l), gate.Decision{Verdict: notLoaded}
	}
	k := l.host.Acquire(now, p)
	switch k.Verdict {
	case gate.Allow:
		// A probe is a query that the server has not failed at, if there is one:
		// it may be the query that it fails at.
		if k.Probe && due >= 0 && !fresh {
			due = l.leastTried(now)
		}
		// A server that was asked too much is tried with what has not been
		// refused. What has been more than once comes first, and by itself:
		// whatever the server dislikes, it is not the company.
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

// anyInput takes whatever waits at l, those first that have been asked for.
func (q *queue) anyInput(l *hostQueue) *item {
	if n := len(l.retries); n > 0 {
		return l.removeRetry(n - 1)
	}
	return q.removeFresh(l)
}

// finishRequest frees the item's place at its server. If it is to be asked for again it
// stands in line for its next host.
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
		if it.redirect != nil || it.result.Err == nil || it.at.IsZero() && it.result.Verdict != RateLimited {
			to.resumed = append(to.resumed, it)
			q.wakeHost(to)
		} else {
			to.retries = append(to.retries, it)
			if !to.parkedUntil.IsZero() && it.at.Before(to.parkedUntil) {
				q.unpark(to) // to see what it has to wait for
			}
		}
		if to != l {
			q.makeReady(to)
		}
	}
	q.makeReady(l)
	q.dropIfEmpty(l)
}

// takeDuplicates takes it from those that others may join and returns who has.
func (q *queue) takeDuplicates(it *item) []duplicate {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.joinable[it.hash] == it {
		delete(q.joinable, it.hash)
	}
	q.coalesced -= len(it.duplicates)
	return it.duplicates
}

// coalesce attaches an input that has waited to one under way that asks for the same
// and whose response has not begun. The result of that one is then its own, and
// nothing more has to be done about it.
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

// joinableFor returns the input that it may join, nil if there is none.
func (q *queue) joinableFor(it *item) *item {
	if first := q.joinable[it.hash]; first != nil && first.key == it.key && first.isJoinable() {
		return first
	}
	return nil
}

// releasePlace gives the place of a result back that the consumer has taken.
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

// close says that no more inputs come. Those that wait are still handed out.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wakeAll()
}

// end gives up all that waits: it is handed out at once, to be ended.
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

// clear forgets all that waits.
func (q *queue) clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.abandoned, q.ended = true, true
	for _, l := range q.byHost {
		l.resumed, l.fresh, l.disk, l.retries, l.readyIndex = nil, fifo{}, diskQueue{}, nil, -1
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
