package client

import (
	"container/heap"
	"time"
)

// timers is a heap of parked lanes.
type timers []*lane

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].parked.Before(t[j].parked) }
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].slot, t[j].slot = i, j
}

func (t *timers) Push(x any) {
	l := x.(*lane)
	l.slot = len(*t)
	*t = append(*t, l)
}

func (t *timers) Pop() any {
	last := len(*t) - 1
	l := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	l.slot = -1
	return l
}

// park takes l off until at.
func (q *queue) park(l *lane, at time.Time) {
	l.parked = at
	if l.slot >= 0 {
		heap.Fix(&q.timers, l.slot)
	} else {
		heap.Push(&q.timers, l)
	}
	if q.timers[0] == l {
		q.setTimer()
	}
}

func (q *queue) unpark(l *lane) {
	l.parked, l.resting, l.brief = time.Time{}, false, false
	if l.slot >= 0 {
		heap.Remove(&q.timers, l.slot)
	}
}

// setTimer arranges for tick at the time of the first parked lane.
func (q *queue) setTimer() {
	if len(q.timers) == 0 || q.gone {
		return
	}
	wait := time.Until(q.timers[0].parked)
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
	for len(q.timers) > 0 && !q.timers[0].parked.After(now) {
		l := q.timers[0]
		q.unpark(l)
		q.offer(l)
	}
	q.setTimer()
}

// readyLanes is a heap of the lanes from which a lookup may start: those with the
// most time left come first, and of them those that have waited longest.
type readyLanes []*lane

func (r readyLanes) Len() int { return len(r) }
func (r readyLanes) Less(i, j int) bool {
	if r[i].left != r[j].left {
		return r[i].left > r[j].left
	}
	return r[i].turn < r[j].turn
}

func (r readyLanes) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].place, r[j].place = i, j
}

func (r *readyLanes) Push(x any) {
	l := x.(*lane)
	l.place = len(*r)
	*r = append(*r, l)
}

func (r *readyLanes) Pop() any {
	last := len(*r) - 1
	l := (*r)[last]
	(*r)[last] = nil
	*r = (*r)[:last]
	l.place = -1
	return l
}
