package gate

import (
	"slices"
	"time"

	"github.com/rdapq/rdapq/limit"
)

// count counts a request that has ended against the limit.
func (h *Host) count(s Outcome) {
	switch {
	case h.counted(s.Decision):
		if at := s.sent().Add(h.late(s)); at != s.Decision.At {
			h.window.move(s.Decision.At, at)
		}
		h.noteUsage(s.Decision.At)
		h.counting--
	case h.quota != nil:
		h.noteUsage(s.Decision.At)
		h.window.answered(s.Decision.At)
	case !h.rate.IsZero():
		h.noteUsage(s.Now)
		h.window.answered(s.Now)
	default:
		h.window.cancel()
		if len(h.history.pieces) == 0 {
			h.since = s.sent() // excludes connection set-up
			h.firstTook = s.Now.Sub(h.since)
		}
		h.history.add(s.sent())
	}
}

// lateSent is the wait for a connection above which a request counts from its sending, not from
// Acquire.
const lateSent = 5 * time.Millisecond

// sent returns when the request was sent. The first requests of a run wait for their connection
// after Acquire.
func (s Outcome) sent() time.Time {
	if s.ConnWait > lateSent {
		return s.Decision.At.Add(s.ConnWait)
	}
	return s.Decision.At
}

// late estimates from the delay of the response how much later than usual the server may have
// counted the request. A busy client sends late, too, so the time counts from Acquire. If a
// server imposes a penalty, a refusal costs more than a wait.
func (h *Host) late(s Outcome) time.Duration {
	if !h.quota.costly() && !h.quota.stated {
		return 0
	}
	if late := h.excessLatency(s.Now.Sub(s.sent())); late > h.window.resolution {
		return late
	}
	return 0
}

// excessLatency returns by how much a response took longer than usual; 0 if that is unknown.
// Where a refusal is costly, usual is the shortest time of any response: the average is too long
// while a run starts.
func (h *Host) excessLatency(took time.Duration) time.Duration {
	usual := h.adaptive.best
	if usual == 0 {
		usual = h.storedLatency
	}
	if h.quota != nil && h.quota.costly() && h.adaptive.least > 0 {
		usual = h.adaptive.least
		if h.storedLatency > 0 {
			usual = min(usual, h.storedLatency)
		}
	}
	if usual == 0 {
		return 0
	}
	return max(took-usual, 0)
}

// storedBuckets is the number of buckets of the window that are stored together.
const storedBuckets = 4

// storeRounds is how much later the store may return a time.
const storeRounds = 2 * time.Millisecond

// noteUsage records a request for the store.
func (h *Host) noteUsage(at time.Time) {
	if h.quota != nil && !h.stored {
		return
	}
	if h.pendingUsage.n > 0 && at.Sub(h.pendingUsage.from) >= h.window.resolution*storedBuckets {
		h.syncStore()
	}
	if h.pendingUsage.n == 0 {
		h.pendingUsage.from = at
	}
	h.pendingUsage.to = at
	h.pendingUsage.n++
}

// syncStore stores the usage of this host, and loads the usage of other programs.
func (h *Host) syncStore() {
	if h.pendingUsage.n == 0 {
		return
	}
	u := limit.Usage{At: h.pendingUsage.to, N: h.pendingUsage.n}
	h.store.Add(h.name, limit.Budget{Used: []limit.Usage{u}})
	h.pendingUsage.n = 0
	b := h.store.Load(h.name)
	h.extend(b.Until, b.Paused)
	per := h.window.resolution * windowBuckets
	h.ownUsage = append(h.ownUsage, u)
	h.ownUsage = slices.DeleteFunc(h.ownUsage, func(u limit.Usage) bool { return h.pendingUsage.to.Sub(u.At) >= per+storeRounds })
	known, mine := usedWithin(b.Used, h.pendingUsage.to, per), usedWithin(h.ownUsage, h.pendingUsage.to, per+storeRounds)
	if known > mine+max(2, mine/16) { // the store may have merged some of this host's usage
		h.window.replace(b.Used)
		if h.counting > 0 {
			h.window.add(h.sent, h.counting) // no request in flight is newer
		}
	}
}

// tookSamples is the number of responses that must be measured before the latency is used.
const tookSamples = 4

// storeLatency stores the average latency.
func (h *Host) storeLatency(now time.Time) {
	if a := &h.adaptive; a.samples >= tookSamples && a.samples > h.storedSamples {
		h.storedSamples = a.samples
		h.store.Add(h.name, limit.Budget{Took: a.recent, Measured: now})
	}
}

// usedWithin returns the number of requests in the span before at.
func usedWithin(uses []limit.Usage, at time.Time, per time.Duration) (n int) {
	for _, u := range uses {
		if at.Sub(u.At) < per {
			n += u.N
		}
	}
	return n
}

// accepted records a useful response.
func (h *Host) accepted(s Outcome) {
	h.count(s)
	h.lastAnswer = s.Now
	if s.Decision.At.After(h.acceptedSent) {
		h.acceptedSent = s.Decision.At
	}
	h.isolatedRefusals -= h.isolatedRefusals / isolatedWindow
	h.burst.accept()
	if s.Decision.At.After(h.lastThrottle) {
		if h.throttles > 1 && h.quota != nil {
			h.quota.resumed(s.Decision.At, s.Now.Sub(h.throttledSince))
		}
		h.throttles, h.undo = 0, nil
		h.finishSearch(s)
	} else if h.undo != nil && !h.burst.limited() && h.sentAfter(s.Decision.At, h.undo.sent) {
		h.revoke(s)
	} else if h.search != nil {
		h.search.n++ // the host accepted the request before the first refusal
	} else if h.quota != nil && !h.quota.confirmed && h.learned.Equal(h.lastThrottle) {
		h.quota.n++
	}
	if h.trial.on && h.sentAfter(s.Decision.At, h.trial.sent) {
		s.Decision.excess = h.trial.excess
		h.trial = trial{}
		h.isolated(s)
	}
	if q := h.quota; q != nil {
		if q.accepted(s.Decision.At, s.Now, s.Decision.excess) && (q.confirmed || q.costly()) {
			h.storeQuota(s.Now) // if refusals are costly, none is provoked to confirm the quota
		}
		if q.idle(s.Now) {
			h.forget()
		}
	}
}

// sentAfter reports whether a request sent at a certainly arrived after a request sent at b.
func (h *Host) sentAfter(a, b time.Time) bool {
	return a.Sub(b) > min(h.adaptive.recent/4, maxReorder)
}

// finishSearch sets the quota when a server without Retry-After accepts requests
// again.
func (h *Host) finishSearch(s Outcome) {
	k := h.search
	if k == nil {
		return
	}
	h.search = nil
	pause := s.Decision.At.Sub(k.first)
	q := &quota{n: k.n, span: s.Decision.At.Sub(k.begin), low: k.last.Sub(k.begin)}
	switch second := firstThrottlePause + 2*secondMargin; {
	case q.span > firstThrottlePause && q.span <= second:
		q.span, q.low = firstThrottlePause, min(q.low, firstThrottlePause) // without the margin
	case k.first.Sub(k.begin) > pause && q.span > second:
		// The start of the window is unknown, so only the pause indicates its length.
		q.span, q.low = pause, k.last.Sub(k.first)
		q.n = h.history.since(k.first.Add(-pause)) - h.history.since(s.Decision.At)
	}
	if q.n > 0 && q.span <= limit.MaxPer {
		h.setQuota(q, s.Now)
	}
}

// setQuota makes q the limit of the host. Requests in history count against it.
func (h *Host) setQuota(q *quota, now time.Time) {
	h.quota, h.learned, h.rate = q, now, limit.Rate{}
	h.era++
	h.counting, h.stored = 0, false
	h.burst = burst{}
	h.quota.bound = now
	h.window.resolution = q.span / windowBuckets
	h.window.replace(nil)
	for _, p := range h.history.pieces {
		if at := h.history.epoch.Add(p.to); now.Sub(at) < q.span+slack(q.span) {
			h.window.add(at, p.n)
		}
	}
	h.history.reset()
	h.adaptive.restrain(now, q.occupied(h.adaptive.recent))
}

// forget drops the learned limit.
func (h *Host) forget() {
	if h.stored {
		h.store.Add(h.name, limit.Budget{Seen: time.Now()})
	}
	h.quota, h.rate = nil, limit.Rate{}
	h.era++
	h.counting, h.stored = 0, false
	h.window.resolution = unratedResolution
	h.window.replace(nil)
	h.history.reset()
	h.since = time.Time{}
}

// storeQuota stores the quota.
func (h *Host) storeQuota(now time.Time) {
	h.learned = now
	b := limit.Budget{Learned: limit.Rate{N: h.quota.n, Per: h.quota.span}, Seen: now, Least: h.quota.low}
	if h.quota.costly() {
		b.Penalty = h.quota.pause
	}
	if !h.stored {
		b.Used, h.stored, h.pendingUsage.n = h.window.used(), true, 0
		h.ownUsage = b.Used
	}
	h.store.Add(h.name, b)
}

// isolated records a refusal between successes. It changes nothing unless isolated refusals are
// frequent. s.Decision is the decision that allowed the refused request.
func (h *Host) isolated(s Outcome) {
	if h.quota != nil && s.Decision.excess && h.quota.missed(s.Decision.At, s.Now) && h.quota.confirmed {
		h.storeQuota(s.Now)
	}
	h.isolatedRefusals++
	if h.isolatedRefusals < maxIsolated && !h.burst.limited() || !h.rate.IsZero() {
		return
	}
	b := h.burst
	h.isolatedRefusals, h.burst = 0, burst{}
	if q := h.quota; q != nil {
		q.spreadIsolated(s.Now, b)
		h.storeQuota(s.Now)
		return
	}
	span := max(time.Second, s.RetryAfter)
	q := &quota{span: span, even: true, confirmed: true, testAt: s.Now}
	if took := s.Now.Sub(b.began); b.limited() && took > 0 {
		// The host accepts the rate that it accepted during the burst, not the rate that it was
		// sent.
		q.n = int(float64(b.accepted) * float64(span) / float64(took))
		q.low = span * time.Duration(b.accepted) / time.Duration(b.accepted+b.refused)
	} else {
		q.span = min(span, s.Now.Sub(h.since))
		q.n = h.history.since(s.Now.Add(-q.span))
		q.testAt = s.Now.Add(testHold * q.span)
	}
	if q.n > 0 && q.span > 0 {
		h.setQuota(q, s.Now)
		h.storeQuota(s.Now)
		h.hold(HeldLimit, s, s.Now)
	}
}

// refused records a refusal by a rate limit. The package comment shows the steps that
// follow.
func (h *Host) refused(s Outcome) {
	h.refusals++
	if h.rate.IsZero() {
		h.uncount(s.Decision) // a refused request does not use up the quota
	} else {
		h.count(s)
	}
	wait := min(max(s.RetryAfter, 0), limit.MaxPause)
	if !s.Decision.At.After(h.lastThrottle) {
		// The refused request was sent before the pause, which its Retry-After may extend.
		if h.undo != nil {
			h.burst.refuse(s.Now)
		}
		if h.undo != nil && s.Decision.At.After(h.undo.sent) {
			h.undo.sent = s.Decision.At
		}
		if h.until.After(s.Now) && wait > 0 {
			h.pause(s.Now, wait)
		}
		return
	}
	used, elapsed := 0, time.Duration(0)
	if h.quota != nil {
		used, elapsed = h.window.usedIn(s.Decision.At, h.quota.span)
	}
	near := h.quota != nil && (s.Decision.excess || float64(used) >= quotaNear*float64(h.quota.n))
	// A confirmed quota that is nearly used up explains the refusal.
	explained := near && h.quota.confirmed
	if explained {
		h.burst = burst{}
	} else {
		h.burst.refuse(s.Now)
	}
	if h.throttles == 0 && s.Stated.IsZero() && !explained {
		switch {
		case h.sentAfter(h.acceptedSent, s.Decision.At):
			h.isolated(s)
			return
		case !h.trial.on && (!near || h.sent.After(s.Decision.At)):
			h.trial = trial{on: true, sent: s.Decision.At, first: s.sent(), wait: wait, until: s.Now.Add(max(h.adaptive.recent, 5*time.Millisecond))}
			h.trial.excess = s.Decision.excess
			if near {
				h.trial.extra = trialExtra // the requests in flight decide the trial
			}
			return
		}
	}
	first := s.sent()
	if h.trial.on {
		wait = max(wait, h.trial.wait)
		if h.trial.first.Before(first) {
			first = h.trial.first
		}
	}
	h.trial = trial{}
	h.undo = nil
	if h.throttles++; h.throttles == 1 {
		h.throttledSince = s.Now
		if !explained {
			h.undo = h.undoing(s)
		}
	}
	h.lastThrottle = s.Now
	pause := wait
	switch {
	case h.quota != nil:
		if pause <= 0 {
			pause = h.quotaPause(used, elapsed)
		}
		if h.throttles == 1 {
			h.quota.refused(s.Decision.At, s.Now, used, elapsed, wait, pause)
			h.quota.opened = s.Decision.At.Add(-elapsed)
		}
		h.quota.bound = s.Now.Add(pause)
		if h.quota.confirmed {
			h.storeQuota(s.Now)
		}
	case !h.rate.IsZero():
		if pause <= 0 {
			pause = h.backOff()
		}
	default:
		if pause <= 0 {
			pause = h.backOff()
			// Windows of one second are frequent. If the first response was late, the server
			// may have read the first request late.
			begun := s.Now.Sub(h.since) - h.excessLatency(h.firstTook) - secondMargin
			if h.throttles == 1 && begun < pause && h.isolatedRefusals < 1 {
				pause -= begun
			}
		}
		h.discover(first, s, wait)
	}
	h.pause(s.Now, pause)
	h.hold(HeldLimit, s, h.until)
}

// An undo is the state of a host before its last refusals.
type undo struct {
	sent          time.Time // when the newest refused request was sent
	quota         *quota    // copy of the quota; nil if there was none
	limit         int
	until, paused time.Time
	lastThrottle  time.Time
}

// undoing returns the state of the host for a later revoke.
func (h *Host) undoing(s Outcome) *undo {
	u := &undo{sent: s.Decision.At, limit: h.adaptive.limit(), until: h.until, paused: h.paused, lastThrottle: h.lastThrottle}
	if h.quota != nil {
		q := *h.quota
		u.quota = &q
	}
	return u
}

// revoke restores the state before the last refusals, because a request that was sent after
// them and before the pause succeeded.
func (h *Host) revoke(s Outcome) {
	u := h.undo
	h.undo, h.search, h.throttles = nil, nil, 0
	h.until, h.paused, h.lastThrottle = u.until, u.paused, u.lastThrottle
	switch {
	case h.quota == nil:
	case u.quota == nil:
		h.forget()
		h.since = s.Decision.At
	default:
		u.quota.testing, u.quota.slot = h.quota.testing, h.quota.slot
		*h.quota = *u.quota
	}
	h.adaptive.resume(u.limit)
	h.isolatedRefusals++ // counts the first refusal; isolated counts the second one
	h.isolated(s)
}

// secondMargin is added to a second, after which the window of the server may have ended. The
// server may read the first request later than the client sends it.
const secondMargin = 50 * time.Millisecond

// discover estimates a quota: the number of requests accepted since the window began.
// Retry-After shows the span as well; without Retry-After a search for the span begins.
func (h *Host) discover(first time.Time, s Outcome, wait time.Duration) {
	elapsed := first.Sub(h.since)
	if wait <= 0 {
		if h.search == nil {
			h.search = &spanSearch{n: h.history.since(h.since), begin: h.since, first: first}
		}
		h.search.last = s.sent()
		return
	}
	h.search = nil
	q := &quota{span: max(wait, time.Second), low: min(elapsed, wait/2), pause: wait, stated: true}
	if elapsed <= 8*wait {
		q.span = max(wait, statedWindow(elapsed, wait))
		q.n = h.history.since(h.since)
	} else {
		q.n, q.low = h.history.since(first.Add(-q.span)), 0
	}
	if q.n > 0 && q.span <= limit.MaxPer {
		h.setQuota(q, s.Now)
	}
}

// quotaPause returns how long to pause after a refusal without Retry-After.
func (h *Host) quotaPause(used int, elapsed time.Duration) time.Duration {
	q := h.quota
	if h.throttles == 1 && (used >= q.n || float64(used) >= quotaNear*float64(q.n)) && elapsed < q.span {
		return max(q.span-elapsed, q.span/64)
	}
	p := max(q.span/8, 20*time.Millisecond)
	for range min(h.throttles-1, 20) {
		if p *= 2; p >= maxThrottlePause {
			return maxThrottlePause
		}
	}
	return p
}

// backOff returns the pause after h.throttles refusals in a row without Retry-After.
// A random part keeps clients from returning at the same time.
func (h *Host) backOff() time.Duration {
	d := firstThrottlePause
	for throttles := h.throttles; throttles > 1 && d < maxThrottlePause; throttles-- {
		d *= 2
	}
	d = min(d, maxThrottlePause)
	return d + h.random(d/20)
}

// pause stops requests to the host for d, and stores the pause.
func (h *Host) pause(now time.Time, d time.Duration) {
	if until := now.Add(d); d > 0 && until.After(h.until) {
		h.until, h.paused = until, now
		h.store.Add(h.name, limit.Budget{Until: until, Paused: now})
	}
}

// setStated adopts the limit that a response states.
func (h *Host) setStated(s Outcome) {
	if h.rate == s.Stated {
		h.learned = s.Now
		return
	}
	h.setQuota(&quota{n: s.Stated.N, span: s.Stated.Per}, s.Now)
	h.quota = nil
	h.era++
	h.rate, h.window.resolution = s.Stated, s.Stated.Per/windowBuckets
	h.ownUsage = h.window.used()
	h.store.Add(h.name, limit.Budget{Learned: s.Stated, Seen: s.Now, Used: h.ownUsage})
}
