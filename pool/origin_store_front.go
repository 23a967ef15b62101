package pool

import (
	"sync"
	"time"

	"github.com/rdapq/rdapq/internal/callback"
)

// An originStoreFront is the copy in memory of a user's [OriginStore]. Its Get and Update may
// be called under a lock of the Pool. It calls the store without a lock, because the store may
// be slow, and may call back into the Pool.
type originStoreFront struct {
	store  OriginStore
	memory *memoryOriginStore
	calls  callbacks // updates and reads of the store, in order

	mu     sync.Mutex
	loaded map[string]time.Time // when each origin was last read from the store
}

// storeReloadAfter is the age at which information from the store is read again, because
// another process may have changed the information.
const storeReloadAfter = time.Minute

// frontOf returns a store that may be called under the locks of a Pool. The stores of this
// package need no front, because their Get and Update do no I/O and call nothing.
func frontOf(s OriginStore) OriginStore {
	switch s.(type) {
	case nil:
		return newMemoryOriginStore()
	case *memoryOriginStore, *OriginFile:
		return s
	}
	return &originStoreFront{store: s, memory: newMemoryOriginStore(), loaded: make(map[string]time.Time)}
}

// Get returns the information about an origin that is in memory.
func (f *originStoreFront) Get(origin string) OriginInfo { return f.memory.Get(origin) }

// Update changes the information about an origin in memory, and queues the same change of
// the store. change is called twice, the second time from another goroutine.
func (f *originStoreFront) Update(origin string, change func(*OriginInfo)) {
	f.memory.Update(origin, change)
	f.calls.add(func() { f.store.Update(origin, change) })
}

// load reads an origin from the store on first use. It must be called without a lock.
func (f *originStoreFront) load(origin string) {
	switch first, due := f.claim(origin); {
	case first:
		callback.Do(func() { f.read(origin) })
	case due:
		f.calls.add(func() { f.read(origin) })
	}
}

// loadLater is like load, but does not wait.
func (f *originStoreFront) loadLater(origin string) {
	if first, due := f.claim(origin); first || due {
		f.calls.add(func() { f.read(origin) })
	}
}

// claim reports whether the caller is the first to read an origin, and whether it has
// to read the origin again.
func (f *originStoreFront) claim(origin string) (first, due bool) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	at, known := f.loaded[origin]
	if known && now.Sub(at) < storeReloadAfter {
		return false, false
	}
	if len(f.loaded) >= 2*maxStoredOrigins {
		clear(f.loaded)
	}
	f.loaded[origin] = now
	return !known, known
}

// read copies the information of the store into memory, unless memory has changed meanwhile,
// because that change has not reached the store.
func (f *originStoreFront) read(origin string) {
	before := f.memory.Get(origin)
	info := f.store.Get(origin)
	f.memory.replace(origin, before, info)
}
