package client

import (
	"container/heap"
	"slices"
	"time"
)

// A worker takes an item from the host queue with the most time left, so that all hosts
// are done at about the same time. A share of the workers serves queues without a lookup
// in flight, in FIFO order, so that every host makes progress.

// One in unservedShare workers serves queue.unserved.
const unservedShare = 4

// assumedRequestTime is the assumed time of a request, in seconds, before the first
// response of a host.
const assumedRequestTime = 0.1

// addReady adds l to the queues that are ready.
func (q *queue) addReady(l *hostQueue) {
	q.readySeq++
	l.readySince = q.readySeq
	l.timeLeft = q.timeLeft(l)
	heap.Push(&q.ready, l)
	if l.inFlight > 0 || l.inUnserved {
		return
	}
	if len(q.unserved) > 2*len(q.byHost)+64 {
		q.unserved = slices.DeleteFunc(q.unserved, func(l *hostQueue) bool {
			l.inUnserved = l.readyIndex >= 0
			return !l.inUnserved
		})
	}
	l.inUnserved = true
	q.unserved = append(q.unserved, l)
}

// popReady removes the next of the queues that are ready.
func (q *queue) popReady() *hostQueue {
	for len(q.unserved) > 0 && q.unservedInFlight < max(q.maxWorkers/unservedShare, 1) {
		l := q.unserved[0]
		q.unserved[0] = nil
		q.unserved = q.unserved[1:]
		l.inUnserved = false
		if l.readyIndex >= 0 && l.inFlight == 0 {
			heap.Remove(&q.ready, l.readyIndex)
			l.fromUnserved = true
			return l
		}
	}
	l := heap.Pop(&q.ready).(*hostQueue)
	l.fromUnserved = false
	return l
}

// noteEnded records the end of a lookup of l.
func (q *queue) noteEnded(l *hostQueue, it *item) {
	if it.fromUnserved {
		it.fromUnserved = false
		q.unservedInFlight--
	}
	if !it.grantedAt.IsZero() {
		took := time.Since(it.grantedAt).Seconds()
		if l.requestTime == 0 {
			l.requestTime = took
		}
		l.requestTime += (took - l.requestTime) / 8
		it.grantedAt = time.Time{}
	}
	if l.readyIndex >= 0 {
		l.timeLeft = q.timeLeft(l)
		heap.Fix(&q.ready, l.readyIndex)
	}
}

// timeLeft estimates how many seconds the items of l take at its current limit.
func (q *queue) timeLeft(l *hostQueue) float64 {
	each := l.requestTime
	if each == 0 {
		each = assumedRequestTime
	}
	each /= float64(max(l.limit, 1))
	return float64(l.waiting()) * max(each, l.host.Rate().Interval().Seconds())
}

// parkedHeap is a heap of parked host queues, ordered by the time at which they end.
type parkedHeap []*hostQueue

func (t parkedHeap) Len() int           { return len(t) }
func (t parkedHeap) Less(i, j int) bool { return t[i].parkedUntil.Before(t[j].parkedUntil) }
func (t parkedHeap) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].timerIndex, t[j].timerIndex = i, j
}

func (t *parkedHeap) Push(x any) {
	l := x.(*hostQueue)
	l.timerIndex = len(*t)
	*t = append(*t, l)
}

func (t *parkedHeap) Pop() any {
	last := len(*t) - 1
	l := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	l.timerIndex = -1
	return l
}

// park excludes l until at.
func (q *queue) park(l *hostQueue, at time.Time) {
	l.parkedUntil = at
	if l.timerIndex >= 0 {
		heap.Fix(&q.timers, l.timerIndex)
	} else {
		heap.Push(&q.timers, l)
	}
	if q.timers[0] == l {
		q.setTimer()
	}
}

func (q *queue) unpark(l *hostQueue) {
	l.parkedUntil, l.retriesOnly, l.untilRequestEnds = time.Time{}, false, false
	if l.timerIndex >= 0 {
		heap.Remove(&q.timers, l.timerIndex)
	}
}

// setTimer schedules a call of tick for the time of the first parked queue.
func (q *queue) setTimer() {
	if len(q.timers) == 0 || q.abandoned {
		return
	}
	wait := time.Until(q.timers[0].parkedUntil)
	if q.timer == nil {
		q.timer = time.AfterFunc(wait, q.tick)
	} else {
		q.timer.Reset(wait)
	}
}

// tick makes parked queues ready at the end of their pause.
func (q *queue) tick() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for len(q.timers) > 0 && !q.timers[0].parkedUntil.After(now) {
		l := q.timers[0]
		q.unpark(l)
		q.makeReady(l)
	}
	q.setTimer()
}

// readyHeap is a heap of the host queues from which a lookup may start. The queue with the most
// time left is first. Among equals, the queue that has been ready longest is first.
type readyHeap []*hostQueue

func (r readyHeap) Len() int { return len(r) }
func (r readyHeap) Less(i, j int) bool {
	if r[i].timeLeft != r[j].timeLeft {
		return r[i].timeLeft > r[j].timeLeft
	}
	return r[i].readySince < r[j].readySince
}

func (r readyHeap) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].readyIndex, r[j].readyIndex = i, j
}

func (r *readyHeap) Push(x any) {
	l := x.(*hostQueue)
	l.readyIndex = len(*r)
	*r = append(*r, l)
}

func (r *readyHeap) Pop() any {
	last := len(*r) - 1
	l := (*r)[last]
	(*r)[last] = nil
	*r = (*r)[:last]
	l.readyIndex = -1
	return l
}
