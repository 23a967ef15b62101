package bootstrap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Damaged cache files are downloaded again, in unconditional requests.
func TestBrokenCache(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"file gone":     func(dir string) error { return os.Remove(filepath.Join(dir, "dns.json")) },
		"file empty":    func(dir string) error { return os.WriteFile(filepath.Join(dir, "dns.json"), nil, 0o600) },
		"file torn":     func(dir string) error { return os.Truncate(filepath.Join(dir, "dns.json"), 50) },
		"sidecar gone":  func(dir string) error { return os.Remove(filepath.Join(dir, "dns.meta.json")) },
		"sidecar empty": func(dir string) error { return os.Truncate(filepath.Join(dir, "dns.meta.json"), 0) },
		"older sidecar": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "dns.json"), []byte(dns("newer", "zz")), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := newPublisher(t, map[string]string{"dns.json": dns("", "zz")})
			p.set(func() { p.header["Etag"] = `"v1"` })
			wantResolve(t, newResolver(t, Config{Dir: dir, BaseURL: p.URL}), domain("a.zz"), "iana zz https://zz.invalid/")
			if err := spoil(dir); err != nil {
				t.Fatal(err)
			}
			r := newResolver(t, Config{Dir: dir, BaseURL: p.URL})
			resolve(r, domain("a.zz"))
			wait(t, r)
			wantResolve(t, r, domain("a.zz"), "iana zz https://zz.invalid/")
			if n := p.count()["dns.json"]; n != 2 {
				t.Errorf("%d GETs, want 2", n)
			}
			if got := p.last().Get("If-None-Match"); got != "" {
				t.Errorf("conditional request (%s) for a file that is not cached", got)
			}
		})
	}
}

// A cached file from another base URL is ignored.
func TestCacheOfOtherBaseURL(t *testing.T) {
	dir := t.TempDir()
	one := newPublisher(t, map[string]string{"dns.json": dns("one", "zz")})
	two := newPublisher(t, map[string]string{"dns.json": dns("two", "zz")})
	for range 2 {
		wantResolve(t, newResolver(t, Config{Dir: dir, BaseURL: one.URL}), domain("a.zz"), "iana zz https://onezz.invalid/")
		wantResolve(t, newResolver(t, Config{Dir: dir, BaseURL: two.URL}), domain("a.zz"), "iana zz https://twozz.invalid/")
	}
}

// If the cache directory cannot be created, files stay in memory, with one warning.
func TestUnusableCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPublisher(t, wholeSet())
	var l listener
	r := newResolver(t, Config{Dir: filepath.Join(file, "cache"), BaseURL: p.URL, Warn: l.warn})
	for range 2 {
		wantResolve(t, r, domain("a.zz"), "iana zz https://zz.invalid/")
		wantResolve(t, r, autnum(64500), "iana 64496-64511 https://as.invalid/")
	}
	if got := l.heard(); len(got) != 1 || !strings.Contains(got[0], "continuing in memory") {
		t.Errorf("warnings: %q", got)
	}
	if n := p.count(); n["dns.json"] != 1 || n["asn.json"] != 1 {
		t.Errorf("GETs: %v", n)
	}
}

// A wrong clock in the past does not make a copy valid forever.
func TestFutureFetch(t *testing.T) {
	dir := t.TempDir()
	p := newPublisher(t, wholeSet())
	c := newClock()
	c.add(10000 * time.Hour)
	wantResolve(t, newResolver(t, Config{Dir: dir, BaseURL: p.URL, Now: c.now}), domain("a.zz"), "iana zz https://zz.invalid/")
	c.add(-10000 * time.Hour)
	r := newResolver(t, Config{Dir: dir, BaseURL: p.URL, Now: c.now})
	wantResolve(t, r, domain("a.zz"), "iana zz https://zz.invalid/")
	wait(t, r)
	if n := p.count()["dns.json"]; n != 2 {
		t.Errorf("%d GETs, want 2", n)
	}
}

func TestNewer(t *testing.T) {
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	snap := &edition{source: SourceSnapshot, published: now.AddDate(0, -2, 0)}
	at := func(published, expires time.Time) *edition {
		return &edition{source: SourceIANA, published: published, fetched: expires.Add(-time.Hour), expires: expires}
	}
	old, young := now.AddDate(0, -3, 0), now.AddDate(0, -1, 0)
	for name, tt := range map[string]struct {
		iana     *edition
		wantSnap bool
	}{
		"none":                {nil, true},
		"fresh, older":        {at(old, now.Add(time.Minute)), false},
		"stale, older":        {at(old, now.Add(-time.Minute)), true},
		"stale, newer":        {at(young, now.Add(-time.Minute)), false},
		"stale, of that day":  {at(snap.published, now.Add(-time.Minute)), false},
		"stale, without date": {at(time.Time{}, now.Add(-time.Minute)), true},
	} {
		if got := newer(tt.iana, snap, now); (got == snap) != tt.wantSnap {
			t.Errorf("%s: got %s", name, got.source)
		}
	}
}
