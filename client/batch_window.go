package client

import (
	"maps"

	"github.com/rdapq/rdapq/internal/gate"
)

// reservePlace waits for a place in the window for an input that is not sent, such as an
// invalid one. It returns false if its result is no longer needed.
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

// push adds a new item to the queue of its host. It waits for a place in the window, and so
// paces the reader. An item that joins an earlier item takes a place, but is in no host queue.
// push returns false if the queue does not keep the item, because its input was spilled or has
// joined another.
func (q *queue) push(it *item) (kept bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.noteHost(it.host)
	for !q.abandoned && !q.tryPush(it) {
		q.flushPending()
	}
	q.flushPending()
	return it.hostQueue != nil
}

// tryPush adds a new item. If there is no room, it spills others or waits, and returns
// false.
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
	case l.disk.Len() > 0 && q.spillErr == nil: // new inputs follow the inputs on disk
		if q.shouldReadAhead() && q.spillInput(l, it) {
			return true
		}
	case q.inMemory < q.window:
		q.inMemory++
		it.hostQueue = l
		if it.maybeDuplicate = q.joinableFor(it) != nil; !it.maybeDuplicate {
			q.joinable[it.hash] = it
		}
		l.fresh.Push(it)
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

// waitForRoom waits until there may be room. If chunks or warnings are pending, it
// flushes these instead, and the caller checks again.
func (q *queue) waitForRoom() {
	if len(q.unwritten) > 0 || len(q.warnings) > 0 {
		q.flushPending()
		return
	}
	q.roomFreed.Wait()
}

// joinEarlier attaches an item to an earlier one with the same key whose response has not
// started.
func (q *queue) joinEarlier(it *item) (joined bool) {
	first := q.joinableFor(it)
	// Duplicates must not fill the window, or all others would wait.
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

// idleForLackOfHosts reports whether workers are idle because no host may be queried
// now.
func (q *queue) idleForLackOfHosts() bool {
	return len(q.ready) == 0 && q.inFlight < q.maxWorkers && !q.ended && !q.memory.underPressure()
}

// shouldReadAhead reports whether to keep reading although the window is full: because
// workers are idle, or because the queue of a recent host is empty. Further inputs may be
// for that host, which must not wait for the hosts whose inputs fill the window.
func (q *queue) shouldReadAhead() bool {
	if q.ended || q.memory.underPressure() {
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

// recentHostInputs is the approximate number of inputs for which a host stays recent.
const recentHostInputs = 4096

// noteHost records that an input is for h. It stores only the ID, so that unused hosts
// can be freed.
func (q *queue) noteHost(h *gate.Host) {
	q.inputsRead++
	q.recentHosts[h.ID()] = q.inputsRead
	if q.inputsRead%recentHostInputs == 0 {
		maps.DeleteFunc(q.recentHosts, func(_, at int64) bool { return q.inputsRead-at > recentHostInputs })
	}
}

// spillOne makes room in the window: it spills most of the longest host queue.
func (q *queue) spillOne() bool {
	if q.spillErr != nil || !q.fileHasRoom() {
		return false
	}
	var longest *hostQueue
	for _, l := range q.byHost {
		if l.disk.Len() == 0 && (longest == nil || l.fresh.Len() > longest.fresh.Len()) {
			longest = l
		}
	}
	if longest == nil || longest.fresh.Len() < 2 {
		return false
	}
	moved := 0
	var stay []*item
	tail := longest.fresh.CutTail(min(minInMemory, longest.fresh.Len()/2))
	for _, it := range tail {
		if len(it.duplicates) > 0 {
			stay = append(stay, it) // duplicates need the item's result
			continue
		}
		q.pushInput(longest, it.input)
		if q.joinable[it.hash] == it {
			delete(q.joinable, it.hash)
		}
		moved++
	}
	clear(tail)
	for _, it := range stay {
		longest.fresh.Push(it)
	}
	q.inMemory -= moved
	q.spilledInputs += int64(moved)
	return moved > 0
}
