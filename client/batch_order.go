package client

import (
	"container/heap"
	"slices"
	"time"
)

// Which lane a worker takes from: the one with the most time left, so that no host
// is still at work when all others are done. A part of the places goes to lanes
// without a lookup under way, in turn, so that every host makes progress.

// unservedShare is the part of the workers that serve lanes in turn.
const unservedShare = 4

// assumedRequestTime is the time of a request to a host from which none has returned.
const assumedRequestTime = 0.1

// addReady puts l among the lanes that are ready.
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

// popReady takes the lane whose turn it is from those that are ready.
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

// noteEnded notes that a lookup of l has ended.
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

// timeLeft is how many seconds the inputs of l take, at the limit that it has now.
func (q *queue) timeLeft(l *hostQueue) float64 {
	each := l.requestTime
	if each == 0 {
		each = assumedRequestTime
	}
	each /= float64(max(l.limit, 1))
	return float64(l.waiting()) * max(each, l.host.spacing().Seconds())
}

// spacing is the time between two requests that the limit of the host allows, if
// there is one.
func (h *host) spacing() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known().interval()
}
