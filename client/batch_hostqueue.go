package client

import (
	"time"

	"github.com/rdapq/rdapq/internal/fifo"
	"github.com/rdapq/rdapq/internal/gate"
	"github.com/rdapq/rdapq/internal/spill"
)

// An item is one input of a batch.
type item struct {
	task
	input          Input
	loaded         bool   // the input has been parsed and the servers are known
	readError      *Error // error of reading the input from the temporary file
	key            lookupKey
	hash           uint64      // hash of key
	maybeDuplicate bool        // an item with the same key was in memory when it was read
	duplicates     []duplicate // later inputs with the same key
	queue          *queue      // nil until the item is taken from the queue
	hostQueue      *hostQueue  // queue in which the item waits, or from which it was taken

	readFor      *gate.Host // host of the first server; nil if there is none or it is unknown
	grantedAt    time.Time  // when the request in flight was admitted; zero if no request is in flight
	queuedAt     time.Time  // when it was added to the queue; zero if its input was spilled since
	fromUnserved bool       // the item was taken from queue.unserved
}

func (it *item) refusedOften() bool {
	return it.result.Verdict == VerdictRateLimited && it.result.Attempts > 1
}

// A hostQueue has the items of a batch that wait for one host.
type hostQueue struct {
	host *gate.Host

	resumed []*item // items with a next request that is no retry; they precede fresh
	fresh   fifo.Queue[*item]
	disk    spill.Queue // inputs read after the items of fresh
	retries []*item     // items to retry, unordered

	loading          bool // a chunk of disk is being read
	hasAlternates    bool // some items have another server
	inFlight         int
	steppedAside     int       // lookups not counted while they wait, see item.stepAside
	limit            int       // maximum of inFlight, as of the last makeReady
	requestTime      float64   // moving average of the time of a request, in seconds; 0 means not known
	timeLeft         float64   // estimated seconds until the queue is empty, as of the last makeReady
	inUnserved       bool      // the queue is in queue.unserved
	fromUnserved     bool      // the queue was just taken from queue.unserved
	exclusive        bool      // the lookup in flight must be the only one
	readyIndex       int       // index in queue.ready; -1 means not ready
	readySince       uint64    // position in the order in which queues became ready
	parkedUntil      time.Time // end of the pause; zero means not parked
	retriesOnly      bool      // the queue is parked because all retries are scheduled for later
	untilRequestEnds bool      // the queue is parked until parkedUntil, or until one of its requests ends
	timerIndex       int       // index in queue.timers; -1 means not parked
}

// maxRetriesWaiting returns the maximum number of waiting retries of a host with a limit
// on concurrent requests. Beyond it, the host gets no fresh inputs.
func maxRetriesWaiting(limit int) int { return max(2*limit, 16) }

// waiting returns the number of waiting inputs.
func (l *hostQueue) waiting() int64 {
	return int64(len(l.resumed)+l.fresh.Len()+len(l.retries)) + l.disk.Len()
}

func (l *hostQueue) hasFresh() bool {
	return len(l.resumed) > 0 || l.fresh.Len() > 0 || l.disk.Len() > 0
}

// dueRetry returns the index of the retry with the most attempts among those whose time
// has come. If there is none, it returns -1 and the time of the next retry, or zero.
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

// leastTried returns the index of the retry with the fewest attempts among those whose
// time has come, or -1.
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

// removeFresh removes the next item that is not a retry.
func (q *queue) removeFresh(l *hostQueue) *item {
	if len(l.resumed) > 0 {
		it := l.resumed[0]
		l.resumed[0] = nil
		l.resumed = l.resumed[1:]
		return it
	}
	if l.fresh.Len() > 0 {
		return l.fresh.Pop()
	}
	return q.popSpilled(l)
}

// nextOnDisk returns the chunk that must be read from the temporary file before
// removeFresh; nil if none must.
func (l *hostQueue) nextOnDisk() *spill.Chunk {
	if len(l.resumed) > 0 || l.fresh.Len() > 0 {
		return nil
	}
	return l.disk.Next()
}

// A capacityReporter is a transport that reports how many concurrent requests to an
// origin it supports; see [pool.Pool.Capacity].
type capacityReporter interface {
	Capacity(origin string, demand int) int
}

// limitOf returns the maximum number of concurrent lookups of l: the lower of its host's
// limit and the capacity of its connections.
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

// demand returns the number of concurrent lookups that l could run if its connections had
// unlimited capacity.
func (q *queue) demand(l *hostQueue) int {
	return int(min(int64(l.inFlight)+l.waiting(), int64(l.host.Limit()), int64(q.maxWorkers)))
}
