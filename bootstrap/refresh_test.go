package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// kinds has questions that the snapshot cannot answer, one per registry.
var kinds = map[string]struct {
	q    Question
	want string
}{
	"dns.json":         {domain("a.zz"), "iana zz https://zz.invalid/"},
	"ipv4.json":        {address("240.0.0.1"), "iana 240.0.0.0/8 https://rir4.invalid/"},
	"ipv6.json":        {domain("8.b.d.0.1.0.0.2.ip6.arpa"), "iana 2001:db8::/32 https://rir6.invalid/"},
	"asn.json":         {autnum(64500), "iana 64496-64511 https://as.invalid/"},
	"object-tags.json": {entity("X-TESTRIR"), "iana TESTRIR https://tag.invalid/"},
}

// All processes together download each registry once per lifetime, and only if a question needs
// the registry. Afterwards they revalidate it (case bs08).
func TestCache(t *testing.T) {
	for file, kind := range kinds {
		t.Run(file, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "made", "when needed")
			p := newPublisher(t, wholeSet())
			p.set(func() { p.header["Etag"] = `"v1"` })
			p.set(func() { p.header["Last-Modified"] = "Thu, 01 Jan 2026 00:00:00 GMT" })
			c := newClock()
			run := func(gets int) {
				t.Helper()
				r := newResolver(t, Config{Dir: dir, BaseURL: p.URL + "/", Now: c.now})
				for range 3 {
					wantResolve(t, r, kind.q, kind.want)
				}
				wait(t, r)
				if d := cmp.Diff(map[string]int{file: gets}, p.count()); d != "" {
					t.Error(d)
				}
			}
			run(1)
			c.add(59 * time.Minute)
			run(1)
			c.add(2 * time.Minute)
			run(2)
			last := p.last()
			if last.Get("If-None-Match") != `"v1"` || last.Get("If-Modified-Since") != p.header["Last-Modified"] {
				t.Errorf("no conditional request: %v", last)
			}
			// The 304 was fresh for another hour.
			c.add(59 * time.Minute)
			run(2)
		})
	}
}

// With a lifetime of 0 the next process revalidates, but not every lookup of this process does.
func TestExpiresAtOnce(t *testing.T) {
	dir := t.TempDir()
	p := newPublisher(t, wholeSet())
	p.set(func() { p.header["Cache-Control"] = "no-cache" })
	c := newClock()
	for run := range 2 {
		r := newResolver(t, Config{Dir: dir, BaseURL: p.URL, Now: c.now})
		for range 5 {
			wantResolve(t, r, domain("a.zz"), "iana zz https://zz.invalid/")
			wait(t, r)
		}
		if n := p.count()["dns.json"]; n != run+1 {
			t.Errorf("run %d: %d GETs, want %d", run, n, run+1)
		}
	}
}

// A lookup that the old copy can answer does not wait for the new copy.
func TestStaleCopyDoesNotWait(t *testing.T) {
	p := newPublisher(t, map[string]string{"dns.json": dns("old", "zz")})
	c := newClock()
	r := newResolver(t, Config{BaseURL: p.URL, Now: c.now})
	wantResolve(t, r, domain("a.zz"), "iana zz https://oldzz.invalid/")
	c.add(2 * time.Hour)
	gate := make(chan struct{})
	p.set(func() { p.gate, p.files["dns.json"] = gate, dns("new", "zz", "yy") })
	for range 3 {
		wantResolve(t, r, domain("a.zz"), "iana zz https://oldzz.invalid/")
	}
	var group sync.WaitGroup
	group.Go(func() { wantResolve(t, r, domain("a.yy"), "iana yy https://newyy.invalid/") })
	close(gate)
	group.Wait()
	wait(t, r)
	wantResolve(t, r, domain("a.zz"), "iana zz https://newzz.invalid/")
	if n := p.count()["dns.json"]; n != 2 {
		t.Errorf("%d GETs, want 2", n)
	}
}

// The snapshot also answers without a wait, and IANA's file replaces it.
func TestSnapshotIsRefreshed(t *testing.T) {
	p, iana := newIANA(t, map[string]string{"object-tags.json": tags("arin", "b", "c", "d")})
	p.set(func() { p.gate = make(chan struct{}) })
	r := newResolver(t, Config{Client: iana})
	wantResolve(t, r, entity("X-ARIN"), "snapshot ARIN https://rdap.arin.net/registry/")
	close(p.gate)
	wait(t, r)
	wantResolve(t, r, entity("X-ARIN"), "iana ARIN https://arin.invalid/")
	if info := r.Info()[RegistryObjectTags]; info.Source != SourceIANA || !info.Fresh || info.Entries != 4 || info.URL != DefaultBaseURL+"object-tags.json" || info.Err != nil {
		t.Errorf("%+v", info)
	}
	if d := cmp.Diff(map[string]int{"rdap/object-tags.json": 1}, p.count()); d != "" {
		t.Error(d)
	}
}

// A file that lacks most entries of the snapshot is an error.
func TestSnapshotIsNotReplacedBySmallerFile(t *testing.T) {
	var l listener
	p, iana := newIANA(t, map[string]string{"object-tags.json": tags("arin", "b"), "dns.json": dns("new", "com")})
	r := newResolver(t, Config{Client: iana, Warn: l.warn})
	for _, q := range []Question{entity("X-ARIN"), domain("a.com")} {
		resolve(r, q)
		wait(t, r)
	}
	wantResolve(t, r, entity("X-ARIN"), "snapshot ARIN https://rdap.arin.net/registry/")
	wantResolve(t, r, domain("a.com"), "snapshot com https://rdap.verisign.com/com/v1/")
	if got := l.heard(); len(got) != 1 || !strings.HasPrefix(got[0], "cannot refresh IANA's object-tags.json, using the built-in snapshot: object-tags.json: 2 entries") {
		t.Errorf("warnings: %q", got)
	}
	if d := cmp.Diff(map[string]int{"rdap/object-tags.json": 1, "rdap/dns.json": 1}, p.count()); d != "" {
		t.Error(d)
	}
}

// A stale cached file that is older than the snapshot does not hide the snapshot.
func TestSnapshotIsNewerThanCache(t *testing.T) {
	dir := t.TempDir()
	p, iana := newIANA(t, map[string]string{"object-tags.json": tags("arin", "b", "c", "d")})
	p.set(func() {
		p.files["object-tags.json"] = strings.Replace(p.files["object-tags.json"], "2026-01-01", "2020-01-01", 1)
	})
	p.set(func() { p.header["Etag"] = `"v1"` })
	c := newClock()
	run := func(first, then string) {
		t.Helper()
		r := newResolver(t, Config{Dir: dir, Client: iana, Now: c.now})
		wantResolve(t, r, entity("X-ARIN"), first)
		wait(t, r)
		wantResolve(t, r, entity("X-ARIN"), then)
	}
	const snap, cached = "snapshot ARIN https://rdap.arin.net/registry/", "iana ARIN https://arin.invalid/"
	run(snap, cached)
	run(cached, cached)
	c.add(2 * time.Hour)
	run(snap, cached) // after a 304 the cached file is current again
	if d := cmp.Diff(map[string]int{"rdap/object-tags.json": 2}, p.count()); d != "" {
		t.Error(d)
	}
}

// The files of another publisher take precedence over the snapshot, which is used if there are
// no files.
func TestOtherPublisher(t *testing.T) {
	p := newPublisher(t, map[string]string{"ipv4.json": services(`[["192.0.2.0/24"],["https://rir4.invalid/rdap/"]]`)})
	r := newResolver(t, Config{BaseURL: p.URL})
	wantResolve(t, r, domain("2.0.192.in-addr.arpa"), "iana 192.0.2.0/24 https://rir4.invalid/rdap/")
	for range 2 {
		wantResolve(t, r, domain("a.com"), "snapshot com https://rdap.verisign.com/com/v1/")
	}
	if d := cmp.Diff(map[string]int{"ipv4.json": 1, "dns.json": 1}, p.count()); d != "" {
		t.Error(d)
	}
}

// For a name in the built-in list the wait for IANA's file is limited.
func TestUnlistedIsUsedLast(t *testing.T) {
	p := newPublisher(t, map[string]string{"dns.json": dns("new", "de")})
	r := newResolver(t, Config{BaseURL: p.URL})
	wantResolve(t, r, domain("a.de"), "iana de https://newde.invalid/")
	wantResolve(t, r, domain("a.ch"), "unlisted ch https://rdap.nic.ch/")
	p = newPublisher(t, nil)
	p.set(func() { p.gate = make(chan struct{}) }) // the publisher never responds
	r = newResolver(t, Config{BaseURL: p.URL})
	r.fallbackWait = 0
	wantResolve(t, r, domain("a.de"), "unlisted de https://rdap.denic.de/")
	wantResolve(t, r, domain("a.com"), "snapshot com https://rdap.verisign.com/com/v1/")
}

// After an invalid download the old copy remains, and there is one warning. The next attempt
// waits, also in other processes.
func TestInvalidDownloadKeepsCopy(t *testing.T) {
	many := []string{"zz", "a", "b", "c", "d", "e"}
	for name, spoil := range map[string]func(p *publisher){
		"empty":       func(p *publisher) { p.files["dns.json"] = "" },
		"html":        func(p *publisher) { p.files["dns.json"] = "<html>log in first</html>" },
		"torn":        func(p *publisher) { p.files["dns.json"] = p.files["dns.json"][:60] },
		"no services": func(p *publisher) { p.files["dns.json"] = `{"version":"1.0","services":[]}` },
		"other file":  func(p *publisher) { p.files["dns.json"] = services(`[["1.0.0.0/8"],["https://a.invalid/"]]`) },
		"shrunken":    func(p *publisher) { p.files["dns.json"] = dns("new", "zz", "a") },
		"500":         func(p *publisher) { p.status = 500 },
		"404":         func(p *publisher) { p.status = 404 },
		"odd 304":     func(p *publisher) { p.status = 304 },
		"too large": func(p *publisher) {
			p.files["dns.json"] = dns("new", many...) + strings.Repeat(" ", maxFile)
		},
		"down": func(p *publisher) { p.CloseClientConnections(); p.Listener.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := newPublisher(t, map[string]string{"dns.json": dns("old", many...)})
			c := newClock()
			var l listener
			r := newResolver(t, Config{Dir: dir, BaseURL: p.URL, Now: c.now, Warn: l.warn})
			wantResolve(t, r, domain("a.zz"), "iana zz https://oldzz.invalid/")
			before, err := os.ReadFile(filepath.Join(dir, "dns.json"))
			if err != nil {
				t.Fatal(err)
			}
			c.add(2 * time.Hour)
			p.set(func() { spoil(p) })
			for range 3 {
				wantResolve(t, r, domain("a.zz"), "iana zz https://oldzz.invalid/")
				wait(t, r)
			}
			if got := l.heard(); len(got) != 1 || !strings.HasPrefix(got[0], "cannot refresh IANA's dns.json, using the cached copy: ") {
				t.Errorf("warnings: %q", got)
			}
			if info := r.Info()[RegistryDNS]; info.Err == nil || info.Fresh {
				t.Errorf("info: %+v", info)
			}
			after, err := os.ReadFile(filepath.Join(dir, "dns.json"))
			if err != nil || string(after) != string(before) {
				t.Errorf("the cached file changed: %v", err)
			}
			// Other processes read about the failure in the cache.
			other := newResolver(t, Config{Dir: dir, BaseURL: p.URL, Now: c.now})
			wantResolve(t, other, domain("a.zz"), "iana zz https://oldzz.invalid/")
			var none *NoServiceError
			if _, err := other.Resolve(t.Context(), domain("a.yy")); !errors.As(err, &none) || none.Fresh || none.Err == nil {
				t.Errorf("got %v, want no service with the reason", err)
			}
			wait(t, other)
			tries := 2
			if name == "down" {
				tries = 1
			}
			if n := p.count()["dns.json"]; n != tries {
				t.Errorf("%d GETs, want %d", n, tries)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); left != nil {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// After the pause the download is repeated, and a valid file clears the failure.
func TestRecovers(t *testing.T) {
	dir := t.TempDir()
	p := newPublisher(t, map[string]string{"dns.json": dns("", "zz")})
	p.set(func() { p.status = 503 })
	p.set(func() { p.header["Retry-After"] = "600" })
	c := newClock()
	r := newResolver(t, Config{Dir: dir, BaseURL: p.URL, Now: c.now})
	none := func(gets int) {
		t.Helper()
		if _, err := r.Resolve(t.Context(), domain("a.zz")); !errors.Is(err, ErrNoService) || !strings.Contains(err.Error(), "503") {
			t.Errorf("got %v, want no service because of a 503", err)
		}
		if n := p.count()["dns.json"]; n != gets {
			t.Errorf("%d GETs, want %d", n, gets)
		}
	}
	none(1)
	none(1)
	c.add(9 * time.Minute)
	none(1)
	c.add(2 * time.Minute)
	none(2)
	p.set(func() { p.status = 0 })
	c.add(11 * time.Minute)
	wantResolve(t, r, domain("a.zz"), "iana zz https://zz.invalid/")
	if info := r.Info()[RegistryDNS]; info.Err != nil || !info.Fresh {
		t.Errorf("%+v", info)
	}
	wantResolve(t, newResolver(t, Config{Dir: dir, BaseURL: p.URL, Now: c.now}), domain("a.zz"), "iana zz https://zz.invalid/")
	if n := p.count()["dns.json"]; n != 3 {
		t.Errorf("%d GETs, want 3", n)
	}
}

// Many goroutines and two resolvers on one directory send one request.
func TestSingleFlight(t *testing.T) {
	dir := t.TempDir()
	p := newPublisher(t, wholeSet())
	a := newResolver(t, Config{Dir: dir, BaseURL: p.URL})
	b := newResolver(t, Config{Dir: dir, BaseURL: p.URL})
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			r := a
			if i%2 == 1 {
				r = b
			}
			wantResolve(t, r, domain(fmt.Sprintf("a%d.zz", i)), "iana zz https://zz.invalid/")
			wantResolve(t, r, autnum(64500), "iana 64496-64511 https://as.invalid/")
			r.Info()
		})
	}
	group.Wait()
	if d := cmp.Diff(map[string]int{"dns.json": 1, "asn.json": 1}, p.count()); d != "" {
		t.Error(d)
	}
}

// Close cancels a download, which does not count as a failure, and leaves no goroutine. After
// Close, the resolver still answers from its copies.
func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	dir := t.TempDir()
	p := &publisher{files: map[string]string{"dns.json": dns("", "zz", "com")}, gets: make(map[string]int)}
	p.Server = httptest.NewServer(p)
	var l listener
	c := newClock()
	r, err := New(Config{Dir: dir, BaseURL: p.URL, Warn: l.warn, Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	wantResolve(t, r, domain("a.com"), "iana com https://com.invalid/")
	p.set(func() { p.gate = make(chan struct{}) })
	c.add(48 * time.Hour)
	wantResolve(t, r, domain("a.com"), "iana com https://com.invalid/")
	for p.count()["dns.json"] < 2 {
		runtime.Gosched()
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	wantResolve(t, r, domain("a.com"), "iana com https://com.invalid/")
	if got := resolve(r, domain("a.yy")); !strings.HasPrefix(got, "error: no RDAP service known for .yy") {
		t.Error(got)
	}
	if n := p.count(); n["dns.json"] != 2 || len(n) != 1 {
		t.Errorf("GETs: %v", n)
	}
	if got := l.heard(); got != nil {
		t.Errorf("warnings: %q", got)
	}
	p.Close()
	// Goroutines of the server and the transport end later.
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("goroutines left:\n%s", stacks[:runtime.Stack(stacks, true)])
		}
	}
	// The next process may try immediately.
	open := newPublisher(t, wholeSet())
	wantResolve(t, newResolver(t, Config{Dir: dir, BaseURL: open.URL}), domain("a.zz"), "iana zz https://zz.invalid/")
}

// A redirect never changes https to http.
func TestRedirects(t *testing.T) {
	plain := newPublisher(t, wholeSet())
	var to string
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case strings.HasPrefix(req.URL.Path, "/moved/"):
			http.Redirect(w, req, to, http.StatusFound)
		default:
			fmt.Fprint(w, dns("", "zz"))
		}
	}))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // one handshake fails on purpose
	secure.StartTLS()
	defer secure.Close()
	base := secure.URL + "/moved/"
	to = secure.URL + "/dns.json"
	wantResolve(t, newResolver(t, Config{BaseURL: base, Client: secure.Client()}), domain("a.zz"), "iana zz https://zz.invalid/")
	for _, to = range []string{plain.URL + "/dns.json", base + "dns.json"} {
		own := *secure.Client()
		for _, check := range []func(*http.Request, []*http.Request) error{nil, func(_ *http.Request, via []*http.Request) error {
			if len(via) > 3 {
				return errors.New("stopped")
			}
			return nil
		}} {
			own.CheckRedirect = check
			before := plain.count()["dns.json"]
			r := newResolver(t, Config{BaseURL: base, Client: &own})
			if got := resolve(r, domain("a.zz")); !strings.Contains(got, "no RDAP service") {
				t.Errorf("to %s: %s", to, got)
			}
			if check == nil && plain.count()["dns.json"] != before {
				t.Error("a request went out over plain http")
			}
		}
	}
	// An untrusted certificate is a failure like any other.
	if got := resolve(newResolver(t, Config{BaseURL: secure.URL}), domain("a.zz")); !strings.Contains(got, "certificate") {
		t.Error(got)
	}
}

// A closingHandler closes the Resolver that logs to it.
type closingHandler struct {
	slog.Handler
	r      atomic.Pointer[Resolver]
	closed atomic.Int64
}

func (h *closingHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *closingHandler) Handle(context.Context, slog.Record) error {
	if r := h.r.Load(); r != nil {
		r.Close()
		h.closed.Add(1)
	}
	return nil
}

// A Logger and Warn may call Close during a refresh, so Close must not wait for that
// refresh.
func TestCloseInCallback(t *testing.T) {
	for _, fails := range []bool{false, true} {
		p := &publisher{files: map[string]string{"dns.json": dns("", "zz", "com")}, gets: make(map[string]int)}
		p.Server = httptest.NewServer(p)
		t.Cleanup(p.Server.Close)
		h := new(closingHandler)
		c := newClock()
		warn := func(string) { _ = h.Handle(t.Context(), slog.Record{}) }
		r, err := New(Config{Dir: t.TempDir(), BaseURL: p.URL, Warn: warn, Logger: slog.New(h), Now: c.now})
		if err != nil {
			t.Fatal(err)
		}
		wantResolve(t, r, domain("a.com"), "iana com https://com.invalid/")
		if fails {
			p.set(func() { p.files = nil })
		}
		c.add(48 * time.Hour)
		h.r.Store(r)
		wantResolve(t, r, domain("a.com"), "iana com https://com.invalid/")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := r.Wait(ctx); err != nil {
			t.Fatalf("a refresh that calls Close hangs: %v", err)
		}
		cancel()
		if h.closed.Load() == 0 {
			t.Error("Close was not called")
		}
	}
}
