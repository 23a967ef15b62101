package gate

import (
	"context"
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
	warn  func(error) // called once, after the first error; may be nil

	mu      sync.Mutex
	known   map[string]limit.Budget // content of the store, and pending additions
	loading map[string]loading
	pending map[string]limit.Budget // budgets to add to the store
	pumped  chan struct{}           // closed when pending is empty; nil if it is
	failed  error                   // first error of the store

	flushing bool // flushInBackground is running
}

// A loading is the first Load of a name.
type loading struct {
	done  chan struct{} // closed when the Load has ended
	until time.Time     // until then requests wait for it
}

// loadWait limits the wait for a Load: the store may be slow, and may itself wait for a lookup
// that waits for the Load.
const loadWait = time.Second

// flushWait limits how long Flush waits for pending changes, and the time for one call of the
// store in the background.
const flushWait = 10 * time.Second

// budgets is a store that may be called under Host.mu.
type budgets interface {
	Load(name string) limit.Budget
	Add(name string, b limit.Budget)
	Flush() error
}

// budgetsOf returns the budgets in a store. The stores of package limit need no front, because
// they do no I/O in Load and Add.
func budgetsOf(s limit.Store, warn func(error)) budgets {
	switch s.(type) {
	case *limit.Memory, *limit.File:
		return fastStore{s}
	}
	return &front{
		store: s, warn: warn, known: make(map[string]limit.Budget), loading: make(map[string]loading),
		pending: make(map[string]limit.Budget),
	}
}

// A fastStore is a store whose Load and Add do no I/O and return no error.
type fastStore struct{ store limit.Store }

func (f fastStore) Load(name string) limit.Budget {
	b, _ := f.store.Load(context.Background(), name)
	return b
}

func (f fastStore) Add(name string, b limit.Budget) { _ = f.store.Add(context.Background(), name, b) }

func (f fastStore) Flush() error { return f.store.Flush(context.Background()) }

// call calls the store, and records an error or a panic of it. A panic would otherwise end the
// program from a goroutine unknown to the user.
func (f *front) call(limit time.Duration, use func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the limit.Store panicked: %v", v)
		}
		f.record(err)
	}()
	callback.Do(func() { err = use(ctx) })
	return err
}

// record keeps the first error, and warns of it.
func (f *front) record(err error) {
	f.mu.Lock()
	first := err != nil && f.failed == nil
	if first {
		f.failed = err
	}
	f.mu.Unlock()
	if first && f.warn != nil {
		callback.Do(func() { f.warn(err) })
	}
}

// prepare loads the budget of a name once. Callers must call it before Load, and without a
// lock.
func (f *front) prepare(name string) {
	f.mu.Lock()
	first, begun := f.loading[name]
	if !begun {
		if len(f.loading) >= 2*maxIdleHosts {
			clear(f.loading)
			clear(f.known)
		}
		first = loading{make(chan struct{}), time.Now().Add(loadWait)}
		f.loading[name] = first
		go f.read(name, first.done)
	}
	f.mu.Unlock()
	select {
	case <-first.done:
		return
	default:
	}
	timer := time.NewTimer(time.Until(first.until))
	defer timer.Stop()
	select {
	case <-first.done:
	case <-timer.C:
	}
}

// read loads the budget of a name, and closes loaded.
func (f *front) read(name string, loaded chan<- struct{}) {
	defer close(loaded)
	var b limit.Budget
	err := f.call(flushWait, func(ctx context.Context) (err error) {
		b, err = f.store.Load(ctx, name)
		return err
	})
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[name] = b.Merge(f.known[name], time.Now())
}

// Load returns the budget in memory.
func (f *front) Load(name string) limit.Budget {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known[name].Merge(limit.Budget{}, time.Now())
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
		b, err := f.exchange(name, b)
		f.mu.Lock()
		if err == nil {
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

// exchange adds b to the store and returns the new content.
func (f *front) exchange(name string, b limit.Budget) (all limit.Budget, err error) {
	err = f.call(flushWait, func(ctx context.Context) error {
		if err := f.store.Add(ctx, name, b); err != nil {
			return err
		}
		all, err = f.store.Load(ctx, name)
		return err
	})
	return all, err
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
	_ = f.flush() // the flush at the end of a batch, or another Close, returns the error
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flushing = false
}

func (f *front) flush() error {
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
	return errors.Join(failed, f.call(flushWait, f.store.Flush))
}
