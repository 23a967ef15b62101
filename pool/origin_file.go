package pool

import (
	"context"
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

// An OriginFile is an [OriginStore] in a file. Several processes may share the file, because
// each adds its observations. OpenOriginFile opens the file, and Close saves it.
type OriginFile struct {
	path string

	mu      sync.Mutex
	origins map[string]originInfo
	changed map[string]struct{} // origins changed since the last save
	saveMu  sync.Mutex
}

const (
	maxOriginFile     = 4 << 20 // maximum size in bytes
	originFileVersion = 1
)

// originDocument is the content of the file.
type originDocument struct {
	Version int                   `json:"version"`
	Origins map[string]originInfo `json:"origins"`
}

// OpenOriginFile opens the store at path. A file that does not exist, is damaged, or
// could have been written by other users is treated as empty. An error means that
// the file cannot be read.
func OpenOriginFile(path string) (*OriginFile, error) {
	if path == "" {
		return nil, errors.New("pool: origin file: empty path")
	}
	origins, err := readOrigins(path)
	if err != nil {
		return nil, fmt.Errorf("pool: origin file: %w", err)
	}
	return &OriginFile{path: path, origins: origins, changed: make(map[string]struct{})}, nil
}

// Get implements [OriginStore]. It reads no file, and the error is always nil.
func (s *OriginFile) Get(_ context.Context, origin string) ([]byte, error) {
	f := s.info(origin)
	if f == (originInfo{}) {
		return nil, nil
	}
	return f.encoded(), nil
}

// Put implements [OriginStore]. Save and Close write the data to the file. The error is always
// nil.
func (s *OriginFile) Put(_ context.Context, origin string, data []byte) error {
	s.update(origin, func(f *originInfo) { *f = decodeOriginInfo(data) })
	return nil
}

func (s *OriginFile) info(origin string) originInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.origins[origin]
}

func (s *OriginFile) update(origin string, change func(*originInfo)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	updateOrigin(s.origins, origin, change)
	s.changed[origin] = struct{}{}
	if len(s.changed) > 2*maxStoredOrigins {
		maps.DeleteFunc(s.changed, func(origin string, _ struct{}) bool {
			_, kept := s.origins[origin]
			return !kept
		})
	}
}

// Save merges the changes into the file, if there are any. Save replaces the file as a whole,
// makes it readable by its owner only, and creates its directory if necessary. Save fails if
// another process holds the lock of the file for 200 ms. Changes that could not be written are
// written by the next Save.
func (s *OriginFile) Save() error {
	s.saveMu.Lock()
	defer s.saveMu.Unlock()
	s.mu.Lock()
	mine := make(map[string]originInfo, len(s.changed))
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
	origins, err := readOrigins(s.path)
	if err != nil {
		return err
	}
	for origin, f := range mine {
		if !origins[origin].Updated.After(f.Updated) {
			origins[origin] = f
		}
	}
	trimOrigins(origins, maxStoredOrigins)
	b, err := json.Marshal(originDocument{originFileVersion, origins})
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

// Close calls Save.
func (s *OriginFile) Close() error { return s.Save() }

func readOrigins(path string) (map[string]originInfo, error) {
	none := make(map[string]originInfo)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path) // opening a named pipe could block forever
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
	if checkPrivate(info) != nil {
		return none, nil
	}
	b, err := io.ReadAll(io.LimitReader(f, maxOriginFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	var d originDocument
	if len(b) > maxOriginFile || json.Unmarshal(b, &d) != nil || d.Version != originFileVersion || d.Origins == nil {
		return none, nil
	}
	now := time.Now()
	maps.DeleteFunc(d.Origins, func(_ string, f originInfo) bool { return f.Updated.After(now.Add(time.Hour)) })
	for origin, f := range d.Origins {
		d.Origins[origin] = f.sanitized(now)
	}
	trimOrigins(d.Origins, maxStoredOrigins)
	return d.Origins, nil
}
