package gate

import (
	"context"
	"errors"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdapq/rdapq/limit"
)

// A remoteStore is a limit.Store like one in a database.
type remoteStore struct {
	limit.Store
	calls  atomic.Int64
	before func(context.Context) error // called by each method
}

func (s *remoteStore) call(ctx context.Context) error {
	s.calls.Add(1)
	if _, ok := ctx.Deadline(); !ok {
		return errors.New("the context has no deadline")
	}
	return s.before(ctx)
}

func (s *remoteStore) Load(ctx context.Context, name string) (limit.Budget, error) {
	if err := s.call(ctx); err != nil {
		return limit.Budget{}, err
	}
	return s.Store.Load(ctx, name)
}

func (s *remoteStore) Add(ctx context.Context, name string, b limit.Budget) error {
	if err := s.call(ctx); err != nil {
		return err
	}
	return s.Store.Add(ctx, name, b)
}

func (s *remoteStore) Flush(ctx context.Context) error {
	return errors.Join(s.call(ctx), s.Store.Flush(ctx))
}

var exampleURL = &url.URL{Scheme: "https", Host: "rdap.example"}

// A store that fails changes no decision. Its first error is reported once, and by Flush.
func TestFailingStore(t *testing.T) {
	down := errors.New("the database is down")
	for name, fail := range map[string]func(context.Context) error{
		"error": func(context.Context) error { return down },
		"panic": func(context.Context) error { panic(down) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &remoteStore{Store: limit.NewMemory(), before: fail}
				var warnings []error
				hs := New(Config{Start: 8, Max: 64, Store: store, Warn: func(err error) { warnings = append(warnings, err) }})
				for range 300 {
					h := hs.At(exampleURL)
					k := h.Acquire(time.Now(), inBatch)
					if k.Verdict != Allow {
						t.Fatalf("%+v", k)
					}
					h.Observe(Outcome{Kind: Answered, Decision: k, Now: time.Now()})
					time.Sleep(time.Second)
				}
				if err := hs.Flush(); err == nil {
					t.Error("Flush returns no error")
				}
				if n := store.calls.Load(); len(warnings) != 1 || n < 2 {
					t.Errorf("%d calls, warnings: %v", n, warnings)
				}
			})
		})
	}
}

// A store that does not respond delays the first request to a server by a second. What it
// responds later is used.
func TestSlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := limit.NewMemory()
		pause := limit.Budget{Until: time.Now().Add(time.Hour), Paused: time.Now()}
		if err := memory.Add(t.Context(), "rdap.example", pause); err != nil {
			t.Fatal(err)
		}
		store := &remoteStore{Store: memory, before: func(context.Context) error {
			time.Sleep(5 * time.Second)
			return nil
		}}
		hs := New(Config{Start: 8, Max: 64, Store: store, Warn: func(err error) { t.Error(err) }})
		begin := time.Now()
		h := hs.At(exampleURL)
		if took := time.Since(begin); took != loadWait {
			t.Errorf("the first request waits %v, want %v", took, loadWait)
		}
		if k := h.Acquire(time.Now(), inBatch); k.Verdict != Allow {
			t.Errorf("before the store responds: %+v", k)
		}
		begin = time.Now()
		hs.At(exampleURL)
		if took := time.Since(begin); took != 0 {
			t.Errorf("the second request waits %v more", took)
		}
		time.Sleep(5 * time.Second)
		begin = time.Now()
		hs.At(exampleURL)
		if took := time.Since(begin); took != 0 {
			t.Errorf("a request after the response waits %v", took)
		}
		if b := hs.store.Load("rdap.example"); !b.Until.Equal(pause.Until) {
			t.Errorf("in memory: %+v", b)
		}
		if err := hs.Flush(); err != nil {
			t.Error(err)
		}
	})
}
