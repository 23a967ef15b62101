package main

import (
	"time"

	"github.com/rdapq/rdapq/client"
)

// The time left of a batch is that of its slowest host: the host's queued lines divided
// by its recent rate, or by its limit. Unread lines are assumed to be distributed over
// the hosts like the lines read so far. While --jobs limits the run, the time left is at
// least that of all remaining lines at the current rate.

const (
	// paceInterval is the minimum time between two samples of the hosts.
	paceInterval = 2 * time.Second
	// paceSpan is the maximum age of a sample. It covers less than two periods of a per-minute
	// quota; for such a quota, rateOf uses the quota itself.
	paceSpan = time.Minute
	// jobsFull is the fraction of --jobs that must be in use for --jobs to count as the
	// limiting factor.
	jobsFull = 0.9
)

// A pace records the number of lines done per host at a point in time.
type pace struct {
	at    time.Time
	done  map[string]int64
	total int64
}

// record adds a sample of the lines done per host.
func (p *progress) record(now time.Time, servers []client.ServerProgress) {
	if n := len(p.paces); n > 0 && now.Sub(p.paces[n-1].at) < paceInterval {
		return
	}
	one := pace{at: now, done: make(map[string]int64, len(servers))}
	for _, s := range servers {
		one.done[s.Server] = s.Done
		one.total += s.Done
	}
	p.paces = append(p.paces, one)
	old := 0
	for old < len(p.paces)-2 && now.Sub(p.paces[old+1].at) >= paceSpan {
		old++
	}
	p.paces = p.paces[old:]
}

// since returns the newest sample at least span old, or else the oldest. It returns nil if no
// sample precedes now.
func (p *progress) since(now time.Time, span time.Duration) *pace {
	if len(p.paces) == 0 || !now.After(p.paces[0].at) {
		return nil
	}
	for i := len(p.paces) - 1; i > 0; i-- {
		if now.Sub(p.paces[i].at) >= span {
			return &p.paces[i]
		}
	}
	return &p.paces[0]
}

// timeLeft estimates the time for the remaining lines, or returns 0 if unknown.
func (p *progress) timeLeft(now time.Time, s *progressState) time.Duration {
	servers := s.progress.Servers
	var lines, done, inFlight int64
	for _, h := range servers {
		lines += h.Lines
		done += h.Done
		inFlight += h.InFlight
	}
	unread := float64(max(s.total-p.before-s.progress.Read, 0))
	longest, known := 0.0, false
	for _, h := range servers {
		wait := float64(h.Lines - h.Done)
		if lines > 0 {
			wait += unread * float64(h.Lines) / float64(lines)
		}
		if wait <= 0 || h.Dead {
			continue // the time until a dead host recovers is unknown
		}
		rate := p.rateOf(now, h)
		if rate <= 0 {
			continue
		}
		known = true
		longest = max(longest, wait/rate)
	}
	if from := p.since(now, rateSpan); from != nil && p.jobs > 0 && float64(inFlight) >= jobsFull*float64(p.jobs) {
		if rate := float64(done-from.total) / now.Sub(from.at).Seconds(); rate > 0 {
			known = true
			longest = max(longest, (float64(lines-done)+unread)/rate)
		}
	}
	if !known {
		return 0
	}
	return time.Duration(longest * float64(time.Second))
}

// rateOf returns the lines per second of a host: its recent rate, but no more than its limit. A
// host with spare capacity speeds up when the other hosts are done.
func (p *progress) rateOf(now time.Time, h client.ServerProgress) float64 {
	limit := 0.0
	span := rateSpan
	if !h.Rate.IsZero() {
		limit = float64(h.Rate.N) / h.Rate.Per.Seconds()
		span = max(span, 2*h.Rate.Per)
	}
	from := p.since(now, span)
	if from == nil {
		return limit
	}
	took := now.Sub(from.at)
	measured := float64(h.Done-from.done[h.Server]) / took.Seconds()
	switch {
	case limit > 0 && (took < span || measured <= 0):
		return limit // runs use a quota in bursts, so a short sample is misleading
	case limit > 0:
		return min(limit, measured)
	case h.InFlight < int64(h.Limit) && h.Took > 0:
		return max(measured, float64(h.Limit)/h.Took.Seconds())
	default:
		return measured
	}
}
