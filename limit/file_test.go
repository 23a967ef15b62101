package limit

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/statefile"
)

func openFile(t *testing.T, path string) *File {
	t.Helper()
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// load returns the budget of a name, and whether there is one.
func load(t *testing.T, s Store, name string) (Budget, bool) {
	t.Helper()
	b, err := s.Load(t.Context(), name)
	if err != nil {
		t.Error(err)
	}
	return b, !b.empty()
}

func add(t *testing.T, s Store, name string, b Budget) {
	t.Helper()
	if err := s.Add(t.Context(), name, b); err != nil {
		t.Error(err)
	}
}

// Flush ends at the deadline of its context if another process holds the lock.
func TestFlushDeadline(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budgets.json")
	f := openFile(t, path)
	f.synced = time.Now().Add(time.Hour) // Add does not write in the background
	add(t, f, "a", Budget{Used: []Usage{{time.Now(), 1}}})
	unlock, err := statefile.Lock(path, statefile.Within(0))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := f.Flush(ctx); !errors.Is(err, statefile.ErrBusy) {
		t.Errorf("while the file is locked: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Flush(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	if err := errors.Join(unlock(), f.Flush(t.Context())); err != nil {
		t.Error(err)
	}
	if _, ok := load(t, openFile(t, path), "a"); !ok {
		t.Error("the budget is lost")
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budgets.json")
	now := time.Now()
	f := openFile(t, path)
	if _, ok := load(t, f, "a"); ok {
		t.Error("an empty store has a budget")
	}
	add(t, f, "a", Budget{Until: now.Add(time.Hour), Paused: now, Learned: Rate{10, time.Second}, Seen: now, Used: []Usage{{now.Add(-time.Second), 3}}})
	add(t, f, "a", Budget{Until: now.Add(time.Minute), Paused: now, Used: []Usage{{now, 2}}})
	add(t, f, "a", Budget{Learned: Rate{20, time.Second}, Least: time.Second / 2, Penalty: 15 * time.Second, Seen: now.Add(time.Millisecond)})
	add(t, f, "slow", Budget{Took: 1500 * time.Microsecond, Measured: now})
	add(t, f, "gone", Budget{Until: now.Add(-time.Second)})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	b, ok := load(t, openFile(t, path), "a")
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
	if b, _ := load(t, openFile(t, path), "slow"); b.Took != 1500*time.Microsecond || !b.Measured.Equal(now) {
		t.Errorf("%+v", b)
	}
	if _, ok := load(t, openFile(t, path), "gone"); ok {
		t.Error("an expired budget is kept")
	}
	left, err := filepath.Glob(path + ".*.tmp")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A refuted limit is removed from the file although other programs still have it, and
// older data does not restore it.
func TestFileForgets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budgets.json")
	now := time.Now()
	old := Budget{Learned: Rate{10, time.Second}, Seen: now.Add(-time.Second)}
	f := openFile(t, path)
	add(t, f, "a", old)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f, other := openFile(t, path), openFile(t, path)
	add(t, f, "a", Budget{Seen: now})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if b, _ := load(t, openFile(t, path), "a"); !b.Learned.IsZero() {
		t.Errorf("the next run has %+v", b)
	}
	add(t, other, "a", old)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if b, _ := load(t, openFile(t, path), "a"); !b.Learned.IsZero() {
		t.Errorf("after an older one of another program: %+v", b)
	}
	add(t, f, "a", Budget{Learned: Rate{20, time.Second}, Seen: now.Add(time.Millisecond)})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if b, _ := load(t, openFile(t, path), "a"); b.Learned != (Rate{20, time.Second}) {
		t.Errorf("a newer limit: %+v", b)
	}
}

func TestFileBroken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budgets.json")
	for _, content := range []string{
		"", "{", "[]", `{"a":3}`, strings.Repeat("x", 1000),
		`{"a":{"until":"2999-01-01T00:00:00Z","n":-1,"per_ms":99999999999999,"seen":"2999-01-01T00:00:00Z","used_ms":[[-1,5],[9999999999999,1],[1,-1]]}}`,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		f := openFile(t, path)
		if b, ok := load(t, f, "a"); ok {
			t.Errorf("%q is accepted: %+v", content, b)
		}
		add(t, f, "b", Budget{Used: []Usage{{time.Now(), 1}}})
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if _, ok := load(t, openFile(t, path), "b"); !ok {
			t.Errorf("%q is not replaced", content)
		}
	}
	for what, path := range map[string]string{"a directory": t.TempDir(), "an empty name": ""} {
		if _, err := OpenFile(path); err == nil {
			t.Errorf("OpenFile accepts %s", what)
		}
	}
	f := openFile(t, filepath.Join(t.TempDir(), "nowhere", "budgets.json"))
	add(t, f, "a", Budget{Used: []Usage{{time.Now(), 1}}})
	if err := f.Close(); err == nil {
		t.Error("no error although the directory is missing")
	}
}

func TestFileBounded(t *testing.T) {
	f := openFile(t, filepath.Join(t.TempDir(), "budgets.json"))
	begin := time.Now().Add(-time.Hour)
	for i := range 3 * maxBudgets {
		add(t, f, "host"+strconv.Itoa(i), Budget{Used: []Usage{{begin.Add(time.Duration(i) * time.Millisecond), 1}}})
	}
	for i := range 3 * maxUsages {
		add(t, f, "busy", Budget{Used: []Usage{{begin.Add(time.Duration(10+i) * time.Second), 1}}})
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = openFile(t, f.path)
	if len(f.known) > maxBudgets {
		t.Errorf("%d names", len(f.known))
	}
	b, _ := load(t, f, "busy")
	used := 0
	for _, u := range b.Used {
		used += u.N
	}
	if len(b.Used) > maxUsages || used != 3*maxUsages {
		t.Errorf("%d requests in %d usages", used, len(b.Used))
	}
	if _, ok := load(t, f, "host0"); ok {
		t.Error("the oldest is kept")
	}
}

// Programs that add to one file concurrently lose no request.
func TestFileShared(t *testing.T) {
	const programs, adds = 4, 25
	path := os.Getenv("RDAPQ_TEST_BUDGETS")
	if path != "" { // this process is one of the programs
		f := openFile(t, path)
		for range adds {
			add(t, f, "shared", Budget{Used: []Usage{{time.Now(), 1}}})
			if err := f.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	path = filepath.Join(t.TempDir(), "budgets.json")
	var wg sync.WaitGroup
	for range programs {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestFileShared$")
			cmd.Env = append(os.Environ(), "RDAPQ_TEST_BUDGETS="+path)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	b, _ := load(t, openFile(t, path), "shared")
	used := 0
	for _, u := range b.Used {
		used += u.N
	}
	if used != programs*adds {
		t.Errorf("%d of %d requests are there", used, programs*adds)
	}
}

// Batches that end flush the file while other batches add to it. No request is lost, and
// nothing is written after Close.
func TestFileFlushDuringAdd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budgets")
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const adders, each = 4, 25
	var wg sync.WaitGroup
	for range adders {
		wg.Go(func() {
			for range each {
				f.mu.Lock()
				f.synced = time.Time{} // makes the next Add write
				f.mu.Unlock()
				add(t, f, "rdap.example", Budget{Used: []Usage{{At: time.Now(), N: 1}}})
			}
		})
		wg.Go(func() {
			for range each / 5 {
				if err := f.Flush(t.Context()); err != nil {
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
		t.Error("a write is under way after Close")
	}
	again, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := load(t, again, "rdap.example")
	n := 0
	for _, u := range b.Used {
		n += u.N
	}
	if n != adders*each {
		t.Errorf("%d of %d requests are in the file", n, adders*each)
	}
}
