package pool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/statefile"
)

func openOrigins(t *testing.T, path string) *OriginFile {
	t.Helper()
	f, err := OpenOriginFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOriginFileKeepsInfo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "hosts.json")
	f := openOrigins(t, path)
	if got := f.info("https://a.example"); got != (originInfo{}) {
		t.Errorf("a store that is new knows %+v", got)
	}
	until := time.Now().Add(time.Hour).Round(0)
	f.update("https://a.example", func(f *originInfo) { f.Protocol, f.H3, f.H3Until = protoHTTP2, ":443", until })
	f.update("https://b.example", func(f *originInfo) { f.Streams = 7 })
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = openOrigins(t, path)
	if got := f.info("https://a.example"); got.Protocol != protoHTTP2 || got.H3 != ":443" || !got.H3Until.Equal(until) || !got.h3Usable(time.Now()) {
		t.Errorf("a: %+v", got)
	}
	if got := f.info("https://b.example"); got.Streams != 7 {
		t.Errorf("b: %+v", got)
	}
	if runtime.GOOS == "windows" {
		return
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// Several stores use one file, as several processes would. No information is lost, and newer
// information takes precedence.
func TestConcurrentOriginFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hosts.json")
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			f, err := OpenOriginFile(path)
			if err != nil {
				t.Error(err)
				return
			}
			f.update(fmt.Sprintf("https://host%d.example", i), func(f *originInfo) { f.Streams = i + 1 })
			f.update("https://shared.example", func(f *originInfo) { f.Streams = 100 })
			err = f.Save()
			// on a slow machine, Save may fail, loses nothing, and may be repeated
			for errors.Is(err, statefile.ErrBusy) {
				err = f.Save()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	f := openOrigins(t, path)
	for i := range 12 {
		if got := f.info(fmt.Sprintf("https://host%d.example", i)); got.Streams != i+1 {
			t.Errorf("host %d: %+v", i, got)
		}
	}
	older := openOrigins(t, path)
	older.update("https://shared.example", func(f *originInfo) { f.Streams = 1 })
	f.update("https://shared.example", func(f *originInfo) { f.Streams = 2 })
	for _, s := range []*OriginFile{f, older} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := openOrigins(t, path).info("https://shared.example"); got.Streams != 2 {
		t.Errorf("the older one won: %+v", got)
	}
	if got := older.info("https://shared.example"); got.Streams != 1 && got.Streams != 2 {
		t.Errorf("%+v", got)
	}
}

func TestInvalidOriginInfo(t *testing.T) {
	now := time.Now()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"empty": "", "torn": `{"version":1,"origins":{"https://a.exa`, "other version": `{"version":99,"origins":{"https://a.example":{"streams":5}}}`,
		"no JSON": "hello", "null": `{"version":1,"origins":null}`,
		"from the future": fmt.Sprintf(`{"version":1,"origins":{"https://a.example":{"streams":5,"updated":%q}}}`, now.Add(48*time.Hour).Format(time.RFC3339)),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		f := openOrigins(t, path)
		if got := f.info("https://a.example"); got != (originInfo{}) {
			t.Errorf("%s: %+v", name, got)
		}
		f.update("https://b.example", func(f *originInfo) { f.Streams = 3 })
		if err := f.Close(); err != nil {
			t.Error(name, err)
		}
		if got := openOrigins(t, path).info("https://b.example"); got.Streams != 3 {
			t.Errorf("%s, and then written: %+v", name, got)
		}
	}
	if runtime.GOOS != "windows" {
		path := filepath.Join(dir, "public")
		content := fmt.Sprintf(`{"version":1,"origins":{"https://a.example":{"streams":5,"updated":%q}}}`, now.Format(time.RFC3339))
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := openOrigins(t, path).info("https://a.example"); got.Streams != 5 {
			t.Errorf("private file: %+v", got)
		}
		if err := os.Chmod(path, 0o666); err != nil {
			t.Fatal(err)
		}
		if got := openOrigins(t, path).info("https://a.example"); got != (originInfo{}) {
			t.Errorf("file that others can write: %+v", got)
		}
	}
	for _, path := range []string{dir, ""} {
		if _, err := OpenOriginFile(path); err == nil {
			t.Errorf("%q was opened", path)
		}
	}
	far := originInfo{
		H3: ":443", H3Until: now.Add(1000 * time.Hour), QUICBlocked: now.Add(1000 * time.Hour), QUICFailures: 3,
		PerConn: 1, PerConnUntil: now.Add(1000 * time.Hour), Protocol: "gopher", Streams: -1,
	}
	if got := far.sanitized(now); got != (originInfo{}) {
		t.Errorf("believed %+v", got)
	}
}

func TestOriginFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hosts.json")
	f := openOrigins(t, path)
	cache := newMemoryOriginStore()
	for i := range 2*maxStoredOrigins + 1000 {
		for _, s := range []originStore{f, cache} {
			s.update(fmt.Sprintf("https://host%d.example", i), func(f *originInfo) { f.Streams = 1 })
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	saved := openOrigins(t, path)
	if n := len(saved.origins); n != maxStoredOrigins {
		t.Errorf("%d origins in the file, want %d", n, maxStoredOrigins)
	}
	last := fmt.Sprintf("https://host%d.example", 2*maxStoredOrigins+999)
	for _, s := range []originStore{saved, cache} {
		if s.info(last).Streams != 1 || s.info("https://host0.example").Streams != 0 {
			t.Error("not the oldest were dropped")
		}
	}
	if n := len(cache.origins); n > maxStoredOrigins+maxStoredOrigins/8 {
		t.Errorf("%d origins in memory", n)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxOriginFile {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
}

func TestBlockedQUICDoublesAndIsBounded(t *testing.T) {
	now := time.Now()
	var f originInfo
	f.H3, f.H3Until = ":443", now.Add(48*time.Hour)
	for i, want := range []time.Duration{5, 10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440, 1440} {
		f.blockQUIC(now)
		if got := f.QUICBlocked.Sub(now); got != want*time.Minute {
			t.Errorf("failure %d blocks for %v, want %v", i+1, got, want*time.Minute)
		}
		if f.h3Usable(now) || f.h3Usable(f.QUICBlocked.Add(-time.Second)) || !f.h3Usable(f.QUICBlocked) {
			t.Error("tried while it is blocked, or not afterwards")
		}
	}
	if f.unblockQUIC(); !f.h3Usable(now) || f.QUICFailures != 0 {
		t.Errorf("%+v", f)
	}
}
