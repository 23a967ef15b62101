package limit

import (
	"slices"
	"sync"
	"time"
)

// A Memory is a [Store] that lasts as long as the program. Several Clients may
// share it.
type Memory struct {
	mu      sync.Mutex
	budgets map[string]Budget
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{budgets: make(map[string]Budget)} }

// Load implements [Store].
func (m *Memory) Load(name string) (Budget, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.budgets[name]
	b.Used = slices.Clone(b.Used)
	return b, ok
}

// Add implements [Store].
func (m *Memory) Add(name string, b Budget) {
	m.mu.Lock()
	defer m.mu.Unlock()
	Merge(m.budgets, name, b, time.Now())
}

// Flush implements [Store]. It does nothing.
func (m *Memory) Flush() error { return nil }
