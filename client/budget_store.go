package client

import (
	"slices"
	"sync"
	"time"
)

// A Budget is what is known from the past of the limits of one server, or one
// group of hosts.
type Budget struct {
	Until   time.Time // nothing is to be asked before; zero: it may be asked
	Paused  time.Time // when Until was set
	Learned Rate      // a limit that the server made known; zero: none
	Seen    time.Time // when Learned was learned
	Used    []Use     // requests that may still count against a limit, oldest first

	// Least is a span in which Learned.N requests were refused; zero: none is known.
	Least time.Duration
	// Penalty is how long the server refuses everything when Learned is exceeded;
	// zero: not longer than until Learned allows more.
	Penalty time.Duration
	// Took is the time to a response over an open connection, on average, as
	// Measured then; zero: not known.
	Took     time.Duration
	Measured time.Time
}

// A Use is a number of requests that were made at about one time.
type Use struct {
	At time.Time // when they had been answered, at the latest
	N  int
}

// A BudgetStore keeps budgets between runs and shares them between programs.
// It must be safe for concurrent use, and quick: it is called on the way to
// requests that a limit counts.
type BudgetStore interface {
	// Load returns what is known of the server or group of that name.
	Load(name string) (Budget, bool)
	// Add adds to what is known: the later Until and the newer Learned hold, and
	// Used comes on top of what was used. The Budget is not changed afterwards.
	Add(name string, b Budget)
	// Flush makes lasting what is not yet. The end of a Batch and Client.Close
	// call it.
	Flush() error
}

// Bounds of what a store keeps.
const (
	maxUses    = 128  // of one name
	maxBudgets = 1000 // names

	measuredFor = 7 * 24 * time.Hour // how long Budget.Took holds
	maxTook     = time.Minute
)

// merge adds d to b.
func (b Budget) merge(d Budget, now time.Time) Budget {
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
	slices.SortFunc(b.Used, func(x, y Use) int { return x.At.Compare(y.At) })
	return b.prune(now)
}

// prune drops what counts no longer, and what cannot be true.
func (b Budget) prune(now time.Time) Budget {
	if !b.Until.After(now) || b.Until.Sub(now) > maxPause {
		b.Until, b.Paused = time.Time{}, time.Time{}
	}
	if b.Learned.IsZero() || now.Sub(b.Seen) > learnedFor || b.Seen.After(now.Add(time.Minute)) {
		b.Learned, b.Seen, b.Least, b.Penalty = Rate{}, time.Time{}, 0, 0
	}
	if b.Took <= 0 || b.Took > maxTook || now.Sub(b.Measured) > measuredFor || b.Measured.After(now.Add(time.Minute)) {
		b.Took, b.Measured = 0, time.Time{}
	}
	b.Used = slices.DeleteFunc(b.Used, func(u Use) bool {
		return u.N <= 0 || now.Sub(u.At) > maxRatePer || u.At.After(now.Add(time.Minute))
	})
	for len(b.Used) > maxUses {
		b.Used[1].N += b.Used[0].N
		b.Used = b.Used[1:]
	}
	return b
}

func (b Budget) empty() bool { return b.limitless() && b.Took == 0 }

// limitless reports whether b knows of nothing that holds requests back.
func (b Budget) limitless() bool {
	return b.Until.IsZero() && b.Learned.IsZero() && len(b.Used) == 0
}

// last is when something of b happened last.
func (b Budget) last() time.Time {
	t := b.Seen
	if b.Paused.After(t) {
		t = b.Paused
	}
	if n := len(b.Used); n > 0 && b.Used[n-1].At.After(t) {
		t = b.Used[n-1].At
	}
	if b.limitless() {
		t = b.Measured
	}
	return t
}

// older reports whether b is forgotten before c: what only tells the time of a
// response goes first.
func (b Budget) older(c Budget) bool {
	if x, y := b.limitless(), c.limitless(); x != y {
		return x
	}
	return b.last().Before(c.last())
}

// NewBudgetMemory returns a store that lives as long as the program, to be
// shared by several Clients.
func NewBudgetMemory() BudgetStore { return newBudgetMemory() }

type budgetMemory struct {
	mu    sync.Mutex
	known map[string]Budget
}

func newBudgetMemory() *budgetMemory { return &budgetMemory{known: make(map[string]Budget)} }

func (m *budgetMemory) Load(name string) (Budget, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.known[name]
	b.Used = slices.Clone(b.Used)
	return b, ok
}

func (m *budgetMemory) Add(name string, b Budget) {
	m.mu.Lock()
	defer m.mu.Unlock()
	addBudget(m.known, name, b, time.Now())
}

func (m *budgetMemory) Flush() error { return nil }

// addBudget merges b into known and keeps known bounded.
func addBudget(known map[string]Budget, name string, b Budget, now time.Time) {
	if b = known[name].merge(b, now); b.empty() {
		delete(known, name)
		return
	}
	known[name] = b
	if len(known) <= maxBudgets {
		return
	}
	oldest := name
	for n, other := range known {
		if other.older(known[oldest]) {
			oldest = n
		}
	}
	delete(known, oldest)
}
