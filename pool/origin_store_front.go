package pool

import (
	"context"
	"sync"
	"time"
)

// An originStoreFront is the copy in memory of a user's [OriginStore]. Its info and update may
// be called under a lock of the Pool. It calls the store without a lock, because the store may
// be slow, and may call back into the Pool.
type originStoreFront struct {
	store  OriginStore
	memory *memoryOriginStore
	calls  *storeCalls[string]

	mu     sync.Mutex
	loaded map[string]time.Time // when each origin was last read from the store
}

// storeReloadAfter is the age at which information from the store is read again, because
// another process may have changed the information.
const storeReloadAfter = time.Minute

// frontOf returns a store that may be called under the locks of a Pool. The stores of this
// package need no front, because their info and update do no I/O and call nothing. failed is
// called with each error of the store.
func frontOf(s OriginStore, failed func(error)) originStore {
	switch s := s.(type) {
	case nil:
		return newMemoryOriginStore()
	case *OriginFile:
		return s
	}
	return &originStoreFront{store: s, memory: newMemoryOriginStore(), calls: newStoreCalls[string](failed), loaded: make(map[string]time.Time)}
}

// info returns the information about an origin that is in memory.
func (f *originStoreFront) info(origin string) originInfo { return f.memory.info(origin) }

// update changes the information about an origin in memory, and queues the same change of
// the store. change is called twice, the second time from another goroutine.
func (f *originStoreFront) update(origin string, change func(*originInfo)) {
	f.memory.update(origin, change)
	f.calls.add(origin, func(ctx context.Context) error {
		data, err := f.store.Get(ctx, origin)
		if err != nil {
			return err
		}
		info := decodeOriginInfo(data)
		change(&info)
		info.Updated = time.Now()
		return f.store.Put(ctx, origin, info.encoded())
	})
}

// load reads an origin from the store on first use. It must be called without a lock.
func (f *originStoreFront) load(ctx context.Context, origin string) {
	first, due := f.claim(origin)
	if !first && !due {
		return
	}
	done := f.calls.add(origin, func(ctx context.Context) error { return f.read(ctx, origin) })
	if first {
		f.calls.await(ctx, done)
	}
}

// loadLater is like load, but does not wait.
func (f *originStoreFront) loadLater(origin string) {
	if first, due := f.claim(origin); first || due {
		f.calls.add(origin, func(ctx context.Context) error { return f.read(ctx, origin) })
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
func (f *originStoreFront) read(ctx context.Context, origin string) error {
	before := f.memory.info(origin)
	data, err := f.store.Get(ctx, origin)
	if err == nil {
		f.memory.replace(origin, before, decodeOriginInfo(data))
	}
	return err
}
