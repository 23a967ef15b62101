package client

import (
	"net/url"
	"sync"

	"github.com/rdapq/rdapq/bootstrap"
)

// A job is a lookup whose servers are known.
type job struct {
	result  *Result
	servers bootstrap.Answer
	line    *line // set by push
}

// A line is where the lookups of one server stand in line.
type line struct {
	limit    limiter
	waiting  []job
	inFlight int
	ready    bool // it stands in the queue's list
}

// A queue hands jobs to workers: first come, first served at each server, and
// the servers in turn. A server that is at its limit leaves the list of those
// that are ready until one of its lookups has ended, so that no worker ever
// waits for it.
type queue struct {
	maxWorkers int
	newLimiter func() limiter
	spawn      func() // starts a worker

	mu      sync.Mutex
	wake    sync.Cond // a line became ready, or the queue ended
	lines   map[string]*line
	ready   []*line
	jobs    int // waiting in all lines
	workers int
	idle    int // workers that wait and have not been woken
	closed  bool
}

func newQueue(workers int, newLimiter func() limiter, spawn func()) *queue {
	q := &queue{maxWorkers: workers, newLimiter: newLimiter, spawn: spawn, lines: make(map[string]*line)}
	q.wake.L = &q.mu
	return q
}

// push puts a job at the end of its server's line.
func (q *queue) push(j job) {
	key := lineKey(j.servers.URLs[0])
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lines[key]
	if l == nil {
		l = &line{limit: q.newLimiter()}
		q.lines[key] = l
	}
	j.line = l
	l.waiting = append(l.waiting, j)
	q.jobs++
	q.offer(l)
}

// offer puts l on the list if it has a job that may start, and finds a worker.
func (q *queue) offer(l *line) {
	if l.ready || len(l.waiting) == 0 || !l.limit.admit(l.inFlight) {
		return
	}
	l.ready = true
	q.ready = append(q.ready, l)
	switch {
	case q.idle > 0:
		q.idle-- // here and not by the woken one, or it would be counted on twice
		q.wake.Signal()
	case q.workers < q.maxWorkers:
		q.workers++
		q.spawn()
	}
}

// next returns a job that may start now. It waits for one, and is false when
// none will come.
func (q *queue) next() (job, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.ready) == 0 {
		if q.closed && q.jobs == 0 {
			q.wakeAll()
			return job{}, false
		}
		q.idle++
		q.wake.Wait()
	}
	l := q.ready[0]
	q.ready[0] = nil
	q.ready = q.ready[1:]
	l.ready = false
	j := l.waiting[0]
	l.waiting[0] = job{}
	l.waiting = l.waiting[1:]
	if len(l.waiting) == 0 {
		l.waiting = nil
	}
	l.inFlight++
	q.jobs--
	q.offer(l)
	return j, true
}

// done frees the job's place at its server.
func (q *queue) done(j job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j.line.inFlight--
	j.line.limit.observe(j.result)
	q.offer(j.line)
}

// close says that no more jobs come. Those that wait are still handed out.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wakeAll()
}

// clear forgets the jobs that wait.
func (q *queue) clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.lines {
		l.waiting, l.ready = nil, false
	}
	q.ready, q.jobs = nil, 0
	q.wakeAll()
}

func (q *queue) wakeAll() {
	q.idle = 0
	q.wake.Broadcast()
}

// lineKey names the server that a base URL is at. One host may serve many base
// URLs and counts requests to all of them.
func lineKey(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base
	}
	return origin(u)
}
