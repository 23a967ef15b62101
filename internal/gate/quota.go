package gate

import (
	"math"
	"time"

	"github.com/rdapq/rdapq/limit"
)

// A quota is a limit that was learned from refusals: n requests are accepted in any span.
// Pacing spreads the requests so that they use the quota fully. Tests of shorter spans send
// single requests beyond the quota. If the server accepts them, the shorter span becomes the
// quota and the next test follows. A refusal ends the test and confirms the quota. After
// failures the tests become rarer.
type quota struct {
	n         int
	span      time.Duration
	low       time.Duration // span in which n requests were refused; 0 means unknown
	confirmed bool          // a second refusal has confirmed the quota, which is then stored
	even      bool          // requests are spread over the whole span
	early     int           // number of costly refusals of requests that came too early for a new window
	corrected int           // number of times that n was lowered because it counted two windows
	stated    bool          // Retry-After showed the span

	// State of the running test.
	test    time.Duration // span under test; 0 means no test
	began   time.Time     // when the test began
	testing int           // number of requests beyond the quota in flight
	passed  int           // number of requests beyond the quota that were accepted
	during  int           // number of requests of the test that were accepted
	misses  int           // number of isolated refusals

	// Results of earlier tests, and when the next test begins.
	streak int           // number of tests passed in a row
	before time.Duration // span before the last passed test, until proved
	proved time.Time     // when the new span counts as proved
	fails  int           // number of tests that failed
	holds  int           // number of times that tests were postponed
	testAt time.Time     // when the next test begins

	// The last refusal, and the times of requests.
	pause  time.Duration // pause after the last refusal
	opened time.Time     // when the window of the last refusal began
	slot   time.Time     // no request is sent before this time
	bound  time.Time     // when the quota last held a request back
}

// Settings of a [quota].
const (
	testFirst    = 5    // the first test divides the span by this factor
	testNext     = 1.5  // later tests divide the span by this factor
	testCostly   = 1.35 // later tests divide the span by this factor if a refusal is costly
	testNarrow   = 1.2  // a span is known well enough when it is at most this many times low
	testRare     = 0.85 // tests multiply a span that is known well enough by this factor
	testIsolated = 16   // one isolated refusal in this many requests does not fail a test
	testReached  = 0.75 // a test passes if the accepted rate was at least this fraction of the tested rate
	testLong     = 8    // maximum number of spans that a test lasts
	testEnough   = 64   // maximum number of requests beyond the quota that pass a test
	testPause    = 16   // the span is hardly shorter than this fraction of the pause after a refusal
	testChance   = 0.1  // minimum probability that a test passes
	testHold     = 8    // number of spans and pauses between tests; doubled with each failed test

	spreadOver = 4 // requests are spread over the span divided by this number
	spreadOpen = 2 // replaces spreadOver while the span is known only roughly

	maxEarly    = 2  // more refusals have another cause than a late request
	marginEarly = 32 // this part of the span is added after each

	maxCorrected = 2 // maximum number of corrections of n; later refusals have another cause

	quotaNear = 0.8 // if this fraction of the quota is used, the quota explains a refusal
)

// slack returns the margin that is added to the span. Requests with different latency
// must not exceed the quota at the server.
func slack(span time.Duration) time.Duration {
	return min(max(50*time.Millisecond, span/100), span/20)
}

// slack returns a smaller margin if a refusal is costly, because Host.late allows for late
// requests.
func (q *quota) slack(span time.Duration) time.Duration {
	if q.costly() {
		return min(span/100, time.Second/2)
	}
	return slack(span)
}

func (q *quota) rate() limit.Rate { return limit.Rate{N: q.n, Per: q.span + q.slack(q.span)} }

// interval returns the time between two paced requests.
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
	case q.test > 0 && q.stated && !q.confirmed:
		over = q.test / spreadOver
	case q.test > 0:
		over = min(over, q.test)
	}
	return over / time.Duration(q.n)
}

// allow decides whether to send a request. waiting is the number of waiting lookups. An excess
// request goes beyond the quota, to test it. If the request must wait, at is when it may be
// sent; zero means when another request has ended.
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
		if q.testing > q.trusted()/4 {
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

// trusted returns how many requests beyond the quota were accepted. The first n requests of a test
// do not count, because the server may accept them in one window.
func (q *quota) trusted() int {
	return min(q.passed, max(q.during-q.n, 0)) + q.streak*q.n/2
}

// begin starts a test if its time has come and it is worth its cost. waiting is the number of waiting
// lookups.
func (q *quota) begin(now time.Time, waiting int) {
	if q.test > 0 || now.Before(q.testAt) {
		return
	}
	next := q.next()
	if q.costly() && !q.worth(next, waiting) {
		return
	}
	q.passed, q.during, q.misses, q.began = 0, 0, 0, now
	q.test = next
}

// next returns the span of the next test.
func (q *quota) next() time.Duration {
	if !q.open() {
		return time.Duration(float64(q.span) * testRare)
	}
	factor, shortest := testNext, math.Sqrt(float64(q.low)*float64(q.span))
	switch {
	case q.streak == 0 && q.fails == 0:
		factor, shortest = testFirst, 0
	case q.low > 0 && float64(q.span) <= testNarrow*float64(q.low):
		shortest = 0 // the refusals at low may have had another cause
	case q.costly():
		factor = testCostly
	}
	next := time.Duration(max(float64(q.span)/factor, shortest))
	if q.costly() {
		next = wholeSeconds(next, q.span)
	}
	return next
}

// wholeSeconds rounds d to seconds, but keeps it below another span. Most limits are stated in
// seconds.
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

// worth reports whether a test is expected to save more time than a refusal costs. waiting is
// the number of waiting lookups. The model assumes that the logarithm of the true span is
// uniform between the shortest possible span and the known span. A server with a long penalty
// has no short span.
func (q *quota) worth(test time.Duration, waiting int) bool {
	if waiting <= 0 {
		return true // the number of waiting lookups is unknown
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

// sent records that a request is sent.
func (q *quota) sent(now time.Time, excess bool) {
	if excess {
		q.testing++
	}
	d := q.interval()
	if behind := now.Add(-2*d - time.Millisecond); q.slot.Before(behind) {
		q.slot = behind
	}
	q.slot = q.slot.Add(d)
}

// accepted records an accepted request, and reports whether the quota was raised. A test passes
// if the server accepted more requests than the quota allows, at the rate under test. The
// windows of the server may begin at any time.
func (q *quota) accepted(sent, now time.Time, excess bool) (raised bool) {
	if q.test == 0 || sent.Before(q.began) {
		return false
	}
	q.during++
	if !excess {
		return false
	}
	if q.passed++; q.passed < min(max(2, q.n/2), testEnough) {
		return false
	}
	spans := float64(now.Sub(q.began)) / float64(q.span)
	windows := spans + 2 // the windows at both ends of the test count in part
	if q.stated && !q.confirmed {
		windows = spans + 1 // the test began with a window
	}
	allowed := float64(q.n) * windows
	tested := float64(q.n) * float64(now.Sub(q.began)) / float64(q.test)
	if during := float64(q.during); during <= allowed && spans < testLong || during < testReached*tested {
		if spans > testLong {
			q.began, q.during = now, 0 // something else kept the requests within the quota
		}
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

// missed records an isolated refusal of a request beyond the quota, and reports whether the
// test has failed. A single isolated refusal may be chance.
func (q *quota) missed(sent, now time.Time) bool {
	if q.test == 0 || sent.Before(q.began) {
		return false
	}
	if q.misses++; q.misses < 2 || q.misses <= q.passed/testIsolated {
		return false
	}
	q.low = max(q.low, min(q.test, q.span))
	q.confirmed = true
	q.over(now, 0)
	return true
}

// occupied returns how many requests of that latency are in flight during a test.
func (q *quota) occupied(latency time.Duration) int {
	return int(1.5 * float64(q.n) * float64(latency) / float64(q.span))
}

// idle reports whether an unconfirmed quota has held no request back recently.
func (q *quota) idle(now time.Time) bool {
	return !q.confirmed && now.Sub(q.bound) > 4*q.span+time.Second
}

// refused learns from a refusal. used is the number of requests accepted in the span, and
// elapsed the age of the first of them. wait is the Retry-After, and pause the pause of the
// host.
func (q *quota) refused(sent, now time.Time, used int, elapsed, wait, pause time.Duration) {
	q.pause, q.bound = pause, now.Add(pause)
	window := time.Duration(0) // window that Retry-After states
	if wait > 0 {
		window = statedWindow(elapsed, wait)
	}
	if q.test > 0 && sent.Before(q.began) {
		q.test, q.testAt = 0, now.Add(pause) // the refusal shows nothing about this test
		return
	}
	if q.test > 0 && used >= q.n {
		q.low = max(q.low, min(q.test, q.span))
		switch {
		case wait-time.Second >= q.span && !q.costly():
			q.span = min(window, 2*q.span) // Retry-After, rounded up, is longer than the span
		case !q.confirmed && window > q.span*3/4 && window < q.span*13/10:
			q.span = min(q.span, max(window, q.low)) // Retry-After confirms the span
			q.low = q.span
		}
		q.confirmed = true
		q.over(now, pause)
		return
	}
	switch {
	case q.costly() && float64(used) >= quotaNear*float64(q.n) && (q.confirmed || !q.proved.IsZero()) && q.early < maxEarly:
		// The server probably read a request late, and the next window began too early for it.
		q.early++
		q.span += q.span / marginEarly
		q.over(now, pause)
		return
	case q.before > 0 && now.Before(q.proved):
		q.low = max(q.low, min(q.span, q.before))
		q.span = q.before
	case float64(used) >= quotaNear*float64(q.n) && used < q.n && q.confirmed && !q.even && q.corrected < maxCorrected:
		// The count contained requests of two windows of the server.
		q.low = q.low * time.Duration(used) / time.Duration(q.n)
		q.n, q.before, q.holds = used, 0, 0
		q.corrected++
		q.over(now, pause)
		return
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

// statedWindow returns the span of a window that began elapsed before a refusal with the
// Retry-After wait. Most windows are whole seconds, and servers round Retry-After up.
func statedWindow(elapsed, wait time.Duration) time.Duration {
	const inaccuracy = time.Second / 10 // maximum error of elapsed
	return max((elapsed + wait + inaccuracy).Truncate(time.Second), time.Second)
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
	q.testAt = now.Add(min(hold<<min(q.holds, 6), maxHold))
	q.fails++
	if q.holds++; q.holds > 1 && !q.even && q.confirmed {
		q.spread() // the server may accept fewer requests in a part of the span
	}
}

// maxHold limits the time between two tests.
const maxHold = 15 * time.Minute

// resumed records the first accepted request after a series of refusals. took is the
// duration of the series.
func (q *quota) resumed(sent time.Time, took time.Duration) {
	elapsed := sent.Sub(q.opened)
	switch {
	case elapsed <= q.span:
	case elapsed <= 2*q.span:
		// The window of the server may have begun later than assumed.
		q.span = min(elapsed, q.span*5/4)
	default: // the server imposes a penalty
		q.pause = took
		q.testAt = sent.Add(min(testHold*4*took, maxHold))
		q.test = 0
	}
}

// spreadIsolated records that isolated refusals recur within the quota. It spreads the requests
// evenly, and lowers the quota if the requests were spread already.
func (q *quota) spreadIsolated(now time.Time, b burst) {
	if q.even {
		factor := 1 + 1.0/16
		if b.limited() {
			factor = max(factor, 1+float64(b.refused)/float64(b.accepted+1))
		}
		q.span = time.Duration(float64(q.span) * factor)
	}
	q.spread()
	q.over(now, 0)
}

// spread spaces the requests evenly, because the server accepts fewer requests in a part of the
// span.
func (q *quota) spread() {
	if !q.even {
		q.holds = 0 // earlier tests failed because the requests were not spread
	}
	q.even, q.confirmed = true, true
	if q.span < time.Second {
		k := int(time.Second/q.span) + 1
		q.n, q.span, q.low = q.n*k, q.span*time.Duration(k), q.low*time.Duration(k)
	}
}
