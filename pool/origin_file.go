package pool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rdapq/rdapq/internal/statefile"
)

// A FactFile is a [FactStore] that lives in a file between runs. Several
// processes may share the file: each adds what it learned. Open it with
// [OpenFactFile] and save it with Close.
type FactFile struct {
	path string

	mu      sync.Mutex
	origins map[string]Facts
	changed map[string]struct{} // since the last save
	saving  sync.Mutex
}

const (
	maxFactFile  = 4 << 20 // bytes that are read
	factsVersion = 1
)

// factsDocument is what stands in the file.
type factsDocument struct {
	Version int              `json:"version"`
	Origins map[string]Facts `json:"origins"`
}

// OpenFactFile reads the facts in a file. One that isn't there, that isn't to
// be understood, or that others could have written is as good as empty; the
// error is that of a file that can't be read.
func OpenFactFile(path string) (*FactFile, error) {
	if path == "" {
		return nil, errors.New("pool: fact file without a name")
	}
	origins, err := readFacts(path)
	if err != nil {
		return nil, fmt.Errorf("pool: fact file: %w", err)
	}
	return &FactFile{path: path, origins: origins, changed: make(map[string]struct{})}, nil
}

// Get returns what is known about an origin.
func (s *FactFile) Get(origin string) Facts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.origins[origin]
}

// Update changes what is known about an origin. It reaches the file with Save
// or Close.
func (s *FactFile) Update(origin string, change func(*Facts)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.origins[origin]
	change(&f)
	f.Updated = time.Now()
	s.origins[origin] = f
	s.changed[origin] = struct{}{}
	trimFacts(s.origins, maxFacts+maxFacts/8)
	if len(s.changed) > 2*maxFacts {
		maps.DeleteFunc(s.changed, func(origin string, _ struct{}) bool {
			_, kept := s.origins[origin]
			return !kept
		})
	}
}

// Save writes what changed to the file, beside what other processes wrote
// there, if anything changed. The file is replaced as a whole and readable by
// its owner alone; its folder is made if need be.
func (s *FactFile) Save() error {
	s.saving.Lock()
	defer s.saving.Unlock()
	s.mu.Lock()
	mine := make(map[string]Facts, len(s.changed))
	for origin := range s.changed {
		if f, ok := s.origins[origin]; ok {
			mine[origin] = f
		}
	}
	s.mu.Unlock()
	if len(mine) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	unlock, err := statefile.Lock(s.path, statefile.Within(lockWait))
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	origins, err := readFacts(s.path)
	if err != nil {
		return err
	}
	for origin, f := range mine {
		if !origins[origin].Updated.After(f.Updated) {
			origins[origin] = f
		}
	}
	trimFacts(origins, maxFacts)
	b, err := json.Marshal(factsDocument{factsVersion, origins})
	if err != nil {
		return err
	}
	if err := statefile.Replace(s.path, append(b, '\n')); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for origin, f := range mine {
		if s.origins[origin] == f {
			delete(s.changed, origin)
		}
	}
	for origin, f := range origins {
		if _, ok := s.changed[origin]; !ok {
			s.origins[origin] = f
		}
	}
	return nil
}

// Close is Save.
func (s *FactFile) Close() error { return s.Save() }

func readFacts(path string) (map[string]Facts, error) {
	none := make(map[string]Facts)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path) // opening it might take for ever
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if private(info) != nil {
		return none, nil
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFactFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	var d factsDocument
	if len(b) > maxFactFile || json.Unmarshal(b, &d) != nil || d.Version != factsVersion || d.Origins == nil {
		return none, nil
	}
	now := time.Now()
	maps.DeleteFunc(d.Origins, func(_ string, f Facts) bool { return f.Updated.After(now.Add(time.Hour)) })
	for origin, f := range d.Origins {
		d.Origins[origin] = f.bounded(now)
	}
	trimFacts(d.Origins, maxFacts)
	return d.Origins, nil
}
