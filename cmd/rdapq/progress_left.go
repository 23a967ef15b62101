package main

import (
	"time"

	"github.com/rdapq/rdapq/client"
)

// The time left of a batch is that of the host that is done last: the number of
// lines that wait for it, divided by how many it has done per second of late, or
// by its limit. Lines that were not read yet are spread over the hosts as those
// before them were. While --jobs is what bounds the run, the time that all lines
// take at the present rate is the least.

const (
	// paceInterval is the least time between two notes of how far hosts are.
	paceInterval = 2 * time.Second
	// paceSpan is how far back notes reach: two spans of a quota per minute do
	// not fit, but then the quota is known.
	paceSpan = time.Minute
	// jobsFull is the part of --jobs that has to be in use for it to be a bound.
	jobsFull = 0.9
)

// A pace is how far each host was at a time.
type pace struct {
	at    time.Time
	done  map[string]int64
	total int64
}

// note keeps how far the hosts are.
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

// since returns the newest note that is at least span old, or else the oldest;
// nil if there is none from before now.
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

// timeLeft estimates how long the lines that were not done take; 0: not known.
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
			continue // how long a dead host is waited for is not a matter of its pace
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

// rateOf is how many lines per second the host does: as of late, and no more than
// its limit. A host that has fewer requests in flight than it may have does more
// when others are done.
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
		return limit // a quota is used in bursts
	case limit > 0:
		return min(limit, measured)
	case h.InFlight < int64(h.Limit) && h.Took > 0:
		return max(measured, float64(h.Limit)/h.Took.Seconds())
	default:
		return measured
	}
}
