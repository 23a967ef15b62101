package limit

import (
	"context"
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

// Load implements [Store]. The error is always nil.
func (m *Memory) Load(_ context.Context, name string) (Budget, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.budgets[name]
	b.Used = slices.Clone(b.Used)
	return b, nil
}

// Add implements [Store]. The error is always nil.
func (m *Memory) Add(_ context.Context, name string, b Budget) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	Merge(m.budgets, name, b, time.Now())
	return nil
}

// Flush implements [Store]. It does nothing.
func (m *Memory) Flush(context.Context) error { return nil }
