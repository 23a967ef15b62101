package client

import "time"

// count notes that a request has ended that counts against a limit.
func (h *host) count(now time.Time) {
	if h.rate.IsZero() {
		h.window.answered(now)
		h.window.thin()
		return
	}
	if h.pending.n > 0 && now.Sub(h.pending.from) >= h.window.grain {
		h.tell()
	}
	h.window.answered(now)
	if h.pending.n == 0 {
		h.pending.from = now
	}
	h.pending.to = now
	h.pending.n++
}

// tell tells the store of what was used, and hears what others used.
func (h *host) tell() {
	if h.pending.n == 0 {
		return
	}
	h.store.Add(h.name, Budget{Used: []Use{{At: h.pending.to, N: h.pending.n}}})
	h.pending = span{}
	if b, ok := h.store.Load(h.name); ok {
		h.window.replace(b.Used)
		h.extend(b.Until, b.Paused)
	}
}

// throttled pauses the host and lowers what it is asked.
func (h *host) throttled(s sample) {
	fresh := s.sent.After(h.lastThrottle)
	pause := min(s.retryAfter, maxPause)
	if fresh {
		if h.throttles++; h.throttles == 1 {
			h.throttledSince = s.now
		}
		if pause <= 0 {
			pause = jitter(pauseBase, pauseMost, h.throttles)
		}
		if !h.fixed && s.stated.IsZero() {
			h.infer(s.now, s.retryAfter)
		}
		h.adaptive.throttled(s.sent, s.now)
		h.lastThrottle = s.now
	}
	if h.rate.IsZero() {
		h.window.unsent() // what was refused is not what it allows
	} else {
		h.count(s.now)
	}
	if pause > 0 {
		if until := s.now.Add(pause); until.After(h.until) {
			h.until, h.paused = until, s.now
			h.store.Add(h.name, Budget{Until: until, Paused: s.now})
		}
	}
}

// infer makes out the limit that was hit: as many as were answered since the
// first of them, until the time that the server says to come back at.
func (h *host) infer(now time.Time, wait time.Duration) {
	if h.inferred = h.rate.IsZero(); h.inferred {
		span := now.Sub(h.since) + wait
		if h.inferred = wait > 0 && h.window.total > 0 && span <= maxRatePer; h.inferred {
			h.learn(Rate{N: h.window.total, Per: span}, now)
		}
		return
	}
	// It was hit although we kept to what we took it to be.
	r := h.rate
	h.window.expire(now, r.Per)
	switch n := h.window.total; {
	case n == 0:
		r.Per = min(max(r.Per+r.Per/4, wait), maxRatePer)
	case n < r.N:
		r.N = n
	default:
		r.N = max(r.N*3/4, 1)
	}
	h.learn(r, now)
}

func (h *host) learn(r Rate, now time.Time) {
	b := Budget{Learned: r, Seen: now}
	if h.rate.IsZero() {
		for _, u := range h.window.uses {
			b.Used = append(b.Used, Use{At: u.to, N: u.n})
		}
	}
	h.rate, h.learned, h.window.grain = r, now, r.Per/windowGrains
	h.raised, h.stated = now, false
	h.store.Add(h.name, b)
}

// raise tries whether more is allowed than was made out, when that has been used
// up for long and nothing refused: it may have been others who used up the rest.
func (h *host) raise(now time.Time) bool {
	if h.fixed || h.stated || now.Sub(h.raised) < max(raiseAfter, 10*h.rate.Per) {
		return false
	}
	h.rate.N += max(h.rate.N/2, 1)
	h.raised = now
	return true
}
