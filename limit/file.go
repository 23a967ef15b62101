package limit

import (
	"context"
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

// A File is a [Store] in a file that several programs may share. It writes at most
// once per second, and writes the rest in Flush and Close.
type File struct {
	path string

	mu      sync.Mutex
	known   map[string]Budget // content of the file as last read, and later additions
	pending map[string]Budget // additions that have not been written
	synced  time.Time
	writing chan struct{} // closed at the end of the background write; nil means none is running

	io sync.Mutex // held while the file is being written; taken before mu
}

const (
	writeInterval = time.Second            // minimum time between two writes
	lockWait      = 200 * time.Millisecond // longest wait for other programs
	flushWait     = 3 * time.Second        // longest wait for other programs in Flush
	maxFile       = 16 << 20               // maximum size in bytes; this package writes less
)

// OpenFile returns the store in the file of that name. Its directory must exist; the
// first write creates the file. A file with invalid content counts as empty and is
// replaced, because budgets are hints. OpenFile returns an error if the file exists
// and cannot be read.
func OpenFile(path string) (*File, error) {
	if path == "" {
		return nil, errors.New("limit: the name of the file is empty")
	}
	f := &File{path: path, pending: make(map[string]Budget)}
	known, err := f.read(time.Now())
	if err != nil {
		return nil, err
	}
	f.known, f.synced = known, time.Now()
	return f, nil
}

// Load implements [Store]. It reads no file, and the error is always nil.
func (f *File) Load(_ context.Context, name string) (Budget, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.known[name]
	b.Used = slices.Clone(b.Used)
	return b, nil
}

// Add implements [Store]. It writes the file in the background. If that fails, Flush writes
// again and returns any error. The error of Add is always nil.
func (f *File) Add(_ context.Context, name string, b Budget) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	Merge(f.known, name, b, now)
	Merge(f.pending, name, b, now)
	if f.writing == nil && now.Sub(f.synced) >= writeInterval {
		f.writing = make(chan struct{})
		go f.writeInBackground()
	}
	return nil
}

func (f *File) writeInBackground() {
	_ = f.sync(lockWait)
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.writing)
	f.writing = nil
}

// Flush writes all pending data. It waits at most 3 s for other programs that write the
// file, and at most until the deadline of ctx.
func (f *File) Flush(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	wait := flushWait
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline))
	}
	return f.flush(wait)
}

func (f *File) flush(wait time.Duration) error {
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

// Close writes all pending data. It waits at most 200 ms for other programs, so that they do
// not delay the end of this program.
func (f *File) Close() error { return f.flush(lockWait) }

// sync merges the additions into the file, and reads the data of other programs.
func (f *File) sync(wait time.Duration) error {
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
	f.synced = now // also after an error, so that the next attempt waits
	if err != nil {
		for name, b := range added {
			Merge(f.pending, name, b, now)
		}
		return err
	}
	for name, b := range f.pending {
		Merge(known, name, b, now)
	}
	f.known = known
	return nil
}

// exchange merges added into the file and returns the new content.
func (f *File) exchange(added map[string]Budget, wait time.Duration) (map[string]Budget, error) {
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
		Merge(known, name, b, now)
	}
	return known, f.write(known)
}

// budgetJSON is a Budget in the file. Its names are short because the file is written often.
type budgetJSON struct {
	Until  time.Time  `json:"until,omitzero"`
	Paused time.Time  `json:"paused,omitzero"`
	N      int        `json:"n,omitzero"`
	PerMS  int64      `json:"per_ms,omitzero"`
	Seen   time.Time  `json:"seen,omitzero"`
	UsedMS [][2]int64 `json:"used_ms,omitempty"` // pairs of a Unix time in milliseconds and a number

	LeastMS   int64     `json:"least_ms,omitzero"`
	PenaltyMS int64     `json:"penalty_ms,omitzero"`
	TookMS    float64   `json:"took_ms,omitzero"`
	Measured  time.Time `json:"measured,omitzero"`
}

func (f *File) read(now time.Time) (map[string]Budget, error) {
	known := make(map[string]Budget)
	if info, err := os.Stat(f.path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", f.path) // opening a named pipe would block
	}
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.path, err)
	}
	var stored map[string]budgetJSON
	if json.Unmarshal(data, &stored) != nil {
		return known, nil
	}
	for name, s := range stored {
		b := Budget{Until: s.Until, Paused: s.Paused, Seen: s.Seen}
		if s.PerMS > 0 && s.PerMS <= int64(MaxPer/time.Millisecond) && s.N > 0 && s.N <= maxN {
			b.Learned = Rate{N: s.N, Per: time.Duration(s.PerMS) * time.Millisecond}
			b.Least = time.Duration(min(max(s.LeastMS, 0), s.PerMS)) * time.Millisecond
			b.Penalty = time.Duration(min(max(s.PenaltyMS, 0), int64(MaxPause/time.Millisecond))) * time.Millisecond
		}
		if s.TookMS > 0 && s.TookMS <= float64(maxTook/time.Millisecond) {
			b.Took, b.Measured = time.Duration(s.TookMS*float64(time.Millisecond)), s.Measured
		}
		for _, u := range s.UsedMS {
			if u[1] > 0 && u[1] <= maxN {
				b.Used = append(b.Used, Usage{At: time.UnixMilli(u[0]), N: int(u[1])})
			}
		}
		Merge(known, name, b, now)
	}
	return known, nil
}

func (f *File) write(known map[string]Budget) error {
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
