package client

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rdapq/rdapq/limit"
)

// count notes that a request has ended that counts against a limit.
func (h *host) count(s sample) {
	switch {
	case h.counted(s.ticket):
		if at := s.sent(); at != s.ticket.at {
			h.window.move(s.ticket.at, at)
		}
		h.use(s.ticket.at)
		h.counting--
	case h.quota != nil:
		h.use(s.ticket.at)
		h.window.answered(s.ticket.at)
	case !h.rate.IsZero():
		h.use(s.now)
		h.window.answered(s.now)
	default:
		h.window.unsent()
		h.history.add(s.sent())
	}
}

// lateSent is how much later than it was granted a request has to be sent to count
// from then.
const lateSent = 5 * time.Millisecond

// sent is when the request was sent. With the first ones of a run that is later
// than when it was granted, by the time that the connection takes.
func (s sample) sent() time.Time {
	if s.waited > lateSent {
		return s.ticket.at.Add(s.waited)
	}
	return s.ticket.at
}

// use notes for the store that a request counts against a limit.
func (h *host) use(at time.Time) {
	if h.quota != nil && !h.told {
		return
	}
	if h.pending.n > 0 && at.Sub(h.pending.from) >= h.window.grain {
		h.tell()
	}
	if h.pending.n == 0 {
		h.pending.from = at
	}
	h.pending.to = at
	h.pending.n++
}

// tell tells the store of what was used, and takes over what other programs used.
func (h *host) tell() {
	if h.pending.n == 0 {
		return
	}
	u := limit.Usage{At: h.pending.to, N: h.pending.n}
	h.store.Add(h.name, limit.Budget{Used: []limit.Usage{u}})
	h.pending.n = 0
	b, ok := h.store.Load(h.name)
	if !ok {
		return
	}
	h.extend(b.Until, b.Paused)
	per := h.window.grain * windowGrains
	h.mine = append(h.mine, u)
	h.mine = slices.DeleteFunc(h.mine, func(u limit.Usage) bool { return h.pending.to.Sub(u.At) >= per })
	known, mine := usedWithin(b.Used, h.pending.to, per), usedWithin(h.mine, h.pending.to, per)
	if known > mine+max(2, mine/16) { // the store may have joined some of ours
		h.window.replace(b.Used)
		if h.counting > 0 {
			h.window.add(h.pending.to, h.counting)
		}
	}
}

// tookSamples is how many responses have to be measured before their time is stored.
const tookSamples = 4

// tellTook tells the store how long responses take.
func (h *host) tellTook(now time.Time) {
	if a := &h.adaptive; a.samples >= tookSamples && a.samples > h.measured {
		h.measured = a.samples
		h.store.Add(h.name, limit.Budget{Took: a.recent, Measured: now})
	}
}

// usedWithin counts the requests in the span before a time.
func usedWithin(uses []limit.Usage, at time.Time, per time.Duration) (n int) {
	for _, u := range uses {
		if at.Sub(u.At) < per {
			n += u.N
		}
	}
	return n
}

// accepted learns from a useful response.
func (h *host) accepted(s sample) {
	h.count(s)
	h.lastAnswer = s.now
	if s.ticket.at.After(h.acceptedSent) {
		h.acceptedSent = s.ticket.at
	}
	h.odd -= h.odd / oddMemory
	h.oddOf = min(h.oddOf+1, oddMemory)
	if s.ticket.at.After(h.lastThrottle) {
		if h.throttles > 1 && h.quota != nil {
			h.quota.resumed(s.ticket.at, s.now.Sub(h.throttledSince))
		}
		h.throttles, h.undo = 0, nil
		h.settle(s)
	} else if h.undo != nil && s.ticket.at.Sub(h.undo.sent) > undoAfter {
		h.revoke(s)
	} else if h.seek != nil {
		h.seek.n++ // one more that was let through before it said stop
	} else if h.quota != nil && !h.quota.confirmed && h.learned.Equal(h.lastThrottle) {
		h.quota.n++
	}
	if h.trial.on && s.ticket.at.After(h.trial.sent) {
		s.ticket.excess = h.trial.excess
		h.trial = trial{}
		h.isolated(s)
	}
	if q := h.quota; q != nil {
		if q.accepted(s.now, s.ticket.excess) && (q.confirmed || q.costly()) {
			h.keep(s.now) // where a refusal is costly none is sought to confirm it
		}
		if q.idle(s.now) {
			h.forget()
		}
	}
}

// settle ends the search for a span: the server accepts requests again.
func (h *host) settle(s sample) {
	k := h.seek
	if k == nil {
		return
	}
	h.seek = nil
	pause := s.ticket.at.Sub(k.first)
	q := &quota{n: k.n, span: s.ticket.at.Sub(k.begin), low: k.last.Sub(k.begin)}
	if k.first.Sub(k.begin) > pause {
		// The window began somewhen: the pause is all that is known of it.
		q.span, q.low = pause, k.last.Sub(k.first)
		q.n = h.history.since(k.first.Add(-pause)) - h.history.since(s.ticket.at)
	}
	if q.n > 0 && q.span <= limit.MaxPer {
		h.limit(q, s.now)
	}
}

// limit makes q the limit of the host, which counts what was accepted before.
func (h *host) limit(q *quota, now time.Time) {
	h.quota, h.learned, h.rate = q, now, limit.Rate{}
	h.era++
	h.counting, h.told = 0, false
	h.quota.bound = now
	h.window.grain = q.span / windowGrains
	h.window.replace(nil)
	for _, p := range h.history.pieces {
		if at := h.history.epoch.Add(p.to); now.Sub(at) < q.span+slack(q.span) {
			h.window.add(at, p.n)
		}
	}
	h.history.reset()
	h.adaptive.restrain(now, q.occupied(h.adaptive.recent))
}

// forget drops what was learned.
func (h *host) forget() {
	if h.told {
		h.store.Add(h.name, limit.Budget{Seen: time.Now()})
	}
	h.quota, h.rate = nil, limit.Rate{}
	h.era++
	h.counting, h.told = 0, false
	h.window.grain = unratedGrain
	h.window.replace(nil)
	h.history.reset()
	h.since = time.Time{}
}

// keep stores a learned limit.
func (h *host) keep(now time.Time) {
	h.learned = now
	b := limit.Budget{Learned: limit.Rate{N: h.quota.n, Per: h.quota.span}, Seen: now, Least: h.quota.low}
	if h.quota.costly() {
		b.Penalty = h.quota.pause
	}
	if !h.told {
		b.Used, h.told, h.pending.n = h.window.used(), true, 0
		h.mine = b.Used
	}
	h.store.Add(h.name, b)
}

// isolated notes a refusal between successes: it teaches nothing, unless such
// refusals are so frequent that they are no accident. s.ticket.excess is that of
// the refused request.
func (h *host) isolated(s sample) {
	if h.quota != nil && s.ticket.excess && h.quota.missed(s.now) && h.quota.confirmed {
		h.keep(s.now)
	}
	h.odd++
	if few := h.odd >= oddFew && h.odd > float64(h.oddOf)*oddShare; h.odd < oddMost && !few || !h.rate.IsZero() {
		return
	}
	h.odd, h.oddOf = 0, 0
	if q := h.quota; q != nil {
		q.odd(s.now)
		h.keep(s.now)
		return
	}
	span := min(max(time.Second, s.retryAfter), s.now.Sub(h.since))
	if n := h.history.since(s.now.Add(-span)); n > 0 && span > 0 {
		h.limit(&quota{n: n, span: span, even: true, testAt: s.now.Add(testHold * span)}, s.now)
		h.quota.confirmed = true
		h.keep(s.now)
		h.hold(reasonLimit, s, s.now)
	}
}

// refused learns from a refusal of the server for too many requests.
func (h *host) refused(s sample) {
	h.refusals++
	if h.rate.IsZero() {
		h.refund(s.ticket) // what was refused is not what it allows
	} else {
		h.count(s)
	}
	wait := min(max(s.retryAfter, 0), limit.MaxPause)
	if !s.ticket.at.After(h.lastThrottle) {
		// It was sent before the pause: it says nothing new, but perhaps a later time.
		if h.undo != nil && s.ticket.at.After(h.undo.sent) {
			h.undo.sent = s.ticket.at
		}
		if h.until.After(s.now) && wait > 0 {
			h.pause(s.now, wait)
		}
		return
	}
	used, elapsed := 0, time.Duration(0)
	if h.quota != nil {
		used, elapsed = h.window.usedIn(s.ticket.at, h.quota.span)
	}
	near := h.quota != nil && (s.ticket.excess || float64(used) >= quotaNear*float64(h.quota.n))
	// A quota that is confirmed explains a refusal when it is nearly used up.
	explained := near && h.quota.confirmed
	if h.throttles == 0 && s.stated.IsZero() && !explained {
		switch {
		case h.acceptedSent.After(s.ticket.at):
			h.isolated(s)
			return
		case !h.trial.on && (!near || h.sent.After(s.ticket.at)):
			h.trial = trial{on: true, sent: s.ticket.at, wait: wait, until: s.now.Add(max(h.adaptive.recent, 5*time.Millisecond))}
			h.trial.excess = s.ticket.excess
			if near {
				h.trial.extra = trialExtra // what is in flight decides
			}
			return
		}
	}
	first := s.ticket.at
	if h.trial.on {
		wait = max(wait, h.trial.wait)
		if h.trial.sent.Before(first) {
			first = h.trial.sent
		}
	}
	h.trial = trial{}
	h.undo = nil
	if h.throttles++; h.throttles == 1 {
		h.throttledSince = s.now
		if !explained {
			h.undo = h.undoing(s)
		}
	}
	h.lastThrottle = s.now
	pause := wait
	switch {
	case h.quota != nil:
		if pause <= 0 {
			pause = h.quotaPause(used, elapsed)
		}
		if h.throttles == 1 {
			h.quota.refused(s.now, used, elapsed, wait, pause)
			h.quota.opened = s.ticket.at.Add(-elapsed)
		}
		h.quota.last = s.ticket.at
		h.quota.bound = s.now.Add(pause)
		if h.quota.confirmed {
			h.keep(s.now)
		}
	case !h.rate.IsZero():
		if pause <= 0 {
			pause = backOff(h.throttles)
		}
	default:
		if pause <= 0 {
			pause = backOff(h.throttles)
		}
		h.discover(first, s, wait)
	}
	h.pause(s.now, pause)
	h.hold(reasonLimit, s, h.until)
}

// An undo is what a host was like before refusals were taken for those of a quota.
type undo struct {
	sent          time.Time // when the newest refused request was sent
	quota         *quota    // a copy; nil: there was none
	limit         int
	until, paused time.Time
}

// undoing returns the state of the host.
func (h *host) undoing(s sample) *undo {
	u := &undo{sent: s.ticket.at, limit: h.adaptive.limit(), until: h.until, paused: h.paused}
	if h.quota != nil {
		q := *h.quota
		u.quota = &q
	}
	return u
}

// revoke takes back what was learned from the last refusals: a request that was
// sent after them, and before the pause, succeeded.
func (h *host) revoke(s sample) {
	u := h.undo
	h.undo, h.seek, h.throttles = nil, nil, 0
	h.until, h.paused = u.until, u.paused
	switch {
	case u.quota == nil:
		h.forget()
		h.since = s.ticket.at
	case h.quota != nil:
		u.quota.trying, u.quota.slot = h.quota.trying, h.quota.slot
		*h.quota = *u.quota
	}
	h.adaptive.resume(u.limit)
	h.odd++ // the first of the refusals; isolated counts the other one
	h.isolated(s)
}

// discover begins to make out a quota: as many as were accepted since the window
// began. If the server says when to come back the span is known as well.
func (h *host) discover(first time.Time, s sample, wait time.Duration) {
	elapsed := first.Sub(h.since)
	if wait <= 0 {
		if h.seek == nil {
			h.seek = &seek{n: h.history.since(h.since), begin: h.since, first: first}
		}
		h.seek.last = s.ticket.at
		return
	}
	h.seek = nil
	q := &quota{span: max(wait, time.Second), low: min(elapsed, wait/2), pause: wait}
	if elapsed <= 8*wait {
		q.span = max(wait, elapsed+wait-retrySlack)
		q.n = h.history.since(h.since)
	} else {
		q.n, q.low = h.history.since(first.Add(-q.span)), 0
	}
	if q.n > 0 && q.span <= limit.MaxPer {
		h.limit(q, s.now)
	}
}

// quotaPause is how long to pause after a refusal without Retry-After.
func (h *host) quotaPause(used int, elapsed time.Duration) time.Duration {
	q := h.quota
	if h.throttles == 1 && (used >= q.n || float64(used) >= quotaNear*float64(q.n)) && elapsed < q.span {
		return max(q.span-elapsed, q.span/64)
	}
	p := max(q.span/8, 20*time.Millisecond)
	for range min(h.throttles-1, 20) {
		if p *= 2; p >= pauseMost {
			return pauseMost
		}
	}
	return p
}

// backOff is the pause after so many refusals in a row without Retry-After. Its
// random part keeps several clients apart.
func backOff(throttles int) time.Duration {
	d := pauseBase
	for ; throttles > 1 && d < pauseMost; throttles-- {
		d *= 2
	}
	d = min(d, pauseMost)
	return d - rand.N(d/10)
}

// pause sends the host nothing for so long.
func (h *host) pause(now time.Time, d time.Duration) {
	if until := now.Add(d); d > 0 && until.After(h.until) {
		h.until, h.paused = until, now
		h.store.Add(h.name, limit.Budget{Until: until, Paused: now})
	}
}

// state takes over a limit that the server states.
func (h *host) state(s sample) {
	if h.rate == s.stated {
		h.learned = s.now
		return
	}
	h.limit(&quota{n: s.stated.N, span: s.stated.Per}, s.now)
	h.quota = nil
	h.era++
	h.rate, h.window.grain = s.stated, s.stated.Per/windowGrains
	h.mine = h.window.used()
	h.store.Add(h.name, limit.Budget{Learned: s.stated, Seen: s.now, Used: h.mine})
}
