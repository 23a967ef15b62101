package gate

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdapq/rdapq/limit"
)

// A Host holds the state of one server, or of one group of hosts. The state determines whether
// the server may get a request now, and how many. All lookups of a Client share it.
type Host struct {
	FaultyConn atomic.Int64 // set by the caller: number of the connection that failed last; 0 means none
	Lines      LineCount    // set by the caller: input counts of batches, which end before a host does

	id    int64 // unique within Hosts
	name  string
	store budgets

	adaptive     adaptive                 // mu is not needed to read the limit
	origins      atomic.Pointer[[]string] // list of origins; see addOrigin
	responseRead atomic.Bool              // a response has been searched for a stated limit
	hasEvents    atomic.Bool              // events is not empty

	mu               sync.Mutex
	breaker          breaker
	window           window
	rate             limit.Rate // rate that is published, configured or stated by the server; zero means none
	fixed            bool       // rate is published or configured, and responses do not change it
	learned          time.Time
	quota            *quota        // quota learned from refusals; nil means none
	era              int           // number of quotas so far, which identifies the quota that admitted a request
	counting         int           // requests in flight that the quota granted
	stored           bool          // the store has the quota and its usage
	ownUsage         []limit.Usage // usage in the last span that this host has stored
	trial            trial         // determines whether the last refusal was isolated
	search           *spanSearch   // search for the span of a quota; nil means none
	undo             *undo         // state before the last refusals; nil means that they are confirmed
	isolatedRefusals float64       // moving count of isolated refusals among isolatedWindow responses
	burst            burst         // counts isolated refusals
	history          history       // counts accepted requests while there is neither rate nor quota
	storedLatency    time.Duration // time to a response, as loaded from the store; 0 means unknown
	firstTook        time.Duration // time to the first response in history
	storedSamples    int           // number of samples in the latency stored last
	pendingUsage     bucket        // usage that was not stored so far

	until     time.Time // no request is sent before this time
	paused    time.Time // when until was set
	throttles int       // refusals in a row
	throttledSince,
	lastThrottle,
	lastAnswer,
	sent, // when the newest request was sent
	acceptedSent, // when the newest accepted request was sent
	since time.Time // when the first request in history was sent

	users        int // see Hosts.Keep; guarded by Hosts.mu
	inFlight     int // number of requests in flight
	done, failed int64
	refusals     int64   // number of requests refused by a rate limit
	lastHold     Reason  // last reason for holding the host back
	announced    [4]bool // reasons that were added to events, by Reason
	events       []Hold  // events for NewHolds
	turns        turns
	random       func(time.Duration) time.Duration // returns a value from 0 to its argument, exclusive
}

// A trial determines whether a refusal is isolated. It ends when a request that was sent after
// the refused one succeeds, or another request is refused. Until then, the host gets at most
// trialExtra requests in addition to the requests in flight.
type trial struct {
	on    bool
	sent  time.Time     // Decision.At of the refused request
	first time.Time     // when the refused request was sent, after the wait for a connection
	wait  time.Duration // Retry-After of the refused request
	until time.Time     // no extra request is sent before this time, so that requests in flight can end
	extra int           // number of extra requests sent in the trial

	excess bool // the refused request tested a quota
}

// trialExtra is the number of requests sent in a trial in addition to the requests in flight.
const trialExtra = 2

// A spanSearch finds the span of a quota if the server sends no Retry-After: the
// pauses grow until a request is accepted.
type spanSearch struct {
	n     int       // number of requests accepted since the window began
	begin time.Time // start of the window; zero if unknown
	first time.Time // when the first refused request was sent
	last  time.Time // when the last refused request was sent
}

// Settings for refusals.
const (
	firstThrottlePause = time.Second     // pause without Retry-After; doubled with each refusal
	maxThrottlePause   = time.Minute     // maximum pause without Retry-After
	forgetAfter        = 5 * time.Minute // time without a response after which earlier requests no longer indicate a limit
	unratedResolution  = 50 * time.Millisecond

	isolatedWindow = 256 // number of responses among which isolated refusals are counted
	maxIsolated    = 10  // number of isolated refusals that indicate a limit: 4% of isolatedWindow
	maxBurst       = 4   // number of refusals in a burst that indicate a limit
	burstShare     = 16  // a burst continues while more than one response in burstShare is a refusal
)

// A burst counts refusals that are frequent from one moment on, with successes between them. A
// token bucket that has run empty causes such refusals.
type burst struct {
	level    float64   // number of refusals, less accepted/burstShare; at 0 the burst ends
	began    time.Time // when the first refusal arrived
	refused  int
	accepted int // number of requests accepted since the burst began
	calm     int // number of requests accepted since the last refusal
}

func (b *burst) accept() {
	b.calm++
	if b.accepted++; b.level > 1.0/burstShare {
		b.level -= 1.0 / burstShare
	} else {
		*b = burst{}
	}
}

func (b *burst) refuse(now time.Time) {
	if b.level == 0 {
		b.began = now
	}
	b.level++
	b.refused++
	b.calm = 0
}

// allowed returns how many requests may be in flight while there is no quota. After the second
// refusal the number is low, and it grows with each success.
func (b *burst) allowed() int {
	if b.refused < 2 {
		return math.MaxInt
	}
	return trialExtra + b.calm/4
}

// limited reports whether so many refusals indicate a limit, and not chance.
func (b *burst) limited() bool { return b.level >= maxBurst }

// maxReorder is how much later than a refused request another request must be sent for its
// success to count. Requests that are sent together may arrive in another order.
const maxReorder = 10 * time.Millisecond

// A Verdict states whether a request may be sent.
type Verdict int

const (
	Allow       Verdict = iota
	Wait                // the request must wait; see Decision.At
	RejectDead          // the host is dead
	RejectLimit         // the request would have to wait for longer than Request.MaxWait
)

// A Request describes a request that the caller wants to send.
type Request struct {
	Single        bool          // the request belongs to a lookup outside a batch
	Waiter        *Waiter       // place of the lookup in the line; nil if the lookup has no place
	InFlight      int           // number of lookups of the batch in flight at the host
	Waiting       int           // number of lookups that wait for the host; 0 means unknown
	MaxWait       time.Duration // longest acceptable wait
	HasAlternates bool          // another server could get the request instead
}

// restartWait returns how long to wait for a host that is in an outage.
func (p Request) restartWait() time.Duration {
	if p.HasAlternates {
		return 0
	}
	return p.MaxWait
}

// A Decision states whether and when a request may be sent.
type Decision struct {
	Verdict Verdict
	// with Wait and RejectLimit: when to call Acquire again; zero means after the end of
	// another request; with Allow: now
	At            time.Time
	UntilRelease  bool // with Wait: call Acquire earlier if another request ends
	Probe         bool // the request tests whether a dead host has recovered
	AfterThrottle bool // the request is the first one after the pause that followed a refusal
	excess        bool // the request tests the quota
	era           int  // see Host.era
}

// Acquire decides about one request. After Allow, the caller must call Observe or
// Refund once.
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

// limitless reports whether the host has no known limit.
func (h *Host) limitless() bool { return h.rate.IsZero() && h.quota == nil }

// Blocked reports whether Acquire would reject p now. It does not count a request.
func (h *Host) Blocked(now time.Time, p Request) (Decision, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.admit(now, p)
	return k, k.Verdict == RejectDead || k.Verdict == RejectLimit
}

// Recovering reports whether the host is in an outage and may recover within maxWait. If the
// host has sent a useful response since the query failed at the time failed, the query is the
// cause, and Recovering returns false.
func (h *Host) Recovering(now time.Time, maxWait time.Duration, failed time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.breaker.open && h.breaker.mayComeBack(now, maxWait) && !h.respondedSince(failed)
}

// respondedSince reports whether the host sent a useful response after a query
// failed.
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
	if retry := h.paused.Add(singleRetry); p.Single && retry.Before(until) && retry.Sub(now) <= p.MaxWait {
		// A Retry-After of days does not keep single lookups from trying again, but they try
		// rarely, however many there are.
		until = retry
	}
	if now.Before(until) {
		if !p.Single && h.throttles > 0 && until.Sub(h.throttledSince) > p.MaxWait {
			return Decision{Verdict: RejectLimit, At: until} // the host has refused all requests for this time
		}
		return waitUntil(now, until, p.MaxWait)
	}
	if h.throttles > 0 && h.inFlight > 0 {
		return Decision{Verdict: Wait} // one request tests whether the pause was long enough
	}
	if h.trial.on && h.inFlight > 0 {
		if h.trial.extra >= trialExtra {
			return Decision{Verdict: Wait}
		}
		if now.Before(h.trial.until) {
			return Decision{Verdict: Wait, At: h.trial.until, UntilRelease: true}
		}
	}
	if h.quota == nil && h.inFlight >= h.burst.allowed() {
		return Decision{Verdict: Wait}
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

// singleRetry is the time after the last refusal of a paused host when a single lookup may try
// again, although the pause is longer.
const singleRetry = 30 * time.Second

// waitUntil returns Wait, or RejectLimit if the wait until at is longer than maxWait.
func waitUntil(now, at time.Time, maxWait time.Duration) Decision {
	if at.Sub(now) > maxWait {
		return Decision{Verdict: RejectLimit, At: at}
	}
	return Decision{Verdict: Wait, At: at}
}

// Refund returns a request that was allowed and not sent.
func (h *Host) Refund(k Decision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k.excess && h.counted(k) {
		h.quota.testing--
	}
	h.uncount(k)
	h.release(k.Probe)
}

// uncount removes a request from the count against a limit.
func (h *Host) uncount(k Decision) {
	if h.counted(k) {
		h.window.refund(k.At)
		h.counting--
	} else {
		h.window.cancel()
	}
}

// counted reports whether the quota counted the request when it was allowed.
func (h *Host) counted(k Decision) bool { return h.quota != nil && k.era == h.era }

func (h *Host) release(probe bool) {
	h.inFlight--
	h.breaker.forget(probe)
	h.turns.wake()
}

// FirstResponse returns true once, for the response that is searched for a stated limit.
func (h *Host) FirstResponse() bool { return !h.responseRead.Swap(true) }

// A Kind classifies a response by what it shows about its host.
type Kind int

const (
	Answered    Kind = iota // a useful response
	Redirected              // a useful response that does not end a lookup
	Overloaded              // status 502, 503 or 504 without Retry-After
	Throttled               // a refusal because of too many requests
	Walled                  // status 403 with a body that is not RDAP
	Useless                 // another response that does not answer the query
	Unreachable             // no response, or an incomplete response
	Canceled                // the caller canceled the request
)

// An Outcome is the result of one request.
type Outcome struct {
	Kind       Kind
	Failed     bool      // the query was not answered
	Decision   Decision  // decision that allowed the request
	FailedAt   time.Time // when the same query failed last; zero means never
	InFlight   int       // number of lookups of the batch in flight at the host, including this one
	Now        time.Time
	Latency    time.Duration // time to the response, without connection set-up; 0 means unknown
	ConnWait   time.Duration // wait for a connection before the request was sent
	Status     int           // HTTP status; 0 means none
	RetryAfter time.Duration // Retry-After of a Throttled response; 0 means none
	Stated     limit.Rate    // limit that the response states; zero means none
	Cause      error         // error of a failure
}

// Observe records the outcome of a request that Acquire allowed. It reports whether a
// Walled request was probably refused by a rate limit, so that a retry is worthwhile.
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

// fail records a failure of the host. Repeated failures halve the limit on requests in flight,
// isolated failures do not.
func (h *Host) fail(s Outcome) {
	if !h.breaker.open && h.respondedSince(s.FailedAt) {
		return // the query may be the cause
	}
	repeated, opened := h.breaker.failed(s.Decision.At, s.Now, s.Decision.Probe, s.Cause)
	if repeated && s.Kind == Overloaded {
		h.adaptive.overloaded(s.Decision.At, s.Now)
	}
	if opened {
		h.hold(HeldOutage, s, h.breaker.probeAt)
	}
}

// wall records a non-RDAP refusal. It counts as a refusal by a rate limit if the host has
// sent a useful response before.
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

// known returns the limit that applies, or zero if there is none.
func (h *Host) known() limit.Rate {
	if h.quota != nil {
		return limit.Rate{N: h.quota.n, Per: h.quota.span}
	}
	return h.rate
}

// A Reason is the reason why a host gets no requests, or fewer, for a while.
type Reason int

const (
	NotHeld     Reason = iota
	HeldLimit          // the host refuses requests by a rate limit
	HeldOutage         // the host fails, refuses connections or does not respond
	HeldBlocked        // the host refuses every request with a non-RDAP response
)

// A Hold is an event: for the first time, a host is held back for a reason.
type Hold struct {
	Reason Reason
	Status int        // HTTP status of the response that caused the hold; 0 means none
	Until  time.Time  // no request is sent before this time
	Rate   limit.Rate // the limit that applies from now on; zero means none
}

// hold records the reason for holding the host back.
func (h *Host) hold(why Reason, s Outcome, until time.Time) {
	h.lastHold = why
	if h.announced[why] {
		return
	}
	h.announced[why] = true
	h.hasEvents.Store(true)
	h.events = append(h.events, Hold{Reason: why, Status: s.Status, Until: until, Rate: h.known()})
}

// NewHolds returns the events since the last call.
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

// A LineCount counts the inputs of batches for one host: lines, not requests.
type LineCount struct{ Read, Done, Failed atomic.Int64 }

// A Status is a snapshot of the state of a host.
type Status struct {
	InFlight int           // number of requests in flight
	Limit    int           // limit of InFlight
	Requests int64         // requests that have ended
	Refused  int64         // part of Requests refused by a rate limit
	Rate     limit.Rate    // limit that applies; zero if none is known
	Until    time.Time     // no request is sent before this time; zero means no pause
	Held     Reason        // last reason for holding the host back
	Latency  time.Duration // average time to a response; 0 means unknown

	Dead     bool  // the host is in an outage, or refuses every request
	Blocked  bool  // the host refuses every request with a non-RDAP response
	Failures int   // failures in a row
	Walls    int   // non-RDAP refusals in a row
	Cause    error // error of the last failure
}

// Status returns the state of the host.
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

// Rate returns the limit that applies, or the zero Rate if none is known.
func (h *Host) Rate() limit.Rate {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known()
}

// Name returns the host, with its port if the port is not the default, or the name of its
// group.
func (h *Host) Name() string { return h.name }

// ID returns a number that no other host of the same Hosts has.
func (h *Host) ID() int64 { return h.id }

// Limit returns the number of requests that may be in flight.
func (h *Host) Limit() int { return h.adaptive.limit() }
