package pool

import (
	"container/heap"
	"math"
	"sync"
	"time"
)

// A SavedUnknown is the reason why [Stats.Saved] is unknown. It is empty if Saved is
// known.
type SavedUnknown string

// Reasons why the time saved is unknown.
const (
	SavedThrottled SavedUnknown = "throttled" // a server limited the rate (429, 503)
	SavedBroke     SavedUnknown = "broken"    // requests or connections failed, or a server failed (another 5xx)
	// the number of concurrent requests varied, and the bottleneck changed
	SavedUnbound   SavedUnknown = "unbound"
	SavedForgotten SavedUnknown = "forgotten" // the samples of servers not used recently were dropped
)

// Saved is computed by a model. It has as many slots as there were concurrent requests on
// average. Each request takes the slot that is free first, for the server's time and the time
// to set up a connection. The time saved by reuse is the difference between two times of the
// fullest slot. One has a set-up for each request, and the other has the set-ups that took
// place. A set-up that several requests wait for counts once.
//
// The model needs a nearly constant number of concurrent requests. The model of the whole Pool
// is valid if the caller keeps that number constant. The model of an origin is valid if that
// origin is busy most of the time.

// maxSamples limits the requests of an origin that are kept as samples. The time of later
// requests is spread evenly over the slots.
const maxSamples = 64

// boundShare is the minimum share of the busy time in which the busiest origin is busy, for
// that origin to be the bottleneck.
const boundShare = 0.75

// steadyShare is the minimum ratio of mean to peak for the number of requests to be steady.
const steadyShare = 0.9

// A load integrates the number of concurrent requests.
type load struct {
	n     int
	peak  int
	since time.Time     // when n last changed
	busy  time.Duration // time with n > 0
	sum   time.Duration // integral of n over time
}

func (l *load) add(delta int, now time.Time) {
	// Goroutines may report out of order.
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

// mean returns the mean number of concurrent requests during busy time, at least 1.
func (l *load) mean() int {
	if l.busy <= 0 {
		return 1
	}
	return max(int(math.Round(float64(l.sum)/float64(l.busy))), 1)
}

// steady reports whether the number of requests was nearly constant.
func (l *load) steady() bool { return float64(l.sum) >= steadyShare*float64(l.peak)*float64(l.busy) }

// A sample is the time of one request, in microseconds.
type sample struct {
	server uint32 // time from the slot to the end of the body
	setup  uint32 // set-up time of the connection
	reused bool   // an earlier request had opened the connection
}

// A timeModel collects the data of the model of an origin or a Pool. It has a maximum size.
type timeModel struct {
	mu      sync.Mutex
	load    load // includes requests that wait for a connection
	samples []sample
	rest    struct { // sums for requests beyond maxSamples
		server, paid, avoided time.Duration
	}
	unknown SavedUnknown
}

// begin records the start of a request.
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

// respond records the status of a response.
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

// end records the end of a response body.
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

// A modelResult is the result of a model.
type modelResult struct {
	took    time.Duration // time with the set-ups that took place
	saved   time.Duration // additional time with one set-up per request
	load    load
	unknown SavedUnknown
}

// model computes the time that the requests take in at most atOnce slots on reused connections.
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

// slots is a heap of the times at which slots become free.
type slots []time.Duration

func (s slots) Len() int           { return len(s) }
func (s slots) Less(i, j int) bool { return s[i] < s[j] }
func (s slots) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *slots) Push(x any)        { *s = append(*s, x.(time.Duration)) }
func (s *slots) Pop() any          { panic("pool: slots are never removed") }

// add uses the slot that is free first for d.
func (s slots) add(d time.Duration) {
	s[0] += d
	heap.Fix(&s, 0)
}

// fullest returns when the last slot becomes free, if the time more is spread evenly over all
// slots.
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

// A savedSum combines the models of the origins of a Pool.
type savedSum struct {
	busiest  modelResult // model of the origin that took longest
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

// of returns the time saved by the model of the whole Pool if it is valid. Otherwise it returns
// the maximum over the origins, because these are used concurrently.
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
