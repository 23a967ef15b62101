package client

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
	for _, l := range q.lanes {
		q.unpark(l)
		q.offer(l)
	}
	q.wakeAll()
	q.room.Broadcast()
}

// clear forgets all that waits.
func (q *queue) clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.gone, q.ended = true, true
	for _, l := range q.lanes {
		l.front, l.fresh, l.shelf, l.repeated, l.place = nil, fifo{}, shelf{}, nil, -1
		q.unpark(l)
		q.drop(l)
	}
	q.ready, q.waiting, q.spilled = nil, 0, 0
	if q.timer != nil {
		q.timer.Stop()
	}
	q.wakeAll()
	q.room.Broadcast()
}
