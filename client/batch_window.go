package client

import (
	"maps"

	"github.com/rdapq/rdapq/internal/gate"
)

// reservePlace takes in an input that asks for nothing, such as one that is invalid: its
// result takes a place as well. It is false if its result is not wanted any more.
func (q *queue) reservePlace() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.inMemory >= q.window && !q.abandoned {
		if !q.shouldReadAhead() || !q.spillOne() {
			q.waitForRoom()
		}
		q.flushPending()
	}
	if !q.abandoned {
		q.inMemory++
	}
	return !q.abandoned
}

// push puts a new input at the end of the lane of its server. It waits for a
// place in the window, and so paces the reader. An input that joins an earlier one
// has a place, but waits in no lane.
func (q *queue) push(it *item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.noteHost(it.host)
	for !q.abandoned && !q.tryPush(it) {
		q.flushPending()
	}
	q.flushPending()
}

// tryPush takes in a new input, or makes room or waits before that is tried again.
func (q *queue) tryPush(it *item) bool {
	if q.joinEarlier(it) {
		return true
	}
	if q.waiting >= q.maxQueued {
		q.warnPaused("the queue is full: reading pauses until some inputs are sent", "inputs", q.maxQueued)
		q.waitForRoom()
		return false
	}
	l := q.hostQueueOf(it.host)
	l.hasAlternates = l.hasAlternates || len(it.servers.URLs) > 1
	switch {
	case l.disk.n > 0 && q.spillErr == nil: // it goes behind those on the shelf
		if q.shouldReadAhead() && q.spillInput(l, it) {
			return true
		}
	case q.inMemory < q.window:
		q.inMemory++
		it.hostQueue = l
		if it.maybeDuplicate = q.joinableFor(it) != nil; !it.maybeDuplicate {
			q.joinable[it.hash] = it
		}
		l.fresh.push(it)
		q.waiting++
		q.wakeHost(l)
		return true
	case q.shouldReadAhead() && q.spillOne():
		return false
	}
	q.dropIfEmpty(l)
	q.waitForRoom()
	return false
}

// waitForRoom waits until the reader may go on, after what there is to write and to warn
// of: then the reader looks again before it waits.
func (q *queue) waitForRoom() {
	if len(q.unwritten) > 0 || len(q.warnings) > 0 {
		q.flushPending()
		return
	}
	q.roomFreed.Wait()
}

// joinEarlier attaches it to an input that asks for the same and whose response has not
// begun.
func (q *queue) joinEarlier(it *item) (joined bool) {
	first := q.joinableFor(it)
	// Not so many that they fill the window: that would hold up all others.
	if first == nil || q.inMemory >= q.window || q.coalesced >= q.window/4 {
		return false
	}
	first.duplicates = append(first.duplicates, it.asDuplicate())
	q.coalesced++
	q.inMemory++
	return true
}

func (it *item) asDuplicate() duplicate {
	return duplicate{line: it.result.Line, query: it.result.Query, extra: it.result.Extra}
}

// idleForLackOfHosts says that workers are idle for want of servers that may be asked.
func (q *queue) idleForLackOfHosts() bool {
	return len(q.ready) == 0 && q.inFlight < q.maxWorkers && !q.ended && !q.memory.tight()
}

// shouldReadAhead says that reading should go on although there is no room: because
// workers are idle, or because nothing is left to ask of a server that some of the
// last inputs were for. There may be more for it behind those that fill the
// window, and it must not wait for the servers of these.
func (q *queue) shouldReadAhead() bool {
	if q.ended || q.memory.tight() {
		return false
	}
	if q.idleForLackOfHosts() {
		return true
	}
	for id := range q.recentHosts {
		if l := q.byHost[id]; l == nil || !l.hasFresh() {
			return true
		}
	}
	return false
}

// recentHostInputs is about how many inputs ago a server was last heard of that still
// counts.
const recentHostInputs = 4096

// noteHost notes that an input is for h. It keeps the id alone, as there may be
// thousands of hosts that nothing else needs in memory.
func (q *queue) noteHost(h *gate.Host) {
	q.inputsRead++
	q.recentHosts[h.ID()] = q.inputsRead
	if q.inputsRead%recentHostInputs == 0 {
		maps.DeleteFunc(q.recentHosts, func(_, at int64) bool { return q.inputsRead-at > recentHostInputs })
	}
}

// spillOne makes room in the window: most of the longest lane goes to its shelf.
func (q *queue) spillOne() bool {
	if q.spillErr != nil || !q.fileHasRoom() {
		return false
	}
	var longest *hostQueue
	for _, l := range q.byHost {
		if l.disk.n == 0 && (longest == nil || l.fresh.len() > longest.fresh.len()) {
			longest = l
		}
	}
	if longest == nil || longest.fresh.len() < 2 {
		return false
	}
	moved := 0
	var stay []*item
	tail := longest.fresh.cutTail(min(minInMemory, longest.fresh.len()/2))
	for _, it := range tail {
		if len(it.duplicates) > 0 {
			stay = append(stay, it) // others count on it
			continue
		}
		q.noteChunk(longest.disk.push(it.input))
		if q.joinable[it.hash] == it {
			delete(q.joinable, it.hash)
		}
		moved++
	}
	clear(tail)
	for _, it := range stay {
		longest.fresh.push(it)
	}
	q.inMemory -= moved
	q.spilledInputs += int64(moved)
	return moved > 0
}
