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
	for _, l := range q.byHost {
		q.unpark(l)
		q.makeReady(l)
	}
	q.wakeAll()
	q.roomFreed.Broadcast()
}

// clear forgets all that waits.
func (q *queue) clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.abandoned, q.ended = true, true
	for _, l := range q.byHost {
		l.resumed, l.fresh, l.disk, l.retries, l.readyIndex = nil, fifo{}, diskQueue{}, nil, -1
		q.unpark(l)
		q.dropIfEmpty(l)
	}
	q.ready, q.waiting, q.spilledInputs = nil, 0, 0
	if q.timer != nil {
		q.timer.Stop()
	}
	q.wakeAll()
	q.roomFreed.Broadcast()
}
