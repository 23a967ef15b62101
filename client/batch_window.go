package client

import "maps"

// enter takes in an input that asks for nothing, such as one that is invalid: its
// result takes a place as well. It is false if its result is not wanted any more.
func (q *queue) enter() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.inMemory >= q.window && !q.gone {
		if !q.hungry() || !q.spillOne() {
			q.wait()
		}
		q.settle()
	}
	if !q.gone {
		q.inMemory++
	}
	return !q.gone
}

// push puts a new input at the end of the lane of its server. It waits for a
// place in the window, and so paces the reader. An input that joins an earlier one
// has a place, but waits in no lane.
func (q *queue) push(it *item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.hear(it.host)
	for !q.gone && !q.admit(it) {
		q.settle()
	}
	q.settle()
}

// admit takes in a new input, or makes room or waits before that is tried again.
func (q *queue) admit(it *item) bool {
	if q.twin(it) {
		return true
	}
	if q.waiting >= q.maxQueued {
		q.pauses("so many inputs wait for their servers: reading pauses until some were sent", "inputs", q.maxQueued)
		q.wait()
		return false
	}
	l := q.lane(it.host)
	l.others = l.others || len(it.servers.URLs) > 1
	switch {
	case l.shelf.n > 0 && q.spillErr == nil: // it goes behind those on the shelf
		if q.hungry() && q.shelve(l, it) {
			return true
		}
	case q.inMemory < q.window:
		q.inMemory++
		it.lane = l
		if it.late = q.first(it) != nil; !it.late {
			q.twins[it.hash] = it
		}
		l.fresh.push(it)
		q.waiting++
		q.rouse(l)
		return true
	case q.hungry() && q.spillOne():
		return false
	}
	q.drop(l)
	q.wait()
	return false
}

// wait waits until the reader may go on, after what there is to write and to warn
// of: then the reader looks again before it waits.
func (q *queue) wait() {
	if len(q.unwritten) > 0 || len(q.warnings) > 0 {
		q.settle()
		return
	}
	q.room.Wait()
}

// twin attaches it to an input that asks for the same and whose response has not
// begun.
func (q *queue) twin(it *item) (joined bool) {
	first := q.first(it)
	// Not so many that they fill the window: that would hold up all others.
	if first == nil || q.inMemory >= q.window || q.twinned >= q.window/4 {
		return false
	}
	first.twins = append(first.twins, it.twin())
	q.twinned++
	q.inMemory++
	return true
}

func (it *item) twin() twin {
	return twin{line: it.result.Line, query: it.result.Query, extra: it.result.Extra}
}

// starving says that workers are idle for want of servers that may be asked.
func (q *queue) starving() bool {
	return len(q.ready) == 0 && q.inFlight < q.maxWorkers && !q.ended && !q.memory.tight()
}

// hungry says that reading should go on although there is no room: because
// workers are idle, or because nothing is left to ask of a server that some of the
// last inputs were for. There may be more for it behind those that fill the
// window, and it must not wait for the servers of these.
func (q *queue) hungry() bool {
	if q.ended || q.memory.tight() {
		return false
	}
	if q.starving() {
		return true
	}
	for id := range q.heard {
		if l := q.lanes[id]; l == nil || !l.hasFresh() {
			return true
		}
	}
	return false
}

// hearing is about how many inputs ago a server was last heard of that still
// counts.
const hearing = 4096

// hear notes that an input is for h. It keeps the id alone, as there may be
// thousands of hosts that nothing else needs in memory.
func (q *queue) hear(h *host) {
	q.read++
	q.heard[h.id] = q.read
	if q.read%hearing == 0 {
		maps.DeleteFunc(q.heard, func(_, at int64) bool { return q.read-at > hearing })
	}
}

// spillOne makes room in the window: most of the longest lane goes to its shelf.
func (q *queue) spillOne() bool {
	if q.spillErr != nil || !q.mayGrow() {
		return false
	}
	var longest *lane
	for _, l := range q.lanes {
		if l.shelf.n == 0 && (longest == nil || l.fresh.len() > longest.fresh.len()) {
			longest = l
		}
	}
	if longest == nil || longest.fresh.len() < 2 {
		return false
	}
	moved := 0
	var stay []*item
	tail := longest.fresh.cutTail(min(keepInMemory, longest.fresh.len()/2))
	for _, it := range tail {
		if len(it.twins) > 0 {
			stay = append(stay, it) // others count on it
			continue
		}
		q.shelved(longest.shelf.put(it.input))
		if q.twins[it.hash] == it {
			delete(q.twins, it.hash)
		}
		moved++
	}
	clear(tail)
	for _, it := range stay {
		longest.fresh.push(it)
	}
	q.inMemory -= moved
	q.spilled += int64(moved)
	return moved > 0
}
