package client

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// A host is what the Client knows of one server, or one group of hosts: whether
// it may be asked now, and how often. All lookups share it.
type host struct {
	name  string
	store BudgetStore

	adaptive adaptive                 // its limit may be read without mu
	origins  atomic.Pointer[[]string] // see addOrigin
	faulty   atomic.Int64             // connection that failed last; see blame
	read     atomic.Bool              // an answer has been read for what it says about limits

	mu       sync.Mutex
	breaker  breaker
	window   window
	rate     Rate
	fixed    bool // rate is published or configured: the server teaches us no other
	learned  time.Time
	raised   time.Time // when rate was made out, or raised
	stated   bool      // the server has said what rate is
	inferred bool      // rate was made out at lastThrottle; answers still under way then belong to it
	pending  span      // answers that the store has not been told of

	until     time.Time // nothing is asked before
	paused    time.Time // when until was set
	throttles int       // in a row
	throttledSince,
	lastThrottle,
	lastAnswer,
	since time.Time // sending of the first request that window knows

	held         int // lines of batches that it has, under the lock of hosts
	asking       int // requests under way
	done, failed int64
	turns        turns
	lines        lineCount
}

// Bounds of what is believed and done about throttling.
const (
	maxPause     = 24 * time.Hour  // asked for by a server
	pauseBase    = time.Second     // without its word: up to so long, doubled each time
	pauseMost    = time.Minute     // at most
	learnedFor   = time.Hour       // how long a learned rate holds
	raiseAfter   = 5 * time.Minute // when more is tried
	forgetAfter  = 5 * time.Minute // of silence: earlier requests have no bearing on a limit
	unratedGrain = 50 * time.Millisecond
)

// A grant says what may become of a request.
type grant int

const (
	granted      grant = iota
	later              // not now
	givenUpDead        // never: the server is dead
	givenUpLimit       // never: it would have to wait too long
	givenUpEnd         // never: the batch comes to its end
	unready            // not before the input from the temporary file has been resolved
)

// A pass is what a request has to show at a host's gate.
type pass struct {
	single  bool          // one lookup by itself
	waiter  *waiter       // its place among those that wait; nil: it has none
	beside  int           // lookups of its batch under way there
	maxWait time.Duration // see Config.MaxWait
	others  bool          // another server could be asked instead
}

// patience is how long a server that may be starting again is waited for.
func (p pass) patience() time.Duration {
	if p.others {
		return 0
	}
	return p.maxWait
}

// A ticket is a host's answer to one who wants to make a request.
type ticket struct {
	grant   grant
	at      time.Time // of later and givenUpLimit: when to ask again; zero: when another request has ended; of granted: the time of that
	probe   bool      // the request finds out whether a dead server is back
	careful bool      // the request finds out whether a server that was asked too much has had enough of a rest
}

// take asks for one request, which observe has to follow, or unsent.
func (h *host) take(now time.Time, p pass) ticket {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.turns.room(p, h.asking, h.adaptive.limit()) {
		return h.queued(now, p)
	}
	if g, at := h.admit(now, p); g != granted {
		return ticket{grant: g, at: at}
	}
	if h.window.flying == 0 && (h.window.total == 0 || now.Sub(h.lastAnswer) > forgetAfter && h.rate.IsZero()) {
		h.window.replace(nil)
		h.since = now
	}
	h.window.flying++
	h.asking++
	h.turns.granted(p)
	return ticket{grant: granted, at: now, probe: h.breaker.sent(), careful: h.throttles > 0}
}

// hopeless reports whether there is no point in waiting for the host, and why.
func (h *host) hopeless(now time.Time, p pass) (ticket, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g, at := h.admit(now, p)
	return ticket{grant: g, at: at}, g == givenUpDead || g == givenUpLimit
}

func (h *host) admit(now time.Time, p pass) (grant, time.Time) {
	if !p.single {
		if g, at := h.breaker.allow(now, p.patience()); g != granted {
			return g, at
		}
		if p.beside >= h.adaptive.limit() {
			return later, time.Time{}
		}
	}
	until := h.until
	if p.single && until.Sub(h.paused) > p.maxWait {
		// A server's word of days or years is no more than a reason to wait
		// as long as the caller wants to, and to ask again.
		until = h.paused.Add(p.maxWait)
	}
	if now.Before(until) {
		if !p.single && h.throttles > 0 && until.Sub(h.throttledSince) > p.maxWait {
			return givenUpLimit, until // it has refused all that time
		}
		return patience(now, until, p.maxWait)
	}
	if h.throttles > 0 && h.asking > 0 {
		return later, time.Time{} // one goes ahead and finds out
	}
	return h.withinRate(now, p)
}

func (h *host) withinRate(now time.Time, p pass) (grant, time.Time) {
	if !h.fixed && !h.rate.IsZero() && now.Sub(h.learned) > learnedFor {
		h.rate, h.window.grain = Rate{}, unratedGrain
	}
	if h.rate.IsZero() {
		return granted, time.Time{}
	}
	n, at := h.window.free(now, h.rate)
	if n <= 0 && h.raise(now) {
		n, at = h.window.free(now, h.rate)
	}
	switch {
	case n > 0:
		return granted, time.Time{}
	case at.IsZero():
		return later, time.Time{}
	default:
		return patience(now, at, p.maxWait)
	}
}

// patience bounds a wait.
func patience(now, at time.Time, maxWait time.Duration) (grant, time.Time) {
	if at.Sub(now) > maxWait {
		return givenUpLimit, at
	}
	return later, at
}

// unsent gives back a request that was taken and not made.
func (h *host) unsent(probe bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.window.unsent()
	h.ended(probe)
}

func (h *host) ended(probe bool) {
	h.asking--
	h.breaker.forget(probe)
	h.turns.wake()
}

// firstAnswer reports whether no answer has been read for what it says about
// limits, and that this one is.
func (h *host) firstAnswer() bool { return !h.read.Swap(true) }

// An effect is what a request did to the host that it went to.
type effect int

const (
	answered    effect = iota
	redirected         // an answer that is not the end of a lookup
	overloaded         // 503 and its like
	throttled          // too many requests
	unreachable        // no answer of any kind
	withdrawn          // the caller gave up
)

// A sample is what a request tells about its host.
type sample struct {
	effect     effect
	failed     bool // the question was not answered
	probe      bool
	beside     int           // lookups under way there with it
	sent, now  time.Time     // when it was granted, and now; on its way out it may be overtaken by others' answers
	latency    time.Duration // to the answer, set-up of connections not counted; 0 if not known
	retryAfter time.Duration // of throttled
	stated     Rate          // a limit that the answer speaks of
	cause      *Error        // of unreachable
}

// observe learns from a request that take granted.
func (h *host) observe(s sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.ended(s.probe && s.effect != unreachable)
	if s.effect != redirected {
		h.done++
		if s.failed {
			h.failed++
		}
	}
	if !s.stated.IsZero() && !h.fixed {
		h.learn(s.stated, s.now)
		h.stated = true
	}
	switch s.effect {
	case withdrawn:
		h.count(s.now)
	case unreachable:
		h.count(s.now)
		h.breaker.failed(s.now, s.probe, s.cause)
	case throttled:
		h.breaker.answered()
		h.throttled(s)
	case overloaded:
		h.count(s.now)
		h.breaker.answered()
		h.adaptive.overloaded(s.sent, s.now)
	case answered, redirected:
		h.count(s.now)
		h.breaker.answered()
		h.lastAnswer = s.now
		if s.sent.After(h.lastThrottle) {
			h.throttles = 0
		} else if h.inferred {
			h.rate.N++ // one more that was let through before it said stop
		}
		h.adaptive.answered(s.sent, s.now, s.latency, max(s.beside, h.asking))
	}
}

func (h *host) extend(until, paused time.Time) {
	if until.After(h.until) {
		h.until, h.paused = until, paused
	}
}

// jitter is exponential back-off with full jitter: a random time up to base
// doubled with each repetition, so that those who failed together do not come
// back together.
func jitter(base, most time.Duration, repetition int) time.Duration {
	for ; repetition > 1 && base < most; repetition-- {
		base *= 2
	}
	return rand.N(min(base, most)) + time.Millisecond
}

// progress returns where the host stands.
func (h *host) progress(now time.Time) ServerProgress {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := ServerProgress{Server: h.name, InFlight: int64(h.asking), Limit: h.adaptive.limit(), Requests: h.done, Dead: h.breaker.dead, Rate: h.rate}
	h.lines.report(&p)
	if h.until.After(now) {
		p.ParkedUntil = h.until
	}
	return p
}

// limitError is the error of a request that would have to wait until at.
func (h *host) limitError(now, at time.Time) *Error {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := &Error{Code: CodeRateLimited, RetryAfter: at.Sub(now)}
	why := " asked to be left alone"
	if !now.Before(h.until) && !h.rate.IsZero() {
		why = " is asked at most " + h.rate.String()
	}
	e.Message = "not asked: " + visible(h.name) + why + ", and the next request may be made " + back(now, at)
	e.Hint = "come back " + back(now, at) + ", or allow a longer wait"
	return e
}

// back says when, for people.
func back(now, at time.Time) string {
	return "in " + shortSpan(at.Sub(now).Round(time.Second)) + " (" + at.UTC().Format("2006-01-02 15:04:05 MST") + ")"
}

// mayComeBack reports whether a request that failed for want of a server is
// worth repeating until it is back: it has answered before, and now there was no
// connection to be had for it, or it is dead for others, too.
func (h *host) mayComeBack(now time.Time, patience time.Duration, unsent bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return (unsent || h.breaker.dead) && h.breaker.mayComeBack(now, patience)
}

// deadError is the error of an input that is given up because the server is dead.
func (h *host) deadError() *Error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.breaker.refusal(h.name)
}
