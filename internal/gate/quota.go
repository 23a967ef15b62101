package gate

import (
	"math"
	"time"

	"github.com/rdapq/rdapq/limit"
)

// A quota is a limit that was learned from a server's refusals: n requests are
// accepted in any span. It is used fully from the start, paced, and tested with
// shorter spans: a test sends single requests beyond what the quota allows. If
// they are accepted the shorter span becomes the quota, and the next test
// follows; a refusal ends the test and confirms the quota. Tests that fail become
// rarer.
type quota struct {
	n         int
	span      time.Duration
	low       time.Duration // n in this span were refused; 0: not known
	confirmed bool          // a second refusal agrees with it; it is stored then
	even      bool          // the server does not take n faster than over the whole span

	test    time.Duration // the span that is tested; 0: none is
	began   time.Time     // when the first request beyond the quota was sent in this test
	testing int           // of those, the ones in flight
	passed  int           // and the ones that were accepted
	pause   time.Duration // after the last refusal
	streak  int           // tests passed in a row
	before  time.Duration // the span before the last test that passed, until it has proved itself
	proved  time.Time     // when it will have
	fails   int           // tests that failed
	testAt  time.Time     // the next test begins then

	misses   int  // isolated refusals in this test
	declined bool // the next test is not worth a refusal

	opened time.Time // when the window began in which the last refusal came
	last   time.Time // sending of the last refused request
	slot   time.Time // the next request is not sent before
	bound  time.Time // when the quota last held a request back
}

// Settings of a [quota].
const (
	testFirst  = 4    // the first test divides the span by this
	testNext   = 1.5  // later ones
	testCostly = 1.35 // later ones where a refusal is costly
	testNarrow = 1.2  // a span is known well enough when it is this many times low
	testRare   = 0.85 // tests of a span that is known well enough multiply it by this
	testOdd    = 16   // one isolated refusal in so many requests does not fail a test
	testEnough = 64   // requests beyond the quota that pass a test, at most
	testPause  = 16   // the span is hardly shorter than the pause after a refusal divided by this
	testChance = 0.1  // that a test passes, at least
	testHold   = 8    // spans and pauses between tests, doubled with each that failed

	spreadOver = 4 // requests are spread over the span divided by this
	spreadOpen = 2 // the same while the span is known only roughly

	quotaNear  = 0.8 // a refusal when this part of the quota is used is due to the quota
	retrySlack = time.Second / 2
)

// slack is added to the span, so that requests that take different times to the
// server do not exceed the quota there.
func slack(span time.Duration) time.Duration {
	return min(max(50*time.Millisecond, span/100), span/20)
}

// slack is larger where a refusal is costly: a busy server takes in requests late.
func (q *quota) slack(span time.Duration) time.Duration {
	if q.costly() {
		return min(span*3/40, time.Second/2)
	}
	return slack(span)
}

func (q *quota) rate() limit.Rate { return limit.Rate{N: q.n, Per: q.span + q.slack(q.span)} }

// interval is the time between two requests that are sent at the quota's pace.
func (q *quota) interval() time.Duration {
	over := q.span / spreadOver
	if q.confirmed && q.open() {
		over = q.span / spreadOpen
	}
	switch {
	case q.even && q.test > 0:
		over = q.test + q.slack(q.test)
	case q.even:
		over = q.span + q.slack(q.span)
	case q.test > 0:
		over = min(over, q.test)
	}
	return over / time.Duration(q.n)
}

// allow decides about a request when so many wait. An excess request goes beyond the quota, to test it. If the request may
// not be sent, at is when it may; zero: when another request has ended.
func (q *quota) allow(now time.Time, w *window, waiting int) (ok, excess bool, at time.Time) {
	q.begin(now, waiting)
	r := q.rate()
	n, at := w.free(now, r)
	paced := q.even || waiting <= 0 || waiting > n
	if n > 0 {
		if paced && q.slot.After(now) {
			return false, false, q.slot
		}
		return true, false, time.Time{}
	}
	q.bound = now
	if q.test > 0 {
		if q.testing > q.passed/4 {
			return false, false, time.Time{}
		}
		free, then := w.within(now, limit.Rate{N: q.n, Per: q.test + q.slack(q.test)})
		if free > 0 {
			then = q.slot
			if !then.After(now) {
				return true, true, time.Time{}
			}
		}
		if at.IsZero() || then.Before(at) {
			at = then
		}
	}
	return false, false, at
}

// begin starts a test if it is time for one, when so many requests wait.
func (q *quota) begin(now time.Time, waiting int) {
	if q.test > 0 || now.Before(q.testAt) {
		return
	}
	next := q.next()
	if q.costly() && !q.worth(next, waiting) {
		q.declined = true
		return
	}
	q.passed, q.misses, q.began, q.declined = 0, 0, time.Time{}, false
	q.test = next
}

// next is the span that is tested next.
func (q *quota) next() time.Duration {
	if !q.open() {
		return time.Duration(float64(q.span) * testRare)
	}
	factor, shortest := testNext, math.Sqrt(float64(q.low)*float64(q.span))
	switch {
	case q.streak == 0 && q.fails == 0:
		factor, shortest = testFirst, 0
	case q.low > 0 && float64(q.span) <= testNarrow*float64(q.low):
		shortest = 0 // what refused that may have been something else
	case q.costly():
		factor = testCostly
	}
	next := time.Duration(max(float64(q.span)/factor, shortest))
	if q.costly() {
		next = wholeSeconds(next, q.span)
	}
	return next
}

// wholeSeconds rounds a span that is to be shorter than another one to seconds,
// which most limits are stated in.
func wholeSeconds(d, below time.Duration) time.Duration {
	if d < time.Second {
		return d
	}
	if up := ceilTo(d, time.Second); float64(up) < 0.9*float64(below) {
		return up
	}
	return d.Truncate(time.Second)
}

func ceilTo(d, unit time.Duration) time.Duration { return (d + unit - 1).Truncate(unit) }

// costly reports whether a refusal costs more than two spans.
func (q *quota) costly() bool { return q.pause > 2*q.span }

// worth reports whether a test of a shorter span is expected to gain more time
// than a refusal costs, when so many requests wait. The true span is taken to be
// anywhere between the one known and the shortest possible one, on a scale of
// ratios: a server that refuses for a long time counts over no short one.
func (q *quota) worth(test time.Duration, waiting int) bool {
	if waiting <= 0 {
		return true // not known
	}
	shortest := max(float64(q.low), float64(q.pause)/testPause)
	chance := testChance
	if span := float64(q.span); span > shortest {
		chance = max(chance, 1-math.Log(span/float64(test))/math.Log(span/shortest))
	}
	gain := float64(waiting) / float64(q.n) * float64(q.span-test)
	return chance*gain > (1-chance)*float64(q.pause)
}

// open reports whether the span is known only roughly.
func (q *quota) open() bool {
	if q.low == 0 {
		return !q.confirmed || q.streak > 0
	}
	return !q.confirmed || float64(q.span) > testNarrow*float64(q.low)
}

// sent notes that a request goes out.
func (q *quota) sent(now time.Time, excess bool) {
	if excess {
		if q.testing++; q.began.IsZero() {
			q.began = now
		}
	}
	d := q.interval()
	if behind := now.Add(-2*d - time.Millisecond); q.slot.Before(behind) {
		q.slot = behind
	}
	q.slot = q.slot.Add(d)
}

// accepted notes an accepted request.
func (q *quota) accepted(now time.Time, excess bool) (raised bool) {
	if !excess || q.test == 0 {
		return false
	}
	long := q.test
	if q.confirmed {
		long = 2 * q.span // the beginning of a window of the server must not decide
	}
	if q.passed++; q.passed < min(max(2, q.n/2), testEnough) || now.Sub(q.began) < long {
		return false
	}
	q.before, q.proved = q.span, now.Add(4*q.span)
	q.span, q.test, q.testAt = q.test, 0, now
	if q.low >= q.span {
		q.low = 0
	}
	q.streak++
	return true
}

// missed notes that a request beyond the quota was refused between successes. One
// such refusal may be an accident. It reports whether the test has failed.
func (q *quota) missed(now time.Time) bool {
	if q.test == 0 {
		return false
	}
	if q.misses++; q.misses < 2 || q.misses <= q.passed/testOdd {
		return false
	}
	q.low = max(q.low, min(q.test, q.span))
	q.confirmed = true
	q.over(now, 0)
	return true
}

// occupied is how many requests that take so long are in flight while the quota is
// tested.
func (q *quota) occupied(latency time.Duration) int {
	return int(1.5 * float64(q.n) * float64(latency) / float64(q.span))
}

// idle reports whether an unconfirmed quota does not hold anything back.
func (q *quota) idle(now time.Time) bool {
	return !q.confirmed && now.Sub(q.bound) > 4*q.span+time.Second
}

// refused learns from a refusal when used requests had been accepted in the span,
// the first of them elapsed ago. wait is the server's Retry-After, pause how long
// the host pauses.
func (q *quota) refused(now time.Time, used int, elapsed, wait, pause time.Duration) {
	q.pause, q.bound = pause, now.Add(pause)
	window := time.Duration(0) // as long as the server says
	if wait > 0 {
		window = elapsed + wait - retrySlack
	}
	if q.test > 0 && used >= q.n {
		q.low = max(q.low, min(q.test, q.span))
		if !q.confirmed && window > q.span*3/4 && window < q.span*13/10 {
			q.span = min(q.span, max(window, q.low)) // the server's word agrees
			q.low = q.span
		}
		q.confirmed = true
		q.over(now, pause)
		return
	}
	switch {
	case q.before > 0 && now.Before(q.proved):
		q.low = max(q.low, min(q.span, q.before))
		q.span = q.before
	case float64(used) >= quotaNear*float64(q.n) && (q.confirmed || !q.proved.IsZero()):
		q.span += max(q.span/16, time.Millisecond)
		q.spread()
	case !q.confirmed && used < q.n:
		q.n = max(used, 1)
		if window > q.span {
			q.span = min(window, 2*q.span)
		}
	case !q.confirmed && window > q.span:
		q.span = min(window, 2*q.span)
		q.confirmed = true
	default:
		q.n = max(used, q.n/2, 1)
	}
	q.before = 0
	q.over(now, pause)
}

// over ends a test that failed.
func (q *quota) over(now time.Time, pause time.Duration) {
	q.test, q.passed, q.streak = 0, 0, 0
	if q.open() && pause <= 2*q.span {
		q.testAt = now
		q.fails++
		return
	}
	hold := max(q.span, pause) * testHold
	if pause > 2*q.span {
		hold *= 4
	}
	q.testAt = now.Add(min(hold<<min(q.fails, 6), maxHold))
	q.fails++
}

// maxHold bounds the time between two tests.
const maxHold = 15 * time.Minute

// resumed notes that a request is accepted after several refusals in a row, which
// took so long.
func (q *quota) resumed(sent time.Time, took time.Duration) {
	elapsed := sent.Sub(q.opened)
	switch {
	case elapsed <= q.span:
	case elapsed <= 2*q.span:
		// The server's window may have begun after the requests that count here.
		q.span = min(elapsed, q.span*5/4)
	default: // the server punished the refusal
		q.pause = took
		q.testAt = sent.Add(min(testHold*4*took, maxHold))
		q.test = 0
	}
}

// odd notes that isolated refusals recur although the quota is kept to: it is
// spread out, and if it was already, it is lowered.
func (q *quota) spreadIsolated(now time.Time) {
	if q.even {
		q.span += q.span / 16
	}
	q.spread()
	q.over(now, 0)
}

// spread makes the requests evenly spaced: the server does not take as many in a
// part of the span.
func (q *quota) spread() {
	q.even, q.confirmed = true, true
	if q.span < time.Second {
		k := int(time.Second/q.span) + 1
		q.n, q.span, q.low = q.n*k, q.span*time.Duration(k), q.low*time.Duration(k)
	}
}
