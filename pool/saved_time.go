package pool

import (
	"container/heap"
	"math"
	"sync"
	"time"
)

// A SavedUnknown says why [Stats.Saved] is not known. It is empty where it is.
type SavedUnknown string

// Reasons why the time saved is not known.
const (
	SavedThrottled SavedUnknown = "throttled" // a server refused requests as too many (429, 503)
	SavedBroke     SavedUnknown = "broken"    // requests failed, connections could not be opened, or a server failed (another 5xx)
	SavedUnbound   SavedUnknown = "unbound"   // how many requests were under way varied, and so did what decided how long they took
	SavedForgotten SavedUnknown = "forgotten" // the requests of servers that were not used for long were no longer known one by one
)

// Saved is computed by a model. Requests are served in as many slots as there were
// requests under way on average. Each takes the slot that becomes free first, for the
// time that the server took and the time to set up a connection. The difference
// between the fullest slot with a set-up for every request and the fullest slot with
// those that were paid for is what reuse saved. Requests that wait for the same
// set-up at the same time do not count it twice.
//
// The model needs a number of requests under way that hardly varies. The Pool is
// one model, which holds where the caller makes so many requests at a time. Each
// origin is another one, which holds where one of them is busy for most of the time
// with as many requests as its caller allows.

// maxSamples is how many requests of an origin are known one by one. Those after them
// are spread evenly over the slots.
const maxSamples = 64

// boundShare is the share of the time with requests under way that the busiest
// origin needs at least for its time to decide on that of all.
const boundShare = 0.75

// steadyShare is the share of the most requests under way that the mean needs for
// the number to count as steady.
const steadyShare = 0.9

// A load integrates how many requests are under way.
type load struct {
	n     int
	peak  int
	since time.Time     // when n changed
	busy  time.Duration // with n > 0
	sum   time.Duration // of n over time
}

func (l *load) add(delta int, now time.Time) {
	// Goroutines may come out of order.
	if d := now.Sub(l.since); d > 0 {
		if l.n > 0 {
			l.busy += d
			l.sum += time.Duration(l.n) * d
		}
		l.since = now
	}
	l.n += delta
	l.peak = max(l.peak, l.n)
}

// mean is how many requests were under way on average while there were any, at
// least 1.
func (l *load) mean() int {
	if l.busy <= 0 {
		return 1
	}
	return max(int(math.Round(float64(l.sum)/float64(l.busy))), 1)
}

// steady reports whether about the same number of requests was under way all the
// time.
func (l *load) steady() bool { return float64(l.sum) >= steadyShare*float64(l.peak)*float64(l.busy) }

// A sample is what one request took, in microseconds.
type sample struct {
	server uint32 // from a place on a connection to the end of the body
	setup  uint32 // of the connection
	reused bool   // an earlier request had paid for that
}

// A timeModel is what the model of an origin, or of a Pool, is made of. Its size is
// bounded.
type timeModel struct {
	mu      sync.Mutex
	load    load // requests that wait for a connection included
	samples []sample
	rest    struct { // requests that are no samples
		server, paid, avoided time.Duration
	}
	unknown SavedUnknown
}

// begin and leave tell when a request begins, and when its body or its failure ends
// it.
func (s *timeModel) begin(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load.add(1, now)
}

// endFailed ends a request without a response.
func (s *timeModel) endFailed(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load.add(-1, now)
	s.unknown = SavedBroke
}

// respond notes the status of a response.
func (s *timeModel) respond(status int) {
	if status < 429 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case status == 429 || status == 503:
		s.unknown = SavedThrottled
	case status >= 500 && status != 501 && s.unknown == "":
		s.unknown = SavedBroke
	}
}

// end ends a request whose response was read, or closed.
func (s *timeModel) end(sent, now time.Time, setup time.Duration, reused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load.add(-1, now)
	server := now.Sub(sent)
	if len(s.samples) < maxSamples {
		s.samples = append(s.samples, sample{server: micros(server), setup: micros(setup), reused: reused})
		return
	}
	s.rest.server += server
	if reused {
		s.rest.avoided += setup
	} else {
		s.rest.paid += setup
	}
}

func micros(d time.Duration) uint32 {
	return uint32(min(max(d/time.Microsecond, 0), math.MaxUint32))
}

// A modelResult is what a model says about requests.
type modelResult struct {
	took    time.Duration // with the set-ups that were paid for
	saved   time.Duration // how much longer with one for each request
	load    load
	unknown SavedUnknown
}

// model computes how long the requests take. At most atOnce of them have a place on
// the connections that are reused.
func (s *timeModel) model(atOnce int) modelResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.load.mean()
	kept, fresh := make(slots, min(k, atOnce)), make(slots, k)
	for _, one := range s.samples {
		d, setup := time.Duration(one.server)*time.Microsecond, time.Duration(one.setup)*time.Microsecond
		fresh.add(d + setup)
		if one.reused {
			setup = 0
		}
		kept.add(d + setup)
	}
	m := modelResult{took: kept.fullest(s.rest.server + s.rest.paid), load: s.load, unknown: s.unknown}
	m.saved = max(fresh.fullest(s.rest.server+s.rest.paid+s.rest.avoided)-m.took, 0)
	return m
}

// slots are a heap of when each becomes free.
type slots []time.Duration

func (s slots) Len() int           { return len(s) }
func (s slots) Less(i, j int) bool { return s[i] < s[j] }
func (s slots) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *slots) Push(x any)        { *s = append(*s, x.(time.Duration)) }
func (s *slots) Pop() any          { panic("pool: slots are never removed") }

// add takes the slot that becomes free first for d.
func (s slots) add(d time.Duration) {
	s[0] += d
	heap.Fix(&s, 0)
}

// fullest is when the last slot becomes free, if more is spread evenly over all.
func (s slots) fullest(more time.Duration) time.Duration {
	last, sum := time.Duration(0), more
	for _, d := range s {
		last = max(last, d)
		sum += d
	}
	if more == 0 {
		return last
	}
	return max(last, sum/time.Duration(len(s)))
}

// A savedSum joins the models of the origins of a Pool.
type savedSum struct {
	busiest  modelResult // origin that took longest
	maxSaved time.Duration
	unknown  SavedUnknown
}

func (t *savedSum) add(m *modelResult) {
	if m.took > t.busiest.took {
		t.busiest = *m
	}
	t.maxSaved = max(t.maxSaved, m.saved)
	if t.unknown == "" {
		t.unknown = m.unknown
	}
}

// of returns what was saved in all, by the model of the whole Pool if that holds,
// and otherwise by those of the origins: they are used side by side, so that the
// greatest saving counts.
func (t *savedSum) of(all *modelResult) (time.Duration, SavedUnknown) {
	switch {
	case t.unknown != "":
		return 0, t.unknown
	case t.maxSaved == 0:
		return 0, ""
	case all.load.steady():
		return all.saved, ""
	case t.busiest.load.steady() && float64(t.busiest.took) >= boundShare*float64(all.load.busy):
		return t.maxSaved, ""
	}
	return 0, SavedUnbound
}
