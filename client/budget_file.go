package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/rdapq/rdapq/internal/statefile"
)

// A BudgetFile is a [BudgetStore] in a file that several programs may share. It
// writes at most once a second, and what it has not written when it is flushed
// or closed.
type BudgetFile struct {
	path string

	mu      sync.Mutex
	known   map[string]Budget // the file's content as last seen, and what was added since
	pending map[string]Budget // added and not written
	synced  time.Time
	writing chan struct{} // closed when what writes aside has ended; nil: nothing does

	io sync.Mutex // held while the file is written; before mu
}

const (
	budgetInterval  = time.Second            // between two writes
	budgetLockWait  = 200 * time.Millisecond // for other programs to finish
	budgetFlushWait = 3 * time.Second        // the same, if the caller asked for the write
	maxBudgetFile   = 16 << 20               // bytes; what is longer was not written by us
)

// OpenBudgetFile returns the store in the file of that name, which is made when
// there is something to keep; its folder must be there. A file that cannot be
// understood is as good as none, because budgets are hints: it will be replaced.
// The error is that of a file that is there and cannot be read.
func OpenBudgetFile(path string) (*BudgetFile, error) {
	if path == "" {
		return nil, errors.New("client: file of budgets without a name")
	}
	f := &BudgetFile{path: path, pending: make(map[string]Budget)}
	known, err := f.read(time.Now())
	if err != nil {
		return nil, err
	}
	f.known, f.synced = known, time.Now()
	return f, nil
}

// Load implements [BudgetStore].
func (f *BudgetFile) Load(name string) (Budget, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, ok := f.known[name]
	b.Used = slices.Clone(b.Used)
	return b, ok
}

// Add implements [BudgetStore]. The file is written aside, so that nobody waits
// for it; an error of it shows at the next Flush, which tries again.
func (f *BudgetFile) Add(name string, b Budget) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	addBudget(f.known, name, b, now)
	addBudget(f.pending, name, b, now)
	if f.writing == nil && now.Sub(f.synced) >= budgetInterval {
		f.writing = make(chan struct{})
		go f.writeAside()
	}
}

func (f *BudgetFile) writeAside() {
	_ = f.sync(budgetLockWait)
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.writing)
	f.writing = nil
}

// Flush writes what is not written yet. It waits up to 3 s for other programs that
// write the file.
func (f *BudgetFile) Flush() error { return f.flush(budgetFlushWait) }

func (f *BudgetFile) flush(wait time.Duration) error {
	f.mu.Lock()
	writing := f.writing
	f.mu.Unlock()
	if writing != nil {
		<-writing
	}
	f.mu.Lock()
	clean := len(f.pending) == 0
	f.mu.Unlock()
	if clean {
		return nil
	}
	return f.sync(wait)
}

// Close writes what is not written yet. It waits for other programs no longer than
// 200 ms: the end of a program must not hang on another one.
func (f *BudgetFile) Close() error { return f.flush(budgetLockWait) }

// sync merges what was added into the file, and takes over what others wrote.
func (f *BudgetFile) sync(wait time.Duration) error {
	f.io.Lock()
	defer f.io.Unlock()
	f.mu.Lock()
	added := f.pending
	f.pending = make(map[string]Budget)
	f.mu.Unlock()

	known, err := f.exchange(added, wait)

	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	f.synced = now // after an error, too: it is not tried again at once
	if err != nil {
		for name, b := range added {
			addBudget(f.pending, name, b, now)
		}
		return err
	}
	for name, b := range f.pending {
		addBudget(known, name, b, now)
	}
	f.known = known
	return nil
}

// exchange adds to the file and returns what is in it then.
func (f *BudgetFile) exchange(added map[string]Budget, wait time.Duration) (map[string]Budget, error) {
	unlock, err := statefile.Lock(f.path, statefile.Within(wait))
	if err != nil {
		return nil, err
	}
	defer func() { _ = unlock() }()
	now := time.Now()
	known, err := f.read(now)
	if err != nil {
		return nil, err
	}
	for name, b := range added {
		addBudget(known, name, b, now)
	}
	return known, f.write(known)
}

// budgetJSON is the file's form: short names, because it is written often.
type budgetJSON struct {
	Until  time.Time  `json:"until,omitzero"`
	Paused time.Time  `json:"paused,omitzero"`
	N      int        `json:"n,omitzero"`
	PerMS  int64      `json:"per_ms,omitzero"`
	Seen   time.Time  `json:"seen,omitzero"`
	UsedMS [][2]int64 `json:"used_ms,omitempty"` // Unix time in milliseconds and number

	LeastMS   int64     `json:"least_ms,omitzero"`
	PenaltyMS int64     `json:"penalty_ms,omitzero"`
	TookMS    float64   `json:"took_ms,omitzero"`
	Measured  time.Time `json:"measured,omitzero"`
}

func (f *BudgetFile) read(now time.Time) (map[string]Budget, error) {
	known := make(map[string]Budget)
	if info, err := os.Stat(f.path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", f.path) // opening it might take for ever
	}
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxBudgetFile))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.path, err)
	}
	var stored map[string]budgetJSON
	if json.Unmarshal(data, &stored) != nil {
		return known, nil
	}
	for name, s := range stored {
		b := Budget{Until: s.Until, Paused: s.Paused, Seen: s.Seen}
		if s.PerMS > 0 && s.PerMS <= int64(maxRatePer/time.Millisecond) && s.N > 0 && s.N <= maxRateN {
			b.Learned = Rate{N: s.N, Per: time.Duration(s.PerMS) * time.Millisecond}
			b.Least = time.Duration(min(max(s.LeastMS, 0), s.PerMS)) * time.Millisecond
			b.Penalty = time.Duration(min(max(s.PenaltyMS, 0), int64(maxPause/time.Millisecond))) * time.Millisecond
		}
		if s.TookMS > 0 && s.TookMS <= float64(maxTook/time.Millisecond) {
			b.Took, b.Measured = time.Duration(s.TookMS*float64(time.Millisecond)), s.Measured
		}
		for _, u := range s.UsedMS {
			if u[1] > 0 && u[1] <= maxRateN {
				b.Used = append(b.Used, Use{At: time.UnixMilli(u[0]), N: int(u[1])})
			}
		}
		addBudget(known, name, b, now)
	}
	return known, nil
}

func (f *BudgetFile) write(known map[string]Budget) error {
	stored := make(map[string]budgetJSON, len(known))
	for name, b := range known {
		s := budgetJSON{Until: b.Until.Round(0), Paused: b.Paused.Round(0), Seen: b.Seen.Round(0)}
		s.N, s.PerMS = b.Learned.N, int64((b.Learned.Per+time.Millisecond-1)/time.Millisecond)
		s.LeastMS = int64(b.Least / time.Millisecond)
		s.PenaltyMS = int64((b.Penalty + time.Millisecond - 1) / time.Millisecond)
		s.TookMS, s.Measured = float64(b.Took/time.Microsecond)/1000, b.Measured.Round(0)
		for _, u := range b.Used {
			s.UsedMS = append(s.UsedMS, [2]int64{u.At.UnixMilli() + 1, int64(u.N)})
		}
		stored[name] = s
	}
	data, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	return statefile.Replace(f.path, append(data, '\n'))
}
