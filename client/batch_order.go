package client

import (
	"container/heap"
	"slices"
	"time"
)

// Which lane a worker takes from: the one with the most time left, so that no host
// is still at work when all others are done. A part of the places goes to lanes
// without a lookup under way, in turn, so that every host makes progress.

// floorShare is the part of the workers that serve lanes in turn.
const floorShare = 4

// assumedTook is the time of a request to a host from which none has returned.
const assumedTook = 0.1

// list puts l among the lanes that are ready.
func (q *queue) list(l *lane) {
	q.turn++
	l.turn = q.turn
	l.left = q.timeLeft(l)
	heap.Push(&q.ready, l)
	if l.inFlight > 0 || l.listed {
		return
	}
	if len(q.unserved) > 2*len(q.lanes)+64 {
		q.unserved = slices.DeleteFunc(q.unserved, func(l *lane) bool {
			l.listed = l.place >= 0
			return !l.listed
		})
	}
	l.listed = true
	q.unserved = append(q.unserved, l)
}

// popReady takes the lane whose turn it is from those that are ready.
func (q *queue) popReady() *lane {
	for len(q.unserved) > 0 && q.floorInFlight < max(q.maxWorkers/floorShare, 1) {
		l := q.unserved[0]
		q.unserved[0] = nil
		q.unserved = q.unserved[1:]
		l.listed = false
		if l.place >= 0 && l.inFlight == 0 {
			heap.Remove(&q.ready, l.place)
			l.byFloor = true
			return l
		}
	}
	l := heap.Pop(&q.ready).(*lane)
	l.byFloor = false
	return l
}

// free notes that a lookup of l has ended.
func (q *queue) free(l *lane, it *item) {
	if it.floor {
		it.floor = false
		q.floorInFlight--
	}
	if !it.began.IsZero() {
		took := time.Since(it.began).Seconds()
		if l.took == 0 {
			l.took = took
		}
		l.took += (took - l.took) / 8
		it.began = time.Time{}
	}
	if l.place >= 0 {
		l.left = q.timeLeft(l)
		heap.Fix(&q.ready, l.place)
	}
}

// timeLeft is how many seconds the inputs of l take, at the limit that it has now.
func (q *queue) timeLeft(l *lane) float64 {
	each := l.took
	if each == 0 {
		each = assumedTook
	}
	each /= float64(max(l.limit, 1))
	return float64(l.queued()) * max(each, l.host.spacing().Seconds())
}

// spacing is the time between two requests that the limit of the host allows, if
// there is one.
func (h *host) spacing() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known().interval()
}
