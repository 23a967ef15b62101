package client

import "time"

// An item is one input on its way through a batch.
type item struct {
	task
	input  Input
	loaded bool   // it has been parsed and its server is known
	lost   *Error // it could not be read back from the temporary file
	key    twinKey
	hash   uint64 // of key
	late   bool   // another one that asks the same was in memory when it came
	twins  []twin // later inputs that ask the same
	queue  *queue // once it was taken from it
	lane   *lane  // where it waits, or from which it was taken

	home  *host     // which it was read for; nil: it is not known, or none
	began time.Time // when its request under way was granted; zero: none is
	floor bool      // it has one of the places for hosts without any
}

func (it *item) refusedOften() bool {
	return it.result.Verdict == RateLimited && it.result.Attempts > 1
}

// A lane is where the inputs of one batch stand in line for one server.
type lane struct {
	host *host

	front    []*item // on their way already: they go before what is fresh
	fresh    fifo
	shelf    shelf   // fresh ones that came later than those in memory
	repeated []*item // to be asked again, in no order

	loading  bool // a chunk of its shelf is being read
	others   bool // some have another server that could be asked
	inFlight int
	aside    int       // lookups that wait beside it, see item.stepAside
	limit    int       // how many may be in flight, as of the last offer
	took     float64   // seconds, moving average of the time of a request; 0: not known
	left     float64   // seconds until nothing is left, as of the last offer
	listed   bool      // it is among queue.unserved
	byFloor  bool      // it was taken from there
	solo     bool      // what is in flight is to have no company
	place    int       // among those that are ready; -1: it is not
	turn     uint64    // when it became ready
	parked   time.Time // until when it is not looked at
	resting  bool      // because all that it has is to be repeated later
	brief    bool      // or until one of its requests has ended
	slot     int       // its place among the timers; -1: none
}

// manyRepeated is how many inputs may wait for repetition at a server that is
// asked for so many at once, before no others are asked.
func manyRepeated(limit int) int { return max(2*limit, 16) }

// queued is how many inputs wait.
func (l *lane) queued() int64 {
	return int64(len(l.front)+l.fresh.len()+len(l.repeated)) + l.shelf.n
}

func (l *lane) hasFresh() bool { return len(l.front) > 0 || l.fresh.len() > 0 || l.shelf.n > 0 }

// due returns the index of the input to be repeated that has been asked for most
// often already, of those whose back-off is over; -1 if there is none. Then at is
// when there will be one, or zero.
func (l *lane) due(now time.Time) (i int, at time.Time) {
	i = -1
	for k, it := range l.repeated {
		switch {
		case it.at.After(now):
			if at.IsZero() || it.at.Before(at) {
				at = it.at
			}
		case i < 0 || it.result.Attempts > l.repeated[i].result.Attempts:
			i = k
		}
	}
	return i, at
}

// leastTried returns the index of the input to be repeated that has been sent
// least often, of those whose back-off is over; -1 if there is none.
func (l *lane) leastTried(now time.Time) int {
	i := -1
	for k, it := range l.repeated {
		if !it.at.After(now) && (i < 0 || it.result.Attempts < l.repeated[i].result.Attempts) {
			i = k
		}
	}
	return i
}

func (l *lane) removeRepeated(i int) *item {
	it, last := l.repeated[i], len(l.repeated)-1
	l.repeated[i] = l.repeated[last]
	l.repeated[last] = nil
	l.repeated = l.repeated[:last]
	return it
}

// removeFresh takes the next input that is not a repetition.
func (q *queue) removeFresh(l *lane) *item {
	if len(l.front) > 0 {
		it := l.front[0]
		l.front[0] = nil
		l.front = l.front[1:]
		return it
	}
	if l.fresh.len() > 0 {
		return l.fresh.pop()
	}
	return q.unshelve(l)
}

// needs returns the chunk of the temporary file that has to be read before the
// next fresh input can be taken; nil if there is none.
func (l *lane) needs() *chunk {
	if len(l.front) > 0 || l.fresh.len() > 0 {
		return nil
	}
	return l.shelf.needs()
}

// fifo is a queue of items.
type fifo struct {
	items []*item
	head  int
}

func (f *fifo) len() int { return len(f.items) - f.head }

func (f *fifo) push(it *item) {
	if f.head > 0 && len(f.items) == cap(f.items) {
		n := copy(f.items, f.items[f.head:])
		clear(f.items[n:])
		f.items, f.head = f.items[:n], 0
	}
	f.items = append(f.items, it)
}

func (f *fifo) pop() *item {
	it := f.items[f.head]
	f.items[f.head] = nil
	if f.head++; f.head == len(f.items) {
		f.items, f.head = f.items[:0], 0
	}
	return it
}

// cutTail removes and returns all but the first n.
func (f *fifo) cutTail(n int) []*item {
	tail := f.items[f.head+n:]
	f.items = f.items[:f.head+n]
	return tail
}
