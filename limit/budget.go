package limit

import (
	"context"
	"slices"
	"time"
)

// A Budget holds the observed limits and usage of one server, or of one group of hosts.
type Budget struct {
	Until   time.Time // no request may be sent before this time; zero means no pause
	Paused  time.Time // when Until was set
	Learned Rate      // limit that the server's responses showed; zero means none
	Seen    time.Time // when Learned was observed, or refuted if Learned is zero
	Used    []Usage   // requests that may still count against a limit, oldest first

	// Least is a span in which Learned.N requests were refused; zero means unknown.
	Least time.Duration
	// Penalty is how long the server refuses all requests once Learned is exceeded. Zero means
	// until Learned allows more.
	Penalty time.Duration
	// Took is the average time to a response over an open connection, measured at
	// Measured; zero means unknown.
	Took     time.Duration
	Measured time.Time
}

// A Usage counts requests that were sent at about the same time.
type Usage struct {
	At time.Time // latest time at which the server may have counted the requests
	N  int       // number of requests
}

// A Store keeps budgets between runs and shares them between programs, for example in a
// file ([File]) or in a database. It must be safe for concurrent use.
//
// A Client calls the store without a lock, so the store may be slow, and may call the Client.
// The first request to a server waits for Load, one second at most. All other calls are made in
// the background. The context of a call has a deadline and no values of a request. An error
// fails no query: the Client logs the first one as a warning, and continues with the budgets that
// it has in memory.
type Store interface {
	// Load returns the budget of the server or group of that name, and the zero Budget if the
	// store has none.
	Load(ctx context.Context, name string) (Budget, error)
	// Add merges b into the stored budget, as [Budget.Merge] does. The caller does not change b
	// afterwards.
	Add(ctx context.Context, name string, b Budget) error
	// Flush writes all pending data. The end of a Batch and Client.Close call it, and Close
	// returns its error.
	Flush(ctx context.Context) error
}

// Limits of the values in a Budget.
const (
	MaxPause   = 24 * time.Hour // longest pause in Budget.Until, from now
	LearnedFor = time.Hour      // age of Budget.Seen at which Learned expires

	measuredFor = 7 * 24 * time.Hour // age of Budget.Measured at which Took expires
	maxTook     = time.Minute
)

// Limits of the data in a store.
const (
	maxUsages  = 128  // maximum number of Usages per name
	maxBudgets = 1000 // maximum number of names
)

// Merge returns b with d added: it has the later Until, the newer Learned and both Used. Merge
// drops data that has expired at now.
func (b Budget) Merge(d Budget, now time.Time) Budget {
	if d.Until.After(b.Until) {
		b.Until, b.Paused = d.Until, d.Paused
	}
	if d.Seen.After(b.Seen) {
		b.Learned, b.Seen, b.Least, b.Penalty = d.Learned, d.Seen, d.Least, d.Penalty
	}
	if d.Measured.After(b.Measured) {
		b.Took, b.Measured = d.Took, d.Measured
	}
	b.Used = append(slices.Clone(b.Used), d.Used...)
	slices.SortFunc(b.Used, func(x, y Usage) int { return x.At.Compare(y.At) })
	return b.prune(now)
}

// prune drops expired and impossible values.
func (b Budget) prune(now time.Time) Budget {
	if !b.Until.After(now) || b.Until.Sub(now) > MaxPause {
		b.Until, b.Paused = time.Time{}, time.Time{}
	}
	if now.Sub(b.Seen) > LearnedFor || b.Seen.After(now.Add(time.Minute)) {
		b.Learned, b.Seen = Rate{}, time.Time{}
	}
	if b.Learned.IsZero() {
		// Keep Seen, so that an older limit in another store does not return.
		b.Least, b.Penalty = 0, 0
	}
	if b.Took <= 0 || b.Took > maxTook || now.Sub(b.Measured) > measuredFor || b.Measured.After(now.Add(time.Minute)) {
		b.Took, b.Measured = 0, time.Time{}
	}
	b.Used = slices.DeleteFunc(b.Used, func(u Usage) bool {
		return u.N <= 0 || now.Sub(u.At) > MaxPer || u.At.After(now.Add(time.Minute))
	})
	for len(b.Used) > maxUsages {
		b.Used[1].N += b.Used[0].N
		b.Used = b.Used[1:]
	}
	return b
}

func (b Budget) empty() bool { return b.limitless() && b.Seen.IsZero() && b.Took == 0 }

// limitless reports whether b holds no requests back.
func (b Budget) limitless() bool {
	return b.Until.IsZero() && b.Learned.IsZero() && len(b.Used) == 0
}

// last returns the time of the last change of b.
func (b Budget) last() time.Time {
	t := b.Seen
	if b.Paused.After(t) {
		t = b.Paused
	}
	if n := len(b.Used); n > 0 && b.Used[n-1].At.After(t) {
		t = b.Used[n-1].At
	}
	if b.limitless() && b.Measured.After(t) {
		t = b.Measured
	}
	return t
}

// older reports whether b must be dropped before c. Budgets without a limit are dropped first.
func (b Budget) older(c Budget) bool {
	if x, y := b.limitless(), c.limitless(); x != y {
		return x
	}
	return b.last().Before(c.last())
}

// Merge adds b to the budget of that name. It deletes a budget with nothing left in it, and the
// oldest budget if there are too many.
func Merge(budgets map[string]Budget, name string, b Budget, now time.Time) {
	if b = budgets[name].Merge(b, now); b.empty() {
		delete(budgets, name)
		return
	}
	budgets[name] = b
	if len(budgets) <= maxBudgets {
		return
	}
	oldest := name
	for n, other := range budgets {
		if other.older(budgets[oldest]) {
			oldest = n
		}
	}
	delete(budgets, oldest)
}
