package client

import (
	"fmt"
	"path/filepath"
	"testing"
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

// TestBudgetsOutlive: a second run keeps to what a first one has used.
func TestBudgetsOutlive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budgets.json")
	for run := range 2 {
		f := openLimits(t, path)
		h := testHost(gateConfig{store: f, rates: map[string]limit.Rate{"rdap.example": {N: 10, Per: time.Hour}}})
		for i := range 6 {
			k := h.take(time.Now(), inBatch)
			if want := run*6+i < 10; (k.grant == granted) != want {
				t.Errorf("run %d, request %d: %+v", run, i, k)
			}
			if k.grant == granted {
				h.observe(sample{effect: answered, ticket: k, now: time.Now()})
			}
		}
		if err := h.flushTo(f); err != nil {
			t.Fatal(err)
		}
	}
	// A pause is kept as well.
	f := openLimits(t, path)
	h := testHost(gateConfig{store: f})
	for range 2 { // one alone would be isolated
		k := h.take(time.Now(), inBatch)
		h.observe(sample{effect: throttled, ticket: k, now: time.Now(), retryAfter: time.Hour})
	}
	if err := h.flushTo(f); err != nil {
		t.Fatal(err)
	}
	h = testHost(gateConfig{store: openLimits(t, path)})
	if k := h.take(time.Now(), inBatch); k.grant != givenUpLimit {
		t.Errorf("after a pause was asked for: %+v", k)
	}
}

func (h *host) flushTo(f *limit.File) error {
	h.mu.Lock()
	h.tell()
	h.mu.Unlock()
	if err := f.Close(); err != nil {
		return fmt.Errorf("%s: %w", h.name, err)
	}
	return nil
}
