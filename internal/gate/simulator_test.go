package gate

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdapq/rdapq/internal/testrun"
	"github.com/rdapq/rdapq/limit"
)

// A rule is the rate limit of a simulated server. It decides whether to accept a request that
// arrives at a time. retryAfter is 0 if the server does not send Retry-After.
type rule func(at time.Time) (ok bool, retryAfter time.Duration)

// ceil rounds a Retry-After up to whole seconds, the unit of the header field.
func ceil(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }

// fixedWindow accepts n requests per window. A window begins with the first request after the
// previous window or, if aligned, at multiples of per.
func fixedWindow(n int, per time.Duration, aligned bool, wait func(left time.Duration) time.Duration) rule {
	var begin time.Time
	used := 0
	return func(at time.Time) (bool, time.Duration) {
		if at.Sub(begin) >= per {
			begin, used = at, 0
			if aligned {
				begin = at.Truncate(per)
			}
		}
		if used < n {
			used++
			return true, 0
		}
		return false, wait(per - at.Sub(begin))
	}
}

// slidingWindow accepts n requests in any span.
func slidingWindow(n int, per time.Duration, wait func(left time.Duration) time.Duration) rule {
	var log []time.Time
	return func(at time.Time) (bool, time.Duration) {
		for len(log) > 0 && at.Sub(log[0]) >= per {
			log = log[1:]
		}
		if len(log) < n {
			log = append(log, at)
			return true, 0
		}
		return false, wait(per - at.Sub(log[0]))
	}
}

// tokenBucket accepts a request per token. The bucket holds size tokens, and n tokens are added
// in each span per.
func tokenBucket(n int, per time.Duration, size float64, wait func(left time.Duration) time.Duration) rule {
	level := size
	var last time.Time
	return func(at time.Time) (bool, time.Duration) {
		if !last.IsZero() {
			level = min(size, level+float64(at.Sub(last))*float64(n)/float64(per))
		}
		last = at
		if level >= 1 {
			level--
			return true, 0
		}
		return false, wait(time.Duration((1 - level) * float64(per) / float64(n)))
	}
}

// penalty refuses all requests for d after a refusal of r.
func penalty(r rule, d time.Duration, wait func(left time.Duration) time.Duration) rule {
	var until time.Time
	return func(at time.Time) (bool, time.Duration) {
		if at.Before(until) {
			return false, wait(until.Sub(at))
		}
		ok, _ := r(at)
		if !ok {
			until = at.Add(d)
			return false, wait(d)
		}
		return true, 0
	}
}

func silent(time.Duration) time.Duration { return 0 }

func constant(d time.Duration) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return d }
}

// A simulation sends lines to a simulated server through a host's gate, as a batch does,
// on a simulated clock.
type simulation struct {
	h       *Host
	rule    rule
	latency time.Duration
	lines   int
	effect  Kind // kind of a refusal; 0 means Throttled
	seed    uint64
	jitter  time.Duration // maximum jitter of the latency; 0 means 4% of the latency
	setup   time.Duration // duration of connection set-up
	// returns the time at which the server reads a request; nil means the time of arrival
	stall    func(arrived time.Time) time.Time
	began    time.Time
	took     time.Duration
	sentAt   []time.Duration // time of every request
	refused  []time.Duration // times of the refused requests
	accepted []time.Duration
	atFirst  int       // requests in flight at the first refusal
	learned  time.Time // when the host first had a quota
	before   int       // number of refusals of requests that were sent before learned
}

// An event is the arrival of a request at the server, or of its response.
type event struct {
	at      time.Time
	arrived bool // the event is the arrival at the server, and outcome is that of the response
	outcome Outcome
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// run runs the simulation. It must be called in a synctest bubble.
func (s *simulation) run(t *testing.T) {
	t.Helper()
	random, repeats := rand.New(rand.NewPCG(s.seed, 1)), rand.New(rand.NewPCG(s.seed, 2))
	s.began = time.Now()
	if s.effect == 0 {
		s.effect = Throttled
	}
	if s.jitter == 0 {
		s.jitter = s.latency / 25
	}
	var flying events // events of the requests in flight
	waiting := s.lines
	var delayed []time.Time // ends of the waits of refused lines
	patient := Request{MaxWait: 24 * time.Hour}
	half := func() time.Duration {
		return s.latency/2 + time.Duration(random.Int64N(int64(s.jitter/2)+1))
	}
	for waiting > 0 || len(delayed) > 0 || len(flying) > 0 {
		now := time.Now()
		if len(s.sentAt) > 100*s.lines+1000 || now.Sub(s.began) > 24*time.Hour {
			t.Fatalf("no end: %d lines wait after %v and %d requests", waiting, now.Sub(s.began), len(s.sentAt))
		}
		delayed = slices.DeleteFunc(delayed, func(at time.Time) bool {
			if at.After(now) {
				return false
			}
			waiting++
			return true
		})
		next := time.Time{}
		if waiting > 0 {
			patient.InFlight, patient.Waiting = len(flying), waiting+len(delayed)
			switch k := s.h.Acquire(now, patient); {
			case k.Verdict == Allow:
				waiting--
				s.sentAt = append(s.sentAt, now.Sub(s.began))
				e := Outcome{Kind: Answered, Decision: k, InFlight: len(flying) + 1}
				e.ConnWait = max(s.began.Add(s.setup).Sub(now), 0)
				arrived := now.Add(e.ConnWait + half())
				if s.stall != nil {
					arrived = s.stall(arrived)
				}
				heap.Push(&flying, event{at: arrived, outcome: e})
				continue
			case k.Verdict != Wait:
				t.Fatalf("given up: %+v", k)
			case !k.At.IsZero():
				next = k.At
			case len(flying) == 0:
				t.Fatalf("waits for nothing after %v: %+v", now.Sub(s.began), k)
			}
		}
		if len(flying) > 0 && (next.IsZero() || flying[0].at.Before(next)) {
			next = flying[0].at
		}
		for _, at := range delayed {
			if next.IsZero() || at.Before(next) {
				next = at
			}
		}
		time.Sleep(time.Until(next))
		now = time.Now()
		for len(flying) > 0 && !flying[0].at.After(now) {
			ev := heap.Pop(&flying).(event)
			e := ev.outcome
			if !ev.arrived {
				if ok, wait := s.rule(now); !ok {
					e.Kind, e.RetryAfter, e.Status, e.Failed = s.effect, wait, 429, true
				}
				heap.Push(&flying, event{now.Add(half()), true, e})
				continue
			}
			e.Now = now
			if e.ConnWait == 0 {
				e.Latency = now.Sub(e.Decision.At)
			}
			s.h.Observe(e)
			if s.h.quota != nil && s.learned.IsZero() {
				s.learned = now
			}
			if e.Kind == Answered {
				s.accepted = append(s.accepted, now.Sub(s.began))
				s.took = now.Sub(s.began)
				continue
			}
			if len(s.refused) == 0 {
				s.atFirst = len(flying) + 1
			}
			s.refused = append(s.refused, now.Sub(s.began))
			if s.learned.IsZero() || !e.Decision.At.After(s.learned) {
				s.before++
			}
			back := now.Add(e.RetryAfter)
			if e.RetryAfter == 0 {
				back = now.Add(time.Duration(repeats.Int64N(int64(250*time.Millisecond))) + time.Millisecond)
			}
			delayed = append(delayed, back)
		}
	}
}

// countAfter returns the number of times at or after from.
func countAfter(times []time.Duration, from time.Duration) (n int) {
	for _, at := range times {
		if at >= from {
			n++
		}
	}
	return n
}

// A quotaCase is a server with a quota, and limits of the refusals.
type quotaCase struct {
	name    string
	rule    func() rule
	n       int
	per     time.Duration
	latency time.Duration
	setup   time.Duration // duration of the first connection set-up
	lines   int
	later   int     // maximum number of requests refused after the host has a quota
	ratio   float64 // maximum ratio of the time to the minimum time; 0 means not checked
	effect  Kind
}

func quotaCases() []quotaCase {
	const ms = time.Millisecond
	return []quotaCase{
		{name: "10 in 3 s", rule: func() rule { return slidingWindow(10, 3*time.Second, ceil) }, n: 10, per: 3 * time.Second, latency: 5 * ms, lines: 60, later: 1, ratio: 1.2},
		{name: "10 in 3 s, fixed", rule: func() rule { return fixedWindow(10, 3*time.Second, false, ceil) }, n: 10, per: 3 * time.Second, latency: 50 * ms, lines: 60, later: 1, ratio: 1.2},
		{name: "10 in 3 s, aligned", rule: func() rule { return fixedWindow(10, 3*time.Second, true, ceil) }, n: 10, per: 3 * time.Second, latency: 50 * ms, lines: 60, later: 1, ratio: 1.2},
		{name: "10 in 3 s, long", rule: func() rule { return fixedWindow(10, 3*time.Second, false, ceil) }, n: 10, per: 3 * time.Second, latency: 50 * ms, lines: 400, later: 6, ratio: 1.2},
		{name: "60 in a minute", rule: func() rule { return fixedWindow(60, time.Minute, false, ceil) }, n: 60, per: time.Minute, latency: 50 * ms, lines: 300, later: 1, ratio: 1.2},
		{name: "60 in a minute, constant Retry-After", rule: func() rule { return fixedWindow(60, time.Minute, false, constant(time.Minute)) }, n: 60, per: time.Minute, latency: 50 * ms, lines: 300, later: 1, ratio: 1.2},
		{name: "20 in 2 s", rule: func() rule { return fixedWindow(20, 2*time.Second, false, ceil) }, n: 20, per: 2 * time.Second, latency: 50 * ms, lines: 1000, later: 12},
		{name: "20 in 2 s, sliding", rule: func() rule { return slidingWindow(20, 2*time.Second, ceil) }, n: 20, per: 2 * time.Second, latency: 195 * ms, lines: 1000, later: 12},
		{name: "20 in 2 s, aligned", rule: func() rule { return fixedWindow(20, 2*time.Second, true, ceil) }, n: 20, per: 2 * time.Second, latency: 100 * ms, lines: 1000, later: 15},
		{name: "60 in 6 s, silent", rule: func() rule { return fixedWindow(60, 6*time.Second, false, silent) }, n: 60, per: 6 * time.Second, latency: 50 * ms, lines: 1000, later: 20},
		{name: "60 in 6 s, silent, slow", rule: func() rule { return fixedWindow(60, 6*time.Second, false, silent) }, n: 60, per: 6 * time.Second, latency: 195 * ms, lines: 1000, later: 20},
		{name: "60 in 6 s, silent, sliding", rule: func() rule { return slidingWindow(60, 6*time.Second, silent) }, n: 60, per: 6 * time.Second, latency: 50 * ms, lines: 1000, later: 20},
		{name: "60 in 6 s, silent, aligned", rule: func() rule { return fixedWindow(60, 6*time.Second, true, silent) }, n: 60, per: 6 * time.Second, latency: 50 * ms, lines: 1000, later: 20},
		{name: "50 per second, silent", rule: func() rule { return fixedWindow(50, time.Second, false, silent) }, n: 50, per: time.Second, latency: 50 * ms, lines: 5000, later: 100},
		{name: "50 per second, silent, slow", rule: func() rule { return fixedWindow(50, time.Second, false, silent) }, n: 50, per: time.Second, latency: 150 * ms, lines: 5000, later: 100},
		{name: "50 per second, silent, aligned", rule: func() rule { return fixedWindow(50, time.Second, true, silent) }, n: 50, per: time.Second, latency: 50 * ms, lines: 5000, later: 100},
		{name: "50 per second, silent, sliding", rule: func() rule { return slidingWindow(50, time.Second, silent) }, n: 50, per: time.Second, latency: 50 * ms, lines: 5000, later: 100},
		{name: "50 per second, silent, large bucket", rule: func() rule { return tokenBucket(50, time.Second, 50, silent) }, n: 50, per: time.Second, latency: 50 * ms, lines: 5000, later: 100},
		{name: "50 per second, silent, small bucket", rule: func() rule { return tokenBucket(50, time.Second, 5, silent) }, n: 50, per: time.Second, latency: 50 * ms, lines: 5000, later: 100},
		{name: "30 per second, pages", rule: func() rule { return fixedWindow(30, time.Second, false, silent) }, n: 30, per: time.Second, latency: 50 * ms, lines: 3000, later: 60, effect: Walled},
		{name: "30 per second, pages, sliding", rule: func() rule { return slidingWindow(30, time.Second, silent) }, n: 30, per: time.Second, latency: 50 * ms, lines: 3000, later: 60, effect: Walled},
		{name: "20 in 2 s, penalty of 15 s", rule: func() rule {
			return penalty(fixedWindow(20, 2*time.Second, false, silent), 15*time.Second, constant(15*time.Second))
		}, n: 20, per: 2 * time.Second, latency: 130 * ms, lines: 718, later: 0, ratio: 1.25},
		{name: "50 per second, silent, few lines", rule: func() rule { return fixedWindow(50, time.Second, false, silent) }, n: 50, per: time.Second, latency: 24 * ms, lines: 390, later: 8, ratio: 1.25},
		{name: "50 per second, silent, few lines, slow connection", rule: func() rule { return fixedWindow(50, time.Second, false, silent) }, n: 50, per: time.Second, latency: 24 * ms, setup: 700 * ms, lines: 390, later: 8, ratio: 1.25},
		{name: "60 in 6 s, silent, slow connection", rule: func() rule { return fixedWindow(60, 6*time.Second, false, silent) }, n: 60, per: 6 * time.Second, latency: 50 * ms, setup: 700 * ms, lines: 1000, later: 20},
		{name: "10 in 3 s, aligned, begun late", rule: func() rule { return fixedWindow(10, 3*time.Second, true, ceil) }, n: 10, per: 3 * time.Second, latency: 50 * ms, setup: 800 * ms, lines: 60, later: 6, ratio: 1.2},
		{name: "20 in 2 s, aligned, begun late", rule: func() rule { return fixedWindow(20, 2*time.Second, true, ceil) }, n: 20, per: 2 * time.Second, latency: 100 * ms, setup: 800 * ms, lines: 1000, later: 20},
	}
}

// TestQuotas drives the gate against servers with quotas of all kinds. Each quota is used to
// 80% or more. When it is discovered, at most ten requests are refused, or two more than are in
// flight. Later refusals are few. RDAPQ_QUOTAS is the number of seeds.
func TestQuotas(t *testing.T) {
	seeds := testrun.Env(t, "RDAPQ_QUOTAS", 2)
	for _, tt := range quotaCases() {
		for seed := range uint64(seeds) {
			for _, fault := range tt.run(t, seed) {
				t.Errorf("%s, seed %d: %s", tt.name, seed, fault)
			}
		}
	}
}

// run runs a case and returns descriptions of the faults.
func (tt quotaCase) run(t *testing.T, seed uint64) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	synctest.Test(t, func(t *testing.T) {
		h := testHost(Config{Max: 64})
		random := rand.New(rand.NewPCG(seed, 5))
		h.random = func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d))) }
		s := &simulation{h: h, rule: tt.rule(), latency: tt.latency, lines: tt.lines, effect: tt.effect, seed: seed}
		s.setup = tt.setup
		s.run(t)
		s.took -= s.setup
		full := time.Duration(float64(tt.lines) / float64(tt.n) * float64(tt.per))
		if used := full.Seconds() / s.took.Seconds(); used < 0.8 {
			fault("%v, %.0f %% of the quota used", s.took, 100*used)
		}
		if least := full - tt.per; tt.ratio > 0 && s.took.Seconds() > tt.ratio*least.Seconds() {
			fault("%v, the least possible is %v", s.took, least)
		}
		if s.before == 0 || s.before > max(10, s.atFirst+2) {
			fault("%d refused at discovery, when %d were in flight", s.before, s.atFirst)
		}
		if later := len(s.refused) - s.before; later > tt.later {
			fault("%d refused later", later)
		}
		if h.quota == nil || !h.quota.confirmed && !h.quota.costly() {
			fault("learned %+v", h.quota)
		}
	})
	return faults
}

// TestQuotaOfMinute checks that 75 lines at 60 per minute take little more than a minute.
func TestQuotaOfMinute(t *testing.T) {
	for _, wait := range []func(time.Duration) time.Duration{ceil, constant(time.Minute)} {
		synctest.Test(t, func(t *testing.T) {
			s := &simulation{h: testHost(Config{}), rule: fixedWindow(60, time.Minute, false, wait), latency: 50 * time.Millisecond, lines: 75}
			s.run(t)
			if s.took > 72*time.Second || len(s.refused) > 10 {
				t.Errorf("%v, %d refused", s.took, len(s.refused))
			}
		})
	}
}

// A server refuses all requests for a while after a refusal. It refuses once when its quota is
// discovered, and as rarely as possible later. The next run has the quota, although no second
// refusal confirmed it.
func TestQuotaPenalty(t *testing.T) {
	for _, tt := range []struct {
		wait    func(time.Duration) time.Duration
		took    [2]time.Duration // maximum duration; the minimum is 98 s
		refused [2]int           // maximum number of refusals
	}{
		{ceil, [2]time.Duration{125 * time.Second, 108 * time.Second}, [2]int{10, 0}},
		{silent, [2]time.Duration{210 * time.Second, 210 * time.Second}, [2]int{25, 25}},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := limit.NewMemory()
			r := penalty(fixedWindow(20, 2*time.Second, false, silent), 15*time.Second, tt.wait)
			for run := range 2 {
				h := testHost(Config{Store: store})
				s := &simulation{h: h, rule: r, latency: 50 * time.Millisecond, lines: 1000, setup: 500 * time.Millisecond}
				s.run(t)
				h.syncStore()
				if s.took > tt.took[run] || len(s.refused) > tt.refused[run] {
					t.Errorf("run %d: %v, %d refused", run+1, s.took, len(s.refused))
				}
				time.Sleep(20 * time.Second)
			}
		})
	}
}

// TestQuotaLateStart: while a run starts, the client is busy and requests arrive late, in any
// order. A short batch still uses most of the quota, and the next run starts within it.
func TestQuotaLateStart(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name    string
		rule    func() rule
		latency time.Duration
		lines   int
		least   time.Duration
		used    [2]float64 // minimum
		refused int        // maximum in the second run
	}{
		{"penalty", func() rule {
			return penalty(fixedWindow(20, 2*time.Second, false, silent), 15*time.Second, constant(15*time.Second))
		}, 130 * ms, 718, 2 * time.Second * (718 - 20) / 20, [2]float64{0.8, 0.95}, 0},
		{"50 per second", func() rule { return fixedWindow(50, time.Second, false, silent) }, 24 * ms, 390, time.Second * (390 - 50) / 50, [2]float64{0.7, 0.7}, 10},
	} {
		for seed := range uint64(40) {
			synctest.Test(t, func(t *testing.T) {
				store := limit.NewMemory()
				random := rand.New(rand.NewPCG(seed, 9))
				for run := range 2 {
					h := testHost(Config{Max: 64, Store: store})
					s := &simulation{h: h, rule: tt.rule(), latency: tt.latency, lines: tt.lines, seed: seed}
					s.setup = 100*ms + time.Duration(random.Int64N(int64(700*ms)))
					settled, most := time.Now().Add(s.setup+500*ms), random.Int64N(int64(150*ms))+1
					s.stall = func(at time.Time) time.Time {
						if at.Before(settled) {
							return at.Add(time.Duration(random.Int64N(most)))
						}
						return at
					}
					s.run(t)
					h.syncStore()
					h.storeLatency(time.Now())
					if used := tt.least.Seconds() / (s.took - s.accepted[0]).Seconds(); used < tt.used[run] || run == 1 && len(s.refused) > tt.refused {
						t.Errorf("%s, seed %d, run %d: %.0f %% of the quota used, %d refused", tt.name, seed, run+1, 100*used, len(s.refused))
					}
					time.Sleep(time.Minute)
				}
			})
		}
	}
}

// TestQuotaPenaltyLate checks that requests which the server read late, as their responses
// show, cause no penalty.
func TestQuotaPenaltyLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := penalty(fixedWindow(20, 2*time.Second, false, silent), 15*time.Second, ceil)
		from := time.Now().Add(60 * time.Second)
		stall := func(at time.Time) time.Time {
			// Once, the server reads the requests of two seconds at their end.
			if at.After(from) && at.Before(from.Add(2*time.Second)) {
				return from.Add(2 * time.Second)
			}
			return at
		}
		h := testHost(Config{})
		s := &simulation{h: h, rule: r, stall: stall, latency: 50 * time.Millisecond, lines: 1000}
		s.run(t)
		if s.took > 125*time.Second || h.quota.n != 20 || h.quota.span > 2*time.Second {
			t.Errorf("%v, %d refused; the quota is %d in %v", s.took, len(s.refused), h.quota.n, h.quota.span)
		}
		if n := countAfter(s.refused, 55*time.Second); n > 0 {
			t.Errorf("%d refused because of the late requests", n)
		}
	})
}

// The next run starts with the stored limit, and continues the search for an unknown span.
func TestQuotaStored(t *testing.T) {
	for _, tt := range []struct {
		name    string
		rule    rule
		lines   int
		least   time.Duration
		ratio   [2]float64
		refused [2]int
	}{
		{"20 in 2 s", fixedWindow(20, 2*time.Second, false, ceil), 400, 38 * time.Second, [2]float64{1.2, 1.1}, [2]int{12, 4}},
		{"10 in 3 s", slidingWindow(10, 3*time.Second, ceil), 60, 15 * time.Second, [2]float64{1.2, 1.2}, [2]int{10, 0}},
		{"60 in a minute", fixedWindow(60, time.Minute, false, ceil), 180, 2 * time.Minute, [2]float64{1.2, 1.2}, [2]int{10, 0}},
		{"60 in 6 s, silent", fixedWindow(60, 6*time.Second, false, silent), 200, 18 * time.Second, [2]float64{1.5, 1.25}, [2]int{20, 5}},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := limit.NewMemory()
			for run := range 2 {
				h := testHost(Config{Store: store})
				s := &simulation{h: h, rule: tt.rule, latency: 50 * time.Millisecond, lines: tt.lines}
				s.run(t)
				h.syncStore()
				if len(s.refused) > tt.refused[run] || s.took.Seconds() > tt.ratio[run]*tt.least.Seconds() {
					t.Errorf("%s, run %d: %v, the least possible is %v; %d refused", tt.name, run+1, s.took, tt.least, len(s.refused))
				}
				time.Sleep(time.Minute)
			}
		})
	}
}

// Random refusals cost little and do not create a limit. RDAPQ_QUOTAS is the number of
// seeds.
func TestIsolatedRefusals(t *testing.T) {
	for seed := range uint64(testrun.Env(t, "RDAPQ_QUOTAS", 4)) {
		synctest.Test(t, func(t *testing.T) {
			took := map[float64]time.Duration{}
			for _, share := range []float64{0, 0.004, 0.01} {
				store := limit.NewMemory()
				random := rand.New(rand.NewPCG(seed, 4))
				chance := func(time.Time) (bool, time.Duration) { return random.Float64() >= share, time.Second }
				h := testHost(Config{Max: 64, Store: store})
				s := &simulation{h: h, rule: chance, latency: 50 * time.Millisecond, jitter: 20 * time.Millisecond, lines: 20_000, seed: seed}
				s.run(t)
				took[share] = s.took
				if b, err := store.Load(t.Context(), h.name); err != nil || !b.Learned.IsZero() {
					t.Errorf("seed %d, %.1f%% refused: stored %+v", seed, 100*share, b)
				}
			}
			for share, least := range map[float64]float64{0.004: 0.8, 0.01: 0.6} {
				if used := took[0].Seconds() / took[share].Seconds(); used < least {
					t.Errorf("seed %d, %.1f%% refused: %v instead of %v, %.0f%% of the throughput", seed, 100*share, took[share], took[0], 100*used)
				}
			}
		})
	}
}
