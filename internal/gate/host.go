package gate

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdapq/rdapq/limit"
)

// A host is what the Client knows of one server, or one group of hosts: whether
// it may be asked now, and how often. All lookups share it.
type Host struct {
	FaultyConn atomic.Int64 // for the caller: the connection that failed last; 0: none
	Lines      LineCount    // for the caller: inputs of batches, which end before a host does

	id    int64 // of this host and no other of its Client
	name  string
	store limit.Store

	adaptive     adaptive                 // its limit may be read without mu
	origins      atomic.Pointer[[]string] // see addOrigin
	responseRead atomic.Bool              // an answer has been read for what it says about limits
	hasEvents    atomic.Bool              // there are announcements

	mu               sync.Mutex
	breaker          breaker
	window           window
	rate             limit.Rate // published, configured or stated by the server; zero: none
	fixed            bool       // rate is published or configured: the server teaches us no other
	learned          time.Time
	quota            *quota        // learned from refusals; nil: none
	era              int           // counts quotas: a request belongs to the one that granted it
	counting         int           // requests in flight that the quota granted
	stored           bool          // the store knows of the quota, and what was used of it
	ownUsage         []limit.Usage // uses of the last span, as the store has them
	trial            trial         // of what a refusal means
	search           *spanSearch   // a quota whose span is not known yet; nil: none
	undo             *undo         // what the last refusals changed; nil: that is certain
	isolatedRefusals float64       // isolated refusals among the recent responses
	isolatedOf       int           // those responses
	history          history       // of accepted requests while there is neither rate nor quota
	storedLatency    time.Duration // to a response, as the store had it; 0: not known
	storedSamples    int           // samples of latency that the store knows of
	pendingUsage     bucket        // answers that the store has not been told of

	until     time.Time // nothing is asked before
	paused    time.Time // when until was set
	throttles int       // in a row
	throttledSince,
	lastThrottle,
	lastAnswer,
	sent, // when the newest request was sent
	acceptedSent, // when the newest of those that were accepted was
	since time.Time // sending of the first request that history knows

	users        int // lines of batches that it has, under the lock of hosts
	inFlight     int // requests under way
	done, failed int64
	refusals     int64   // requests refused as too many
	lastHold     Reason  // why it was held back last
	announced    [4]bool // reasons that were announced
	events       []Hold  // to be announced when the lock is free
	turns        turns
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
type spanSearch struct {
	n     int       // accepted since the window began
	begin time.Time // of the window, as far as known
	first time.Time // sending of the first request that was refused
	last  time.Time // and of the last one
}

// Bounds of what is believed and done about throttling.
const (
	firstThrottlePause = time.Second     // without its word: so long, doubled each time
	maxThrottlePause   = time.Minute     // at most
	forgetAfter        = 5 * time.Minute // of silence: earlier requests have no bearing on a limit
	unratedResolution  = 50 * time.Millisecond

	isolatedWindow = 256 // responses among which isolated refusals are counted
	fewIsolated    = 4   // so many are none either if they are a larger share than oddShare
	isolatedShare  = 0.125
	maxIsolated    = 10 // so many are no accident: 4%, where a server that limits a rate refuses more
)

// undoAfter is how much later than a refused request one has to be sent for its
// success to mean something: some arrive in another order.
const undoAfter = 10 * time.Millisecond

// A grant says what may become of a request.
type Verdict int

const (
	Allow       Verdict = iota
	Wait                // not now
	RejectDead          // never: the server is dead
	RejectLimit         // never: it would have to wait too long
)

// A pass is what a request has to show at a host's gate.
type Request struct {
	Single        bool          // one lookup by itself
	Waiter        *Waiter       // its place among those that wait; nil: it has none
	InFlight      int           // lookups of its batch under way there
	Waiting       int           // lookups that wait for the host; 0: not known
	MaxWait       time.Duration // see Config.MaxWait
	HasAlternates bool          // another server could be asked instead
}

// patience is how long a server that may be starting again is waited for.
func (p Request) restartWait() time.Duration {
	if p.HasAlternates {
		return 0
	}
	return p.MaxWait
}

// A ticket is a host's answer to one who wants to make a request.
type Decision struct {
	Verdict       Verdict
	At            time.Time // of later and givenUpLimit: when to ask again; zero: when another request has ended; of granted: the time of that
	UntilRelease  bool      // of later: or when another request has ended
	Probe         bool      // the request finds out whether a dead server is back
	AfterThrottle bool      // the request finds out whether a server that was asked too much has had enough of a rest
	excess        bool      // the request tests a quota
	era           int       // see host
}

// take asks for one request, which observe has to follow, or unsent.
func (h *Host) Acquire(now time.Time, p Request) Decision {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.turns.room(p, h.inFlight, h.adaptive.limit()) {
		return h.decideQueued(now, p)
	}
	k := h.admit(now, p)
	if k.Verdict != Allow {
		return k
	}
	if h.inFlight == 0 && h.limitless() && (h.since.IsZero() || now.Sub(h.lastAnswer) > forgetAfter) {
		h.history.reset()
		h.since = now
	}
	if h.quota != nil {
		h.quota.sent(now, k.excess)
		h.window.spend(now)
		h.counting++
	} else {
		h.window.inFlight++
	}
	if h.trial.on {
		h.trial.extra++
	}
	h.inFlight++
	h.sent = now
	h.turns.granted(p)
	k.era, k.At, k.Probe, k.AfterThrottle = h.era, now, h.breaker.sent(), h.throttles > 0
	return k
}

// limitless reports whether no limit on requests is known.
func (h *Host) limitless() bool { return h.rate.IsZero() && h.quota == nil }

// hopeless reports whether there is no point in waiting for the host, and why.
func (h *Host) Blocked(now time.Time, p Request) (Decision, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.admit(now, p)
	return k, k.Verdict == RejectDead || k.Verdict == RejectLimit
}

// outage reports whether the host is not well but still waited for, and a failure
// has nothing to do with the query, which failed before at the time failed if that
// is not zero.
func (h *Host) Recovering(now time.Time, patience time.Duration, failed time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.breaker.open && h.breaker.mayComeBack(now, patience) && !h.respondedSince(failed)
}

// wellSince reports whether the host gave a useful response after a query failed.
func (h *Host) respondedSince(failed time.Time) bool {
	return !failed.IsZero() && h.lastAnswer.After(failed)
}

func (h *Host) admit(now time.Time, p Request) Decision {
	if !p.Single {
		if g, at := h.breaker.allow(now, p.restartWait()); g != Allow {
			return Decision{Verdict: g, At: at}
		}
		if p.InFlight >= h.adaptive.limit() {
			return Decision{Verdict: Wait}
		}
	}
	until := h.until
	if p.Single && until.Sub(h.paused) > p.MaxWait {
		// A server's word of days or years is no more than a reason to wait
		// as long as the caller wants to, and to ask again.
		until = h.paused.Add(p.MaxWait)
	}
	if now.Before(until) {
		if !p.Single && h.throttles > 0 && until.Sub(h.throttledSince) > p.MaxWait {
			return Decision{Verdict: RejectLimit, At: until} // it has refused all that time
		}
		return waitUntil(now, until, p.MaxWait)
	}
	if h.throttles > 0 && h.inFlight > 0 {
		return Decision{Verdict: Wait} // one goes ahead and finds out
	}
	if h.trial.on && h.inFlight > 0 {
		if h.trial.extra >= trialExtra {
			return Decision{Verdict: Wait}
		}
		if now.Before(h.trial.until) {
			return Decision{Verdict: Wait, At: h.trial.until, UntilRelease: true}
		}
	}
	if h.quota != nil {
		return h.withinQuota(now, p)
	}
	return h.withinRate(now, p)
}

func (h *Host) withinQuota(now time.Time, p Request) Decision {
	if now.Sub(h.learned) > limit.LearnedFor {
		h.forget()
		return Decision{Verdict: Allow}
	}
	ok, excess, at := h.quota.allow(now, &h.window, p.Waiting)
	switch {
	case ok:
		return Decision{Verdict: Allow, excess: excess}
	case at.IsZero():
		return Decision{Verdict: Wait}
	default:
		return waitUntil(now, at, p.MaxWait)
	}
}

func (h *Host) withinRate(now time.Time, p Request) Decision {
	if !h.fixed && !h.rate.IsZero() && now.Sub(h.learned) > limit.LearnedFor {
		h.forget()
	}
	if h.rate.IsZero() {
		return Decision{Verdict: Allow}
	}
	n, at := h.window.free(now, h.rate)
	switch {
	case n > 0:
		return Decision{Verdict: Allow}
	case at.IsZero():
		return Decision{Verdict: Wait}
	default:
		return waitUntil(now, at, p.MaxWait)
	}
}

// patience bounds a wait.
func waitUntil(now, at time.Time, maxWait time.Duration) Decision {
	if at.Sub(now) > maxWait {
		return Decision{Verdict: RejectLimit, At: at}
	}
	return Decision{Verdict: Wait, At: at}
}

// unsent gives back a request that was granted and not made.
func (h *Host) Refund(k Decision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k.excess && h.counted(k) {
		h.quota.testing--
	}
	h.uncount(k)
	h.release(k.Probe)
}

// refund takes back what a request counts against a limit.
func (h *Host) uncount(k Decision) {
	if h.counted(k) {
		h.window.refund(k.At)
		h.counting--
	} else {
		h.window.cancel()
	}
}

// counted reports whether a request was counted when it was sent.
func (h *Host) counted(k Decision) bool { return h.quota != nil && k.era == h.era }

func (h *Host) release(probe bool) {
	h.inFlight--
	h.breaker.forget(probe)
	h.turns.wake()
}

// firstAnswer reports whether no answer has been read for what it says about
// limits, and that this one is.
func (h *Host) FirstResponse() bool { return !h.responseRead.Swap(true) }

// An effect is what a request did to the host that it went to.
type Kind int

const (
	Answered    Kind = iota
	Redirected       // an answer that is not the end of a lookup
	Overloaded       // 502, 503 or 504 without Retry-After
	Throttled        // too many requests
	Walled           // refused, and not in RDAP
	Useless          // another response that says nothing about the query
	Unreachable      // no response, or half of one
	Canceled         // the caller gave up
)

// A sample is what a request tells about its host.
type Outcome struct {
	Kind       Kind
	Failed     bool      // the question was not answered
	Decision   Decision  // with which the request was granted
	FailedAt   time.Time // when the same query failed before; zero: it did not
	InFlight   int       // lookups under way there with it
	Now        time.Time
	Latency    time.Duration // to the answer, set-up of connections not counted; 0 if not known
	ConnWait   time.Duration // for a connection, before the request was sent
	Status     int           // of the response
	RetryAfter time.Duration // of throttled
	Stated     limit.Rate    // a limit that the answer speaks of
	Cause      error         // of what failed
}

// observe learns from a request that take granted. It reports whether a walled
// one was refused because there were too many, as far as can be known, and so is
// worth to be sent again.
func (h *Host) Observe(s Outcome) (tooMany bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.release(s.Decision.Probe && s.Kind != Unreachable && s.Kind != Overloaded && s.Kind != Useless && s.Kind != Walled)
	if s.Decision.excess && h.counted(s.Decision) {
		h.quota.testing--
	}
	if s.Kind != Redirected {
		h.done++
		if s.Failed {
			h.failed++
		}
	}
	if !s.Stated.IsZero() && !h.fixed {
		h.setStated(s)
	}
	switch s.Kind {
	case Canceled:
		h.count(s)
	case Unreachable, Overloaded:
		h.count(s)
		h.fail(s)
	case Useless:
		h.count(s)
		if s.Decision.Probe {
			h.fail(s)
		}
	case Walled:
		return h.wall(s)
	case Throttled:
		h.breaker.useful(s.Decision.At, s.Decision.Probe)
		h.refused(s)
	case Answered, Redirected:
		h.breaker.useful(s.Decision.At, s.Decision.Probe)
		h.accepted(s)
		h.adaptive.answered(s.Decision.At, s.Now, s.Latency, max(s.InFlight, h.inFlight))
	}
	return false
}

// fail notes a failure of the server. Repeated ones halve how many requests it
// gets at a time; isolated ones do not.
func (h *Host) fail(s Outcome) {
	if !h.breaker.open && h.respondedSince(s.FailedAt) {
		return // it may be the query
	}
	repeated, opened := h.breaker.failed(s.Decision.At, s.Now, s.Decision.Probe, s.Cause)
	if repeated && s.Kind == Overloaded {
		h.adaptive.overloaded(s.Decision.At, s.Now)
	}
	if opened {
		h.hold(HeldOutage, s, h.breaker.probeAt)
	}
}

// wall notes a refusal that is not RDAP. From a server that gave a useful response
// before it counts as too many requests.
func (h *Host) wall(s Outcome) (tooMany bool) {
	alive := h.breaker.alive
	if !alive || s.Decision.Probe {
		if h.breaker.wall(s.Decision.At, s.Now, s.Decision.Probe, s.Cause) {
			h.hold(HeldBlocked, s, h.breaker.probeAt)
		}
	}
	if alive {
		h.refused(s)
		return true
	}
	h.count(s)
	return h.breaker.open
}

func (h *Host) extend(until, paused time.Time) {
	if until.After(h.until) {
		h.until, h.paused = until, paused
	}
}

// known is the limit that is kept to; zero: none.
func (h *Host) known() limit.Rate {
	if h.quota != nil {
		return limit.Rate{N: h.quota.n, Per: h.quota.span}
	}
	return h.rate
}

// A reason is why a host gets no requests for a while, or fewer.
type Reason int

const (
	NotHeld     Reason = iota
	HeldLimit          // it refuses requests as too many
	HeldOutage         // it fails, refuses connections or is silent
	HeldBlocked        // it refuses every request, and not in RDAP
)

// A holdEvent is the first time that a host is held back for a reason.
type Hold struct {
	Reason Reason
	Status int        // of the response that led to it; 0: there was none
	Until  time.Time  // no request is sent before
	Rate   limit.Rate // the limit that applies from now on; zero: none
}

// hold notes why the host is held back.
func (h *Host) hold(why Reason, s Outcome, until time.Time) {
	h.lastHold = why
	if h.announced[why] {
		return
	}
	h.announced[why] = true
	h.hasEvents.Store(true)
	h.events = append(h.events, Hold{Reason: why, Status: s.Status, Until: until, Rate: h.known()})
}

// newHolds returns the events since the last call.
func (h *Host) NewHolds() []Hold {
	if !h.hasEvents.Swap(false) {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.events
	h.events = nil
	return list
}

// A lineCount counts the inputs of batches for one host: lines, not requests.
type LineCount struct{ Read, Done, Failed atomic.Int64 }

// A hostStatus is the state of a host at one time.
type Status struct {
	InFlight int           // requests
	Limit    int           // of inFlight
	Requests int64         // that have ended
	Refused  int64         // of them, those refused as too many
	Rate     limit.Rate    // that applies; zero: none is known
	Until    time.Time     // no request is sent before; zero: no pause
	Held     Reason        // why it was held back last
	Latency  time.Duration // average time to a response; 0: unknown

	Dead     bool  // it is in an outage, or refuses every request
	Blocked  bool  // it refuses every request, and not in RDAP
	Failures int   // in a row
	Walls    int   // refusals in a row that are not RDAP
	Cause    error // of the last failure
}

// status returns the state of the host.
func (h *Host) Status(now time.Time) Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := Status{
		InFlight: h.inFlight, Limit: h.adaptive.limit(), Requests: h.done, Refused: h.refusals,
		Rate: h.known(), Held: h.lastHold, Latency: h.storedLatency,
		Dead: h.breaker.open, Blocked: h.breaker.blocked, Failures: h.breaker.failures, Walls: h.breaker.walls, Cause: h.breaker.cause,
	}
	if h.until.After(now) {
		s.Until = h.until
	}
	if h.adaptive.samples >= tookSamples {
		s.Latency = h.adaptive.recent
	}
	return s
}

// currentRate returns the limit that applies; zero: none is known.
func (h *Host) Rate() limit.Rate {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known()
}

// Name returns the host, with its port if that is unusual, or the name of its group.
func (h *Host) Name() string { return h.name }

// ID returns a number that no other host of the same Hosts has.
func (h *Host) ID() int64 { return h.id }

// Limit returns how many requests may be in flight.
func (h *Host) Limit() int { return h.adaptive.limit() }
