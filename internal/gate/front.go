package gate

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rdapq/rdapq/internal/callback"
	"github.com/rdapq/rdapq/limit"
)

// A front keeps the content of a user's [limit.Store] in memory, so that its methods may be
// called under Host.mu. It calls the store without a lock, because the store may be slow, and
// may call back into the Client.
type front struct {
	store limit.Store

	mu    sync.Mutex
	known map[string]limit.Budget // content of the store, and pending additions
	// names whose first Load has begun; each channel is closed when the Load has ended
	loading map[string]chan struct{}
	pending map[string]limit.Budget // budgets to add to the store
	pumped  chan struct{}           // closed when pending is empty; nil if it is
	failed  error                   // error of a store that panicked

	flushing bool // flushInBackground is running
}

// loadWait limits the wait for a Load that another lookup has begun. The store may itself wait
// for the waiting lookup.
const loadWait = time.Second

// flushWait limits how long Flush waits for pending changes.
const flushWait = 10 * time.Second

// frontFor returns a store that may be called under Host.mu. The stores of package limit need
// no front, because they do no I/O in Load and Add.
func frontFor(s limit.Store) limit.Store {
	switch s.(type) {
	case *limit.Memory, *limit.File:
		return s
	}
	return &front{
		store: s, known: make(map[string]limit.Budget), loading: make(map[string]chan struct{}),
		pending: make(map[string]limit.Budget),
	}
}

// prepare loads the budget of a name once. Callers must call it before Load, and without a
// lock.
func (f *front) prepare(name string) {
	f.mu.Lock()
	loaded, begun := f.loading[name]
	if !begun {
		if len(f.loading) >= 2*maxIdleHosts {
			clear(f.loading)
			clear(f.known)
		}
		loaded = make(chan struct{})
		f.loading[name] = loaded
	}
	f.mu.Unlock()
	if begun {
		select {
		case <-loaded:
			return
		default:
		}
		timer := time.NewTimer(loadWait)
		defer timer.Stop()
		select {
		case <-loaded:
		case <-timer.C:
		}
		return
	}
	defer close(loaded)
	var b limit.Budget
	var ok bool
	callback.Do(func() { b, ok = f.store.Load(name) })
	if ok {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.known[name] = b.Merge(f.known[name], time.Now())
	}
}

// Load returns the budget in memory.
func (f *front) Load(name string) (limit.Budget, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, ok := f.known[name]
	return b.Merge(limit.Budget{}, time.Now()), ok
}

// Add merges b into the budget in memory now, and into the store soon.
func (f *front) Add(name string, b limit.Budget) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	f.known[name] = f.known[name].Merge(b, now)
	limit.Merge(f.pending, name, b, now)
	if f.pumped == nil {
		f.pumped = make(chan struct{})
		go f.pump()
	}
}

// pump adds the pending changes to the store, and loads those of other clients.
func (f *front) pump() {
	for {
		f.mu.Lock()
		name, b, ok := anyOf(f.pending)
		if !ok {
			close(f.pumped)
			f.pumped = nil
			f.mu.Unlock()
			return
		}
		delete(f.pending, name)
		f.mu.Unlock()
		b, ok = f.exchange(name, b)
		f.mu.Lock()
		if ok {
			f.known[name] = b.Merge(f.pending[name], time.Now())
		}
		f.mu.Unlock()
	}
}

func anyOf(m map[string]limit.Budget) (name string, b limit.Budget, ok bool) {
	for name, b := range m {
		return name, b, true
	}
	return "", limit.Budget{}, false
}

// exchange adds b to the store and returns the new content. It recovers from a panic of the
// store, which would otherwise end the program from a goroutine unknown to the user.
func (f *front) exchange(name string, b limit.Budget) (all limit.Budget, ok bool) {
	defer func() {
		if v := recover(); v != nil {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.failed = fmt.Errorf("the limit.Store panicked: %v", v)
		}
	}()
	callback.Do(func() {
		f.store.Add(name, b)
		all, ok = f.store.Load(name)
	})
	return all, ok
}

// Flush adds the pending changes to the store and flushes it. If the store calls Flush, or user
// code that the store may be waiting for, Flush works in the background.
func (f *front) Flush() error {
	if callback.Running() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !f.flushing {
			f.flushing = true
			go f.flushInBackground()
		}
		return nil
	}
	return f.flush()
}

func (f *front) flushInBackground() {
	defer func() {
		v := recover()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.flushing = false
		if v != nil {
			f.failed = fmt.Errorf("the limit.Store panicked: %v", v)
		}
	}()
	_ = f.flush() // the flush at the end of a batch, or another Close, returns the error
}

func (f *front) flush() (err error) {
	f.mu.Lock()
	pumped := f.pumped
	f.mu.Unlock()
	if pumped != nil {
		timer := time.NewTimer(flushWait)
		defer timer.Stop()
		select {
		case <-pumped:
		case <-timer.C:
			return errors.New("the limit.Store did not return in time")
		}
	}
	f.mu.Lock()
	failed := f.failed
	f.mu.Unlock()
	callback.Do(func() { err = f.store.Flush() })
	return errors.Join(failed, err)
}
