package client

import (
	"container/heap"
	"time"
)

// parkedHeap is a heap of parked lanes.
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

// park takes l off until at.
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

// setTimer arranges for tick at the time of the first parked lane.
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

// tick offers the lanes whose time has come.
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

// readyHeap is a heap of the lanes from which a lookup may start: those with the
// most time left come first, and of them those that have waited longest.
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
