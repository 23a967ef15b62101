package client

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func openBudgets(t *testing.T, path string) *BudgetFile {
	t.Helper()
	f, err := OpenBudgetFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestBudgetFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budgets.json")
	now := time.Now()
	f := openBudgets(t, path)
	if _, ok := f.Load("a"); ok {
		t.Error("an empty store knows something")
	}
	f.Add("a", Budget{Until: now.Add(time.Hour), Paused: now, Learned: Rate{10, time.Second}, Seen: now, Used: []Use{{now.Add(-time.Second), 3}}})
	f.Add("a", Budget{Until: now.Add(time.Minute), Paused: now, Used: []Use{{now, 2}}})
	f.Add("a", Budget{Learned: Rate{20, time.Second}, Least: time.Second / 2, Penalty: 15 * time.Second, Seen: now.Add(time.Millisecond)})
	f.Add("slow", Budget{Took: 1500 * time.Microsecond, Measured: now})
	f.Add("gone", Budget{Until: now.Add(-time.Second)})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	b, ok := openBudgets(t, path).Load("a")
	used := 0
	for _, u := range b.Used {
		used += u.N
	}
	if !ok || !b.Until.Equal(now.Add(time.Hour)) || b.Learned != (Rate{20, time.Second}) || b.Penalty != 15*time.Second || b.Least != time.Second/2 || used != 5 || len(b.Used) != 2 {
		t.Errorf("%+v", b)
	}
	if b.Used[1].At.Before(now.Truncate(time.Millisecond)) {
		t.Errorf("used at %v, before %v", b.Used[1].At, now)
	}
	if b, _ := openBudgets(t, path).Load("slow"); b.Took != 1500*time.Microsecond || !b.Measured.Equal(now) {
		t.Errorf("%+v", b)
	}
	if _, ok := openBudgets(t, path).Load("gone"); ok {
		t.Error("what is over is kept")
	}
	left, err := filepath.Glob(path + ".*.tmp")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestBudgetFileBroken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budgets.json")
	for _, content := range []string{
		"", "{", "[]", `{"a":3}`, strings.Repeat("x", 1000),
		`{"a":{"until":"2999-01-01T00:00:00Z","n":-1,"per_ms":99999999999999,"seen":"2999-01-01T00:00:00Z","used_ms":[[-1,5],[9999999999999,1],[1,-1]]}}`,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		f := openBudgets(t, path)
		if b, ok := f.Load("a"); ok {
			t.Errorf("%q is believed: %+v", content, b)
		}
		f.Add("b", Budget{Used: []Use{{time.Now(), 1}}})
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if _, ok := openBudgets(t, path).Load("b"); !ok {
			t.Errorf("%q is not replaced", content)
		}
	}
	for what, path := range map[string]string{"a folder": t.TempDir(), "nothing": ""} {
		if _, err := OpenBudgetFile(path); err == nil {
			t.Errorf("%s is a file of budgets", what)
		}
	}
	f := openBudgets(t, filepath.Join(t.TempDir(), "nowhere", "budgets.json"))
	f.Add("a", Budget{Used: []Use{{time.Now(), 1}}})
	if err := f.Close(); err == nil {
		t.Error("no error although nothing can be written")
	}
}

func TestBudgetFileBounded(t *testing.T) {
	f := openBudgets(t, filepath.Join(t.TempDir(), "budgets.json"))
	begin := time.Now().Add(-time.Hour)
	for i := range 3 * maxBudgets {
		f.Add("host"+strconv.Itoa(i), Budget{Used: []Use{{begin.Add(time.Duration(i) * time.Millisecond), 1}}})
	}
	for i := range 3 * maxUses {
		f.Add("busy", Budget{Used: []Use{{begin.Add(time.Duration(10+i) * time.Second), 1}}})
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = openBudgets(t, f.path)
	if len(f.known) > maxBudgets {
		t.Errorf("%d names", len(f.known))
	}
	b, _ := f.Load("busy")
	used := 0
	for _, u := range b.Used {
		used += u.N
	}
	if len(b.Used) > maxUses || used != 3*maxUses {
		t.Errorf("%d uses in %d", used, len(b.Used))
	}
	if _, ok := f.Load("host0"); ok {
		t.Error("the oldest is kept")
	}
}

// TestBudgetFileShared: nothing is lost of what several programs add at once.
func TestBudgetFileShared(t *testing.T) {
	const programs, adds = 4, 25
	path := os.Getenv("RDAPQ_TEST_BUDGETS")
	if path != "" { // one of the programs
		f := openBudgets(t, path)
		for range adds {
			f.Add("shared", Budget{Used: []Use{{time.Now(), 1}}})
			if err := f.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	path = filepath.Join(t.TempDir(), "budgets.json")
	var wg sync.WaitGroup
	for range programs {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestBudgetFileShared$")
			cmd.Env = append(os.Environ(), "RDAPQ_TEST_BUDGETS="+path)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	b, _ := openBudgets(t, path).Load("shared")
	used := 0
	for _, u := range b.Used {
		used += u.N
	}
	if used != programs*adds {
		t.Errorf("%d of %d uses are there", used, programs*adds)
	}
}

// TestBudgetsOutlive: a second run keeps to what a first one has used.
func TestBudgetsOutlive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budgets.json")
	for run := range 2 {
		f := openBudgets(t, path)
		h := testHost(Config{Budgets: f, Rates: map[string]Rate{"rdap.example": {10, time.Hour}}})
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
	f := openBudgets(t, path)
	h := testHost(Config{Budgets: f})
	for range 2 { // one alone would be isolated
		k := h.take(time.Now(), inBatch)
		h.observe(sample{effect: throttled, ticket: k, now: time.Now(), retryAfter: time.Hour})
	}
	if err := h.flushTo(f); err != nil {
		t.Fatal(err)
	}
	h = testHost(Config{Budgets: openBudgets(t, path)})
	if k := h.take(time.Now(), inBatch); k.grant != givenUpLimit {
		t.Errorf("after a pause was asked for: %+v", k)
	}
}

func (h *host) flushTo(f *BudgetFile) error {
	h.mu.Lock()
	h.tell()
	h.mu.Unlock()
	if err := f.Close(); err != nil {
		return fmt.Errorf("%s: %w", h.name, err)
	}
	return nil
}

// Batches end, and flush, while others add: nothing is lost, and nothing is
// written any more after Close.
func TestBudgetFileFlushBesideAdd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budgets")
	f, err := OpenBudgetFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const adders, each = 4, 25
	var wg sync.WaitGroup
	for range adders {
		wg.Go(func() {
			for range each {
				f.mu.Lock()
				f.synced = time.Time{} // it is time to write aside
				f.mu.Unlock()
				f.Add("rdap.example", Budget{Used: []Use{{At: time.Now(), N: 1}}})
			}
		})
		wg.Go(func() {
			for range each / 5 {
				if err := f.Flush(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if f.writing != nil {
		t.Error("it is still written after Close")
	}
	again, err := OpenBudgetFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := again.Load("rdap.example")
	n := 0
	for _, u := range b.Used {
		n += u.N
	}
	if n != adders*each {
		t.Errorf("%d of %d uses are in the file", n, adders*each)
	}
}
