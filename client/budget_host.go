package client

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdapq/rdapq/limit"
)

// A host is what the Client knows of one server, or one group of hosts: whether
// it may be asked now, and how often. All lookups share it.
type host struct {
	faulty atomic.Int64 // for the caller: the connection that failed last; 0: none
	lines  lineCount    // for the caller: inputs of batches, which end before a host does

	id    int64 // of this host and no other of its Client
	name  string
	store limit.Store

	adaptive adaptive                 // its limit may be read without mu
	origins  atomic.Pointer[[]string] // see addOrigin
	read     atomic.Bool              // an answer has been read for what it says about limits
	news     atomic.Bool              // there are announcements

	mu       sync.Mutex
	breaker  breaker
	window   window
	rate     limit.Rate // published, configured or stated by the server; zero: none
	fixed    bool       // rate is published or configured: the server teaches us no other
	learned  time.Time
	quota    *quota        // learned from refusals; nil: none
	era      int           // counts quotas: a request belongs to the one that granted it
	counting int           // requests in flight that the quota granted
	told     bool          // the store knows of the quota, and what was used of it
	mine     []limit.Usage // uses of the last span, as the store has them
	trial    trial         // of what a refusal means
	seek     *seek         // a quota whose span is not known yet; nil: none
	undo     *undo         // what the last refusals changed; nil: that is certain
	odd      float64       // isolated refusals among the recent responses
	oddOf    int           // those responses
	history  history       // of accepted requests while there is neither rate nor quota
	took     time.Duration // to a response, as the store had it; 0: not known
	measured int           // samples of latency that the store knows of
	pending  span          // answers that the store has not been told of

	until     time.Time // nothing is asked before
	paused    time.Time // when until was set
	throttles int       // in a row
	throttledSince,
	lastThrottle,
	lastAnswer,
	sent, // when the newest request was sent
	acceptedSent, // when the newest of those that were accepted was
	since time.Time // sending of the first request that history knows

	held          int // lines of batches that it has, under the lock of hosts
	asking        int // requests under way
	done, failed  int64
	refusals      int64       // requests refused as too many
	holds         reason      // why it was held back last
	announced     [4]bool     // reasons that were announced
	announcements []holdEvent // to be announced when the lock is free
	turns         turns
}

// A trial finds out whether a refusal is isolated. Until a request that was sent
// after the refused one succeeds, or another one is refused, only the requests in
// flight and two more are sent.
type trial struct {
	on    bool
	sent  time.Time     // when the refused request was sent
	wait  time.Duration // its Retry-After
	until time.Time     // the responses to what is in flight are awaited first
	extra int           // requests sent since

	excess bool // the refused request tested a quota
}

// trialExtra is how many requests are sent in a trial beyond those in flight.
const trialExtra = 2

// A seek is the search for the span of a quota by a server that does not say
// when to come back: the pauses grow until a request is accepted.
type seek struct {
	n     int       // accepted since the window began
	begin time.Time // of the window, as far as known
	first time.Time // sending of the first request that was refused
	last  time.Time // and of the last one
}

// Bounds of what is believed and done about throttling.
const (
	pauseBase    = time.Second     // without its word: so long, doubled each time
	pauseMost    = time.Minute     // at most
	forgetAfter  = 5 * time.Minute // of silence: earlier requests have no bearing on a limit
	unratedGrain = 50 * time.Millisecond

	oddMemory = 256 // responses among which isolated refusals are counted
	oddFew    = 4   // so many are none either if they are a larger share than oddShare
	oddShare  = 0.125
	oddMost   = 10 // so many are no accident: 4%, where a server that limits a rate refuses more
)

// undoAfter is how much later than a refused request one has to be sent for its
// success to mean something: some arrive in another order.
const undoAfter = 10 * time.Millisecond

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
	waiting int           // lookups that wait for the host; 0: not known
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
	brief   bool      // of later: or when another request has ended
	probe   bool      // the request finds out whether a dead server is back
	careful bool      // the request finds out whether a server that was asked too much has had enough of a rest
	excess  bool      // the request tests a quota
	era     int       // see host
}

// take asks for one request, which observe has to follow, or unsent.
func (h *host) take(now time.Time, p pass) ticket {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.turns.room(p, h.asking, h.adaptive.limit()) {
		return h.queued(now, p)
	}
	k := h.admit(now, p)
	if k.grant != granted {
		return k
	}
	if h.asking == 0 && h.limitless() && (h.since.IsZero() || now.Sub(h.lastAnswer) > forgetAfter) {
		h.history.reset()
		h.since = now
	}
	if h.quota != nil {
		h.quota.sent(now, k.excess)
		h.window.spend(now)
		h.counting++
	} else {
		h.window.flying++
	}
	if h.trial.on {
		h.trial.extra++
	}
	h.asking++
	h.sent = now
	h.turns.granted(p)
	k.era, k.at, k.probe, k.careful = h.era, now, h.breaker.sent(), h.throttles > 0
	return k
}

// limitless reports whether no limit on requests is known.
func (h *host) limitless() bool { return h.rate.IsZero() && h.quota == nil }

// hopeless reports whether there is no point in waiting for the host, and why.
func (h *host) hopeless(now time.Time, p pass) (ticket, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.admit(now, p)
	return k, k.grant == givenUpDead || k.grant == givenUpLimit
}

// outage reports whether the host is not well but still waited for, and a failure
// has nothing to do with the query, which failed before at the time failed if that
// is not zero.
func (h *host) outage(now time.Time, patience time.Duration, failed time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.breaker.open && h.breaker.mayComeBack(now, patience) && !h.wellSince(failed)
}

// wellSince reports whether the host gave a useful response after a query failed.
func (h *host) wellSince(failed time.Time) bool {
	return !failed.IsZero() && h.lastAnswer.After(failed)
}

func (h *host) admit(now time.Time, p pass) ticket {
	if !p.single {
		if g, at := h.breaker.allow(now, p.patience()); g != granted {
			return ticket{grant: g, at: at}
		}
		if p.beside >= h.adaptive.limit() {
			return ticket{grant: later}
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
			return ticket{grant: givenUpLimit, at: until} // it has refused all that time
		}
		return patience(now, until, p.maxWait)
	}
	if h.throttles > 0 && h.asking > 0 {
		return ticket{grant: later} // one goes ahead and finds out
	}
	if h.trial.on && h.asking > 0 {
		if h.trial.extra >= trialExtra {
			return ticket{grant: later}
		}
		if now.Before(h.trial.until) {
			return ticket{grant: later, at: h.trial.until, brief: true}
		}
	}
	if h.quota != nil {
		return h.withinQuota(now, p)
	}
	return h.withinRate(now, p)
}

func (h *host) withinQuota(now time.Time, p pass) ticket {
	if now.Sub(h.learned) > limit.LearnedFor {
		h.forget()
		return ticket{grant: granted}
	}
	ok, excess, at := h.quota.allow(now, &h.window, p.waiting)
	switch {
	case ok:
		return ticket{grant: granted, excess: excess}
	case at.IsZero():
		return ticket{grant: later}
	default:
		return patience(now, at, p.maxWait)
	}
}

func (h *host) withinRate(now time.Time, p pass) ticket {
	if !h.fixed && !h.rate.IsZero() && now.Sub(h.learned) > limit.LearnedFor {
		h.forget()
	}
	if h.rate.IsZero() {
		return ticket{grant: granted}
	}
	n, at := h.window.free(now, h.rate)
	switch {
	case n > 0:
		return ticket{grant: granted}
	case at.IsZero():
		return ticket{grant: later}
	default:
		return patience(now, at, p.maxWait)
	}
}

// patience bounds a wait.
func patience(now, at time.Time, maxWait time.Duration) ticket {
	if at.Sub(now) > maxWait {
		return ticket{grant: givenUpLimit, at: at}
	}
	return ticket{grant: later, at: at}
}

// unsent gives back a request that was granted and not made.
func (h *host) unsent(k ticket) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k.excess && h.counted(k) {
		h.quota.trying--
	}
	h.refund(k)
	h.ended(k.probe)
}

// refund takes back what a request counts against a limit.
func (h *host) refund(k ticket) {
	if h.counted(k) {
		h.window.refund(k.at)
		h.counting--
	} else {
		h.window.unsent()
	}
}

// counted reports whether a request was counted when it was sent.
func (h *host) counted(k ticket) bool { return h.quota != nil && k.era == h.era }

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
	overloaded         // 502, 503 or 504 without Retry-After
	throttled          // too many requests
	walled             // refused, and not in RDAP
	useless            // another response that says nothing about the query
	unreachable        // no response, or half of one
	withdrawn          // the caller gave up
)

// A sample is what a request tells about its host.
type sample struct {
	effect     effect
	failed     bool      // the question was not answered
	ticket     ticket    // with which the request was granted
	failedAt   time.Time // when the same query failed before; zero: it did not
	beside     int       // lookups under way there with it
	now        time.Time
	latency    time.Duration // to the answer, set-up of connections not counted; 0 if not known
	waited     time.Duration // for a connection, before the request was sent
	status     int           // of the response
	retryAfter time.Duration // of throttled
	stated     limit.Rate    // a limit that the answer speaks of
	cause      *Error        // of what failed
}

// observe learns from a request that take granted. It reports whether a walled
// one was refused because there were too many, as far as can be known, and so is
// worth to be sent again.
func (h *host) observe(s sample) (tooMany bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.ended(s.ticket.probe && s.effect != unreachable && s.effect != overloaded && s.effect != useless && s.effect != walled)
	if s.ticket.excess && h.counted(s.ticket) {
		h.quota.trying--
	}
	if s.effect != redirected {
		h.done++
		if s.failed {
			h.failed++
		}
	}
	if !s.stated.IsZero() && !h.fixed {
		h.state(s)
	}
	switch s.effect {
	case withdrawn:
		h.count(s)
	case unreachable, overloaded:
		h.count(s)
		h.fail(s)
	case useless:
		h.count(s)
		if s.ticket.probe {
			h.fail(s)
		}
	case walled:
		return h.wall(s)
	case throttled:
		h.breaker.useful(s.ticket.at, s.ticket.probe)
		h.refused(s)
	case answered, redirected:
		h.breaker.useful(s.ticket.at, s.ticket.probe)
		h.accepted(s)
		h.adaptive.answered(s.ticket.at, s.now, s.latency, max(s.beside, h.asking))
	}
	return false
}

// fail notes a failure of the server. Repeated ones halve how many requests it
// gets at a time; isolated ones do not.
func (h *host) fail(s sample) {
	if !h.breaker.open && h.wellSince(s.failedAt) {
		return // it may be the query
	}
	repeated, opened := h.breaker.failed(s.ticket.at, s.now, s.ticket.probe, s.cause)
	if repeated && s.effect == overloaded {
		h.adaptive.overloaded(s.ticket.at, s.now)
	}
	if opened {
		h.hold(reasonOutage, s, h.breaker.probeAt)
	}
}

// wall notes a refusal that is not RDAP. From a server that gave a useful response
// before it counts as too many requests.
func (h *host) wall(s sample) (tooMany bool) {
	alive := h.breaker.alive
	if !alive || s.ticket.probe {
		if h.breaker.wall(s.ticket.at, s.now, s.ticket.probe, s.cause) {
			h.hold(reasonBlocked, s, h.breaker.probeAt)
		}
	}
	if alive {
		h.refused(s)
		return true
	}
	h.count(s)
	return h.breaker.open
}

func (h *host) extend(until, paused time.Time) {
	if until.After(h.until) {
		h.until, h.paused = until, paused
	}
}

// known is the limit that is kept to; zero: none.
func (h *host) known() limit.Rate {
	if h.quota != nil {
		return limit.Rate{N: h.quota.n, Per: h.quota.span}
	}
	return h.rate
}

// A reason is why a host gets no requests for a while, or fewer.
type reason int

const (
	reasonNone    reason = iota
	reasonLimit          // it refuses requests as too many
	reasonOutage         // it fails, refuses connections or is silent
	reasonBlocked        // it refuses every request, and not in RDAP
)

// A holdEvent is the first time that a host is held back for a reason.
type holdEvent struct {
	reason reason
	status int        // of the response that led to it; 0: there was none
	until  time.Time  // no request is sent before
	rate   limit.Rate // the limit that applies from now on; zero: none
}

// hold notes why the host is held back.
func (h *host) hold(why reason, s sample, until time.Time) {
	h.holds = why
	if h.announced[why] {
		return
	}
	h.announced[why] = true
	h.news.Store(true)
	h.announcements = append(h.announcements, holdEvent{reason: why, status: s.status, until: until, rate: h.known()})
}

// newHolds returns the events since the last call.
func (h *host) newHolds() []holdEvent {
	if !h.news.Swap(false) {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.announcements
	h.announcements = nil
	return list
}

// A lineCount counts the inputs of batches for one host: lines, not requests.
type lineCount struct{ read, done, failed atomic.Int64 }

// A hostStatus is the state of a host at one time.
type hostStatus struct {
	inFlight int           // requests
	limit    int           // of inFlight
	requests int64         // that have ended
	refused  int64         // of them, those refused as too many
	rate     limit.Rate    // that applies; zero: none is known
	until    time.Time     // no request is sent before; zero: no pause
	held     reason        // why it was held back last
	latency  time.Duration // average time to a response; 0: unknown

	dead     bool  // it is in an outage, or refuses every request
	blocked  bool  // it refuses every request, and not in RDAP
	failures int   // in a row
	walls    int   // refusals in a row that are not RDAP
	cause    error // of the last failure
}

// status returns the state of the host.
func (h *host) status(now time.Time) hostStatus {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := hostStatus{
		inFlight: h.asking, limit: h.adaptive.limit(), requests: h.done, refused: h.refusals,
		rate: h.known(), held: h.holds, latency: h.took,
		dead: h.breaker.open, blocked: h.breaker.blocked, failures: h.breaker.failures, walls: h.breaker.walls, cause: h.breaker.cause,
	}
	if h.until.After(now) {
		s.until = h.until
	}
	if h.adaptive.samples >= tookSamples {
		s.latency = h.adaptive.recent
	}
	return s
}

// currentRate returns the limit that applies; zero: none is known.
func (h *host) currentRate() limit.Rate {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known()
}
