package client

import (
	"time"

	"github.com/rdapq/rdapq/internal/gate"
)

// An item is one input on its way through a batch.
type item struct {
	task
	input          Input
	loaded         bool   // it has been parsed and its server is known
	readError      *Error // it could not be read back from the temporary file
	key            lookupKey
	hash           uint64      // of key
	maybeDuplicate bool        // another one that asks the same was in memory when it came
	duplicates     []duplicate // later inputs that ask the same
	queue          *queue      // once it was taken from it
	hostQueue      *hostQueue  // where it waits, or from which it was taken

	readFor      *gate.Host // which it was read for; nil: it is not known, or none
	grantedAt    time.Time  // when its request under way was granted; zero: none is
	fromUnserved bool       // it has one of the places for hosts without any
}

func (it *item) refusedOften() bool {
	return it.result.Verdict == RateLimited && it.result.Attempts > 1
}

// A hostQueue is where the inputs of one batch stand in line for one server.
type hostQueue struct {
	host *gate.Host

	resumed []*item // on their way already: they go before what is fresh
	fresh   fifo
	disk    diskQueue // fresh ones that came later than those in memory
	retries []*item   // to be asked again, in no order

	loading          bool // a chunk of its shelf is being read
	hasAlternates    bool // some have another server that could be asked
	inFlight         int
	steppedAside     int       // lookups that wait beside it, see item.stepAside
	limit            int       // how many may be in flight, as of the last offer
	requestTime      float64   // seconds, moving average of the time of a request; 0: not known
	timeLeft         float64   // seconds until nothing is left, as of the last offer
	inUnserved       bool      // it is among queue.unserved
	fromUnserved     bool      // it was taken from there
	exclusive        bool      // what is in flight is to have no company
	readyIndex       int       // among those that are ready; -1: it is not
	readySince       uint64    // when it became ready
	parkedUntil      time.Time // until when it is not looked at
	retriesOnly      bool      // because all that it has is to be repeated later
	untilRequestEnds bool      // or until one of its requests has ended
	timerIndex       int       // its place among the timers; -1: none
}

// maxRetriesWaiting is how many inputs may wait for repetition at a server that is
// asked for so many at once, before no others are asked.
func maxRetriesWaiting(limit int) int { return max(2*limit, 16) }

// waiting is how many inputs wait.
func (l *hostQueue) waiting() int64 {
	return int64(len(l.resumed)+l.fresh.len()+len(l.retries)) + l.disk.n
}

func (l *hostQueue) hasFresh() bool { return len(l.resumed) > 0 || l.fresh.len() > 0 || l.disk.n > 0 }

// dueRetry returns the index of the input to be repeated that has been asked for most
// often already, of those whose back-off is over; -1 if there is none. Then at is
// when there will be one, or zero.
func (l *hostQueue) dueRetry(now time.Time) (i int, at time.Time) {
	i = -1
	for k, it := range l.retries {
		switch {
		case it.at.After(now):
			if at.IsZero() || it.at.Before(at) {
				at = it.at
			}
		case i < 0 || it.result.Attempts > l.retries[i].result.Attempts:
			i = k
		}
	}
	return i, at
}

// leastTried returns the index of the input to be repeated that has been sent
// least often, of those whose back-off is over; -1 if there is none.
func (l *hostQueue) leastTried(now time.Time) int {
	i := -1
	for k, it := range l.retries {
		if !it.at.After(now) && (i < 0 || it.result.Attempts < l.retries[i].result.Attempts) {
			i = k
		}
	}
	return i
}

func (l *hostQueue) removeRetry(i int) *item {
	it, last := l.retries[i], len(l.retries)-1
	l.retries[i] = l.retries[last]
	l.retries[last] = nil
	l.retries = l.retries[:last]
	return it
}

// removeFresh takes the next input that is not a repetition.
func (q *queue) removeFresh(l *hostQueue) *item {
	if len(l.resumed) > 0 {
		it := l.resumed[0]
		l.resumed[0] = nil
		l.resumed = l.resumed[1:]
		return it
	}
	if l.fresh.len() > 0 {
		return l.fresh.pop()
	}
	return q.popSpilled(l)
}

// nextOnDisk returns the chunk of the temporary file that has to be read before the
// next fresh input can be taken; nil if there is none.
func (l *hostQueue) nextOnDisk() *chunk {
	if len(l.resumed) > 0 || l.fresh.len() > 0 {
		return nil
	}
	return l.disk.nextOnDisk()
}

// fifo is a queue of items.
type fifo struct {
	items []*item
	head  int
}

func (f *fifo) len() int { return len(f.items) - f.head }

func (f *fifo) push(it *item) {
	if f.head > 0 && len(f.items) == cap(f.items) {
		n := copy(f.items, f.items[f.head:])
		clear(f.items[n:])
		f.items, f.head = f.items[:n], 0
	}
	f.items = append(f.items, it)
}

func (f *fifo) pop() *item {
	it := f.items[f.head]
	f.items[f.head] = nil
	if f.head++; f.head == len(f.items) {
		f.items, f.head = f.items[:0], 0
	}
	return it
}

// cutTail removes and returns all but the first n.
func (f *fifo) cutTail(n int) []*item {
	tail := f.items[f.head+n:]
	f.items = f.items[:f.head+n]
	return tail
}

// A capacityReporter is a transport that knows how many requests to an origin it carries
// at a time; see [pool.Pool.Capacity].
type capacityReporter interface {
	Capacity(origin string, demand int) int
}

// limitOf is how many lookups may be under way at l: what its host may be sent at a
// time, and no more than its connections carry.
func (q *queue) limitOf(l *hostQueue) int {
	n := l.host.Limit()
	if l.inFlight >= n {
		return n
	}
	if carried := l.host.Capacity(q.capacity, q.demand(l)); carried > 0 {
		return min(n, carried)
	}
	return n
}

// demand is how many lookups of l would be under way if its connections were no
// bound.
func (q *queue) demand(l *hostQueue) int {
	return int(min(int64(l.inFlight)+l.waiting(), int64(l.host.Limit()), int64(q.maxWorkers)))
}

// capacity returns the method Capacity of the Transport; nil if it has none.
func (c *Client) capacity() func(origin string, demand int) int {
	if k, ok := c.cfg.Transport.(capacityReporter); ok {
		return k.Capacity
	}
	return nil
}
