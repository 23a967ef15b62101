package client

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A queue hands the inputs of a batch to its workers: first come, first served
// at each server, and of the servers the one next that has the fewest workers, so
// that slow ones do not end up with them all. A server that may not be asked now
// leaves those that are ready, until one of its lookups has ended or its time has
// come, so that no worker ever waits for it.
type queue struct {
	queueConfig
	spill    spill
	tight    atomic.Bool // somebody waits for room for bodies
	spillErr error

	unwritten []*chunk // to be written by settle
	warnings  []func() // to be printed by settle
	onDisk    int64    // bytes of chunks that are in the file, or to be written
	paused    bool     // a warning has said that the source waits

	mu    sync.Mutex
	wake  sync.Cond       // a lane became ready, or the queue ended
	room  sync.Cond       // the reader may go on
	lanes map[int64]*lane // by the ids of their hosts
	ready readyLanes
	turn  uint64 // counts lanes becoming ready

	unserved      []*lane // lanes of ready without a lookup under way, those first that became ready first
	floorInFlight int     // lookups that were taken from there
	timers        timers
	timer         *time.Timer // nil: none is set

	inMemory int   // inputs between reading and the consumer, those on shelves not counted
	waiting  int64 // in all lanes
	spilled  int64 // of them, those on shelves
	inFlight int
	workers  int
	idle     int // workers that wait and have not been woken
	closed   bool
	ended    bool // what waits is given up
	gone     bool // nobody wants results any more

	twins   map[uint64]*item // by hash of their keys: in memory, and others may join
	twinned int              // inputs that wait for the result of another

	read  int64           // inputs
	heard map[int64]int64 // ids of the hosts that some of the last inputs were for, and the last of those
}

// queueConfig is what a queue needs of its batch.
type queueConfig struct {
	maxWorkers int
	window     int // bound of inMemory
	maxWait    time.Duration
	deadline   time.Time // of the batch; zero: none
	hosts      *hosts
	memory     *bodies
	carrier    carrier                           // nil: the transport does not say what it carries
	spawn      func()                            // starts a worker
	log        func(message string, args ...any) // prints a warning; may be nil
	maxQueued  int64                             // bound of waiting
	maxSpill   int64                             // bound of onDisk
}

const (
	// keepInMemory is how many inputs of a lane stay in memory when the rest of
	// it goes to the temporary file.
	keepInMemory = 16
	// lookAgain is when a lane is looked at again that waits for the end of a
	// request which is not its own.
	lookAgain = 50 * time.Millisecond
)

func newQueue(cfg queueConfig) *queue {
	q := &queue{
		queueConfig: cfg, lanes: make(map[int64]*lane), twins: make(map[uint64]*item),
		heard: make(map[int64]int64),
	}
	q.wake.L, q.room.L = &q.mu, &q.mu
	return q
}

// lane returns the line of a host, which is new if nothing stands in it.
func (q *queue) lane(h *host) *lane {
	l := q.lanes[h.id]
	if l == nil {
		l = &lane{host: h, slot: -1, place: -1}
		q.lanes[h.id] = l
		q.hosts.keep(h)
	}
	return l
}

// drop forgets a lane if it is empty.
func (q *queue) drop(l *lane) {
	if l.inFlight == 0 && l.aside == 0 && l.place < 0 && !l.hasFresh() && len(l.repeated) == 0 && q.lanes[l.host.id] == l {
		q.unpark(l)
		delete(q.lanes, l.host.id)
		q.hosts.release(l.host)
	}
}

// offer puts l on the list if it has something to do, and finds a worker.
func (q *queue) offer(l *lane) {
	if l.place >= 0 || l.loading || !l.hasFresh() && len(l.repeated) == 0 {
		return
	}
	if !q.ended {
		if !l.parked.IsZero() {
			return
		}
		if l.limit = q.limit(l); l.inFlight >= l.limit {
			return
		}
	}
	q.list(l)
	q.hire()
}

// rouse offers a lane that has got something fresh, which need not wait for the
// time of those to be repeated.
func (q *queue) rouse(l *lane) {
	if l.resting {
		q.unpark(l)
	}
	q.offer(l)
}

// hire finds a worker for a lane that became ready.
func (q *queue) hire() {
	switch {
	case q.idle > 0:
		q.idle-- // here and not by the woken one, or it would be counted on twice
		q.wake.Signal()
	case q.workers < q.maxWorkers:
		q.workers++
		q.spawn()
	}
}

// next returns an input with what may become of it. It waits for one, and is nil
// when none will come.
func (q *queue) next() (*item, ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for len(q.ready) > 0 && !q.full() {
			l := q.popReady()
			if c := l.needs(); c != nil {
				q.load(l, c)
				continue
			}
			if it, k := q.pick(l, time.Now()); it != nil {
				q.start(l, it, k)
				if q.starving() || !l.hasFresh() {
					q.room.Signal()
				}
				return it, k
			}
			q.drop(l)
		}
		if q.closed && q.waiting == 0 {
			q.workers--
			q.wakeAll()
			return nil, ticket{}
		}
		if q.starving() {
			q.room.Signal()
		}
		q.idle++
		q.wake.Wait()
	}
}

// full says that the bodies of what is under way need all the memory there is.
func (q *queue) full() bool {
	if q.inFlight == 0 || q.ended || !q.memory.tight() {
		return false
	}
	q.tight.Store(true)
	return q.memory.tight() // again: it may have become free before that was seen
}

// eased tells the queue that bodies have been given back.
func (q *queue) eased() {
	if !q.tight.Load() || q.memory.tight() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tight.Store(false)
	q.wakeAll()
}

// start notes that it is under way.
func (q *queue) start(l *lane, it *item, k ticket) {
	if it.lane == nil { // from the shelf
		q.inMemory++
		q.spilled--
	}
	it.lane = l
	l.inFlight++
	q.inFlight++
	q.waiting--
	if q.waiting == q.maxQueued-1 {
		q.room.Signal()
	}
	if k.grant == granted {
		it.began = k.at
	}
	if it.floor = l.byFloor; it.floor {
		q.floorInFlight++
	}
	it.beside = l.inFlight
	q.offer(l)
}

// pick decides what to do at a lane: to make a request, to give up an input, or
// nothing until later.
func (q *queue) pick(l *lane, now time.Time) (*item, ticket) {
	if !l.hasFresh() && len(l.repeated) == 0 {
		return nil, ticket{}
	}
	if q.ended {
		return q.any(l), ticket{grant: givenUpEnd}
	}
	if l.solo || l.inFlight > 0 && l.inFlight >= q.limit(l) {
		return nil, ticket{}
	}
	p := pass{beside: l.inFlight, waiting: int(min(l.queued(), math.MaxInt32)), maxWait: q.maxWait, others: l.others}
	if !q.deadline.IsZero() {
		p.maxWait = min(p.maxWait, q.deadline.Sub(now))
	}
	due, at := l.due(now)
	fresh := l.hasFresh() && len(l.repeated) < manyRepeated(l.host.adaptive.limit())
	if due < 0 && !fresh {
		if k, ok := l.host.hopeless(now, p); ok {
			return q.any(l), k
		}
		q.park(l, at)
		l.resting = !l.hasFresh()
		return nil, ticket{}
	}
	if due < 0 && len(l.front) == 0 && l.fresh.len() == 0 {
		// Its server is found by user code, which must not have the host's place.
		return q.unshelve(l), ticket{grant: unready}
	}
	k := l.host.take(now, p)
	switch k.grant {
	case granted:
		// A probe is a query that the server has not failed at, if there is one:
		// it may be the query that it fails at.
		if k.probe && due >= 0 && !fresh {
			due = l.leastTried(now)
		}
		// A server that was asked too much is tried with what has not been
		// refused. What has been more than once comes first, and by itself:
		// whatever the server dislikes, it is not the company.
		if due < 0 || fresh && (k.probe || k.careful && !l.repeated[due].refusedOften()) {
			return q.removeFresh(l), k
		}
		if l.repeated[due].refusedOften() {
			if l.inFlight > 0 {
				l.host.unsent(k)
				return nil, ticket{}
			}
			l.solo = true
		}
		return l.removeRepeated(due), k
	case later:
		if k.at.IsZero() && l.inFlight == 0 {
			k.at = now.Add(lookAgain)
		}
		if !k.at.IsZero() {
			q.park(l, k.at)
			l.brief = k.brief
		}
		return nil, k
	default:
		return q.any(l), k
	}
}

// any takes whatever waits at l, those first that have been asked for.
func (q *queue) any(l *lane) *item {
	if n := len(l.repeated); n > 0 {
		return l.removeRepeated(n - 1)
	}
	return q.removeFresh(l)
}

// done frees the item's place at its server. If it is to be asked for again it
// stands in line for its next host.
func (q *queue) done(it *item, again bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := it.lane
	l.inFlight--
	l.solo = false
	q.inFlight--
	if l.brief {
		q.unpark(l)
	}
	q.free(l, it)
	if again && !q.gone {
		it.restart()
		to := q.lane(it.host)
		it.lane = to
		q.waiting++
		if it.redirect != nil || it.result.Err == nil || it.at.IsZero() && it.result.Verdict != RateLimited {
			to.front = append(to.front, it)
			q.rouse(to)
		} else {
			to.repeated = append(to.repeated, it)
			if !to.parked.IsZero() && it.at.Before(to.parked) {
				q.unpark(to) // to see what it has to wait for
			}
		}
		if to != l {
			q.offer(to)
		}
	}
	q.offer(l)
	q.drop(l)
}

// finish takes it from those that others may join and returns who has.
func (q *queue) finish(it *item) []twin {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.twins[it.hash] == it {
		delete(q.twins, it.hash)
	}
	q.twinned -= len(it.twins)
	return it.twins
}

// meet attaches an input that has waited to one under way that asks for the same
// and whose response has not begun. The result of that one is then its own, and
// nothing more has to be done about it.
func (q *queue) meet(it *item) (joined bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it.late = false
	switch first := q.first(it); {
	case first == nil:
		q.twins[it.hash] = it
	case first != it && len(it.twins) == 0 && q.twinned < q.window/4:
		first.twins = append(first.twins, it.twin())
		q.twinned++
		return true
	}
	return false
}

// first returns the input that it may join, nil if there is none.
func (q *queue) first(it *item) *item {
	if first := q.twins[it.hash]; first != nil && first.key == it.key && first.mayBeJoined() {
		return first
	}
	return nil
}

// leave gives the place of a result back that the consumer has taken.
func (q *queue) leave() {
	q.mu.Lock()
	q.inMemory--
	if q.inMemory < q.window {
		q.room.Signal()
	}
	q.mu.Unlock()
}

func (q *queue) wakeAll() {
	q.idle = 0
	q.wake.Broadcast()
}
