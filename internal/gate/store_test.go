package gate

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdapq/rdapq/limit"
)

func openLimits(t *testing.T, path string) *limit.File {
	t.Helper()
	f, err := limit.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A second run counts the stored usage of the first run.
func TestBudgetsOutlive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budgets.json")
	for run := range 2 {
		f := openLimits(t, path)
		h := testHost(Config{Store: f, Rates: map[string]limit.Rate{"rdap.example": {N: 10, Per: time.Hour}}})
		for i := range 6 {
			k := h.Acquire(time.Now(), inBatch)
			if want := run*6+i < 10; (k.Verdict == Allow) != want {
				t.Errorf("run %d, request %d: %+v", run, i, k)
			}
			if k.Verdict == Allow {
				h.Observe(Outcome{Kind: Answered, Decision: k, Now: time.Now()})
			}
		}
		if err := h.flushTo(f); err != nil {
			t.Fatal(err)
		}
	}
	// A pause is stored as well.
	f := openLimits(t, path)
	h := testHost(Config{Store: f})
	for range 2 { // a single refusal would be isolated
		k := h.Acquire(time.Now(), inBatch)
		h.Observe(Outcome{Kind: Throttled, Decision: k, Now: time.Now(), RetryAfter: time.Hour})
	}
	if err := h.flushTo(f); err != nil {
		t.Fatal(err)
	}
	h = testHost(Config{Store: openLimits(t, path)})
	if k := h.Acquire(time.Now(), inBatch); k.Verdict != RejectLimit {
		t.Errorf("after a pause was asked for: %+v", k)
	}
}

// A userStore is a limit.Store that package limit does not recognize as its own.
type userStore struct{ limit.Store }

// A stored limit that a host drops does not apply in the next run.
func TestForgetReachesStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budgets.json")
	file := func() limit.Store { return openLimits(t, path) }
	memory := userStore{limit.NewMemory()}
	for name, open := range map[string]func() limit.Store{"file": file, "of the user": func() limit.Store { return memory }} {
		seed := open()
		err := seed.Add(t.Context(), "rdap.example", limit.Budget{Learned: limit.Rate{N: 10, Per: time.Second}, Seen: time.Now().Add(-time.Minute)})
		if err := errors.Join(err, seed.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
		for run, want := range []bool{true, false} {
			hs := New(Config{Start: 8, Max: 64, Store: open()})
			h := hs.At(&url.URL{Scheme: "https", Host: "rdap.example"})
			if known := !h.Rate().IsZero(); known != want {
				t.Errorf("store %s, run %d: a limit is known: %t", name, run+1, known)
			}
			h.mu.Lock()
			h.forget()
			h.mu.Unlock()
			if err := hs.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (h *Host) flushTo(f *limit.File) error {
	h.mu.Lock()
	h.syncStore()
	h.mu.Unlock()
	if err := f.Close(); err != nil {
		return fmt.Errorf("%s: %w", h.name, err)
	}
	return nil
}

// TestUsageInFile: the store rounds times. The usage of this host alone is not taken for that of
// another program, and requests in flight keep their times.
func TestUsageInFile(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			store := openLimits(t, filepath.Join(t.TempDir(), "limits.json"))
			defer store.Close()
			r := penalty(fixedWindow(20, 2*time.Second, false, silent), 15*time.Second, constant(15*time.Second))
			h := testHost(Config{Max: 64, Store: store})
			s := &simulation{h: h, rule: r, latency: 130 * time.Millisecond, jitter: 20 * time.Millisecond, lines: 700, seed: seed}
			s.run(t)
			if n := len(s.refused) - s.before; n > 0 {
				t.Errorf("seed %d: %d refused later", seed, n)
			}
		})
	}
}
