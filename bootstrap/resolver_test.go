package bootstrap

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// Offline resolvers answer only from the snapshot and the built-in list.
func TestSnapshot(t *testing.T) {
	r := newResolver(t, Config{Offline: true})
	for _, tt := range []struct {
		q    Question
		want string
	}{
		{domain("example.com"), "snapshot com https://rdap.verisign.com/com/v1/"},
		{domain("nic.bh"), "snapshot bh https://rdap.bhregistry.bh/rdap/"},
		{address("13.64.0.0"), "snapshot 13.0.0.0/8 https://rdap.arin.net/registry/"},
		{address("2001:240::/32"), "snapshot 2001:200::/23 https://rdap.apnic.net/"},
		{autnum(2043), "snapshot 2043 https://rdap.db.ripe.net/"},
		{entity("WA2477-RIPE"), "snapshot RIPE https://rdap.db.ripe.net/"},
		{domain("64.13.in-addr.arpa"), "snapshot 13.0.0.0/8 https://rdap.arin.net/registry/"},
		{domain("denic.de"), "unlisted de https://rdap.denic.de/"},
		{domain("x.example.XN--P1AI."), "unlisted xn--p1ai https://cctld.ru/tci-ripn-rdap/"},
	} {
		wantResolve(t, r, tt.q, tt.want)
	}
	if _, err := r.Resolve(t.Context(), domain("x.kg")); !errors.Is(err, ErrHTTPOnly) || !strings.Contains(err.Error(), "http://rdap.cctld.kg/") {
		t.Errorf("x.kg: %v; want ErrHTTPOnly with the URL", err)
	}
	wantResolve(t, newResolver(t, Config{Offline: true, AllowHTTP: true}), domain("x.kg"), "snapshot kg http://rdap.cctld.kg/")
	for _, info := range r.Info() {
		if info.Source != SourceSnapshot || info.Published.IsZero() || info.Entries == 0 || info.Fresh || info.URL != "" {
			t.Errorf("%v: %+v", info.Registry, info)
		}
	}
}

// A registry that has not changed for years does not make the snapshot look years old.
func TestSnapshotAge(t *testing.T) {
	taken := snapshotTaken()
	c := &clock{t: taken.Add(49 * time.Hour)}
	_, err := newResolver(t, Config{Offline: true, Now: c.now}).Resolve(t.Context(), address("10.0.0.1"))
	none, ok := errors.AsType[*NoServiceError](err)
	if !ok || none.Age != 49*time.Hour || !none.Published.Before(taken.AddDate(-1, 0, 0)) || !strings.Contains(err.Error(), ", a copy 2 days old (") {
		t.Errorf("%v: %+v", err, none)
	}
}

func TestIANAOnly(t *testing.T) {
	r := newResolver(t, Config{Offline: true, IANAOnly: true})
	if a, err := r.Resolve(t.Context(), domain("denic.de")); !errors.Is(err, ErrNoService) {
		t.Errorf("%+v, %v; want no service", a, err)
	}
}

func TestSourceOrder(t *testing.T) {
	o := Overrides{"com": {"https://mine.invalid"}, "13.64.0.0/16": {"https://mine.invalid/"}, "AS15169": {"http://mine.invalid/"}, "-ARIN": {"https://mine.invalid/"}}
	r := newResolver(t, Config{Offline: true, Overrides: o})
	wantResolve(t, r, domain("example.com"), "override com https://mine.invalid/")
	wantResolve(t, r, domain("example.net"), "snapshot net https://rdap.verisign.com/net/v1/")
	wantResolve(t, r, address("13.64.1.0/24"), "override 13.64.0.0/16 https://mine.invalid/")
	wantResolve(t, r, address("13.65.0.0"), "snapshot 13.0.0.0/8 https://rdap.arin.net/registry/")
	wantResolve(t, r, domain("1.64.13.in-addr.arpa"), "override 13.64.0.0/16 https://mine.invalid/")
	wantResolve(t, r, autnum(15169), "override 15169 http://mine.invalid/")
	wantResolve(t, r, entity("x-arin"), "override ARIN https://mine.invalid/")

	// The server is the answer to all questions, even to questions without another answer.
	p := newPublisher(t, wholeSet())
	r = newResolver(t, Config{Server: "http://127.0.0.1:1/rdap", Overrides: o, BaseURL: p.URL})
	for _, q := range []Question{domain("example.com"), domain("a.nosuch"), autnum(0), domain("0/25.2.0.192.in-addr.arpa")} {
		wantResolve(t, r, q, "server  http://127.0.0.1:1/rdap/")
	}
	wait(t, r)
	if n := p.count(); len(n) != 0 {
		t.Errorf("a named server made it fetch %v", n)
	}
}

// TestNoService covers questions without a server (case bs01).
func TestNoService(t *testing.T) {
	p := newPublisher(t, map[string]string{"dns.json": dns("", "example")})
	c := newClock()
	r := newResolver(t, Config{BaseURL: p.URL, Now: c.now})
	var none *NoServiceError
	_, err := r.Resolve(t.Context(), domain("alpha.zz"))
	if !errors.As(err, &none) || !errors.Is(err, ErrNoService) {
		t.Fatalf("got %v, want no service", err)
	}
	if none.Looked != ".zz" || none.Name != "alpha.zz" || !none.Fresh || none.Err != nil || none.Source != SourceIANA {
		t.Errorf("got %+v", none)
	}
	if got, want := err.Error(), "no RDAP service known for .zz by IANA's dns registry of 2026-01-01"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if n := p.count()["dns.json"]; n != 1 {
		t.Errorf("%d GETs, want 1", n)
	}
}

// An error from an old copy includes its age, and the reason why the copy is old.
func TestNoServiceFromOldCopy(t *testing.T) {
	dir := t.TempDir()
	p := newPublisher(t, map[string]string{"dns.json": dns("", "example")})
	c := newClock()
	r := newResolver(t, Config{Dir: dir, BaseURL: p.URL, Now: c.now})
	wantResolve(t, r, domain("a.example"), "iana example https://example.invalid/")
	p.set(func() { p.status = 500 })
	c.add(50 * time.Hour)
	var none *NoServiceError
	_, err := r.Resolve(t.Context(), domain("alpha.zz"))
	if !errors.As(err, &none) || none.Fresh || none.Age != 50*time.Hour || none.Err == nil {
		t.Fatalf("got %v: %+v", err, none)
	}
	want := "no RDAP service known for .zz by IANA's dns registry of 2026-01-01, a copy 2 days old (not refreshed: " + p.URL + "/dns.json: 500 Internal Server Error)"
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	off := newResolver(t, Config{Dir: dir, BaseURL: p.URL, Now: c.now, Offline: true})
	wantResolve(t, off, domain("a.example"), "iana example https://example.invalid/")
	if _, err := off.Resolve(t.Context(), domain("a.zz")); !errors.As(err, &none) || none.Fresh || none.Err == nil {
		t.Errorf("offline: %v", err)
	}
	_, err = newResolver(t, Config{Now: c.now, Offline: true}).Resolve(t.Context(), domain("a.zz"))
	if !errors.Is(err, errOffline) || !strings.Contains(err.Error(), "built-in snapshot of IANA's dns registry of 20") || !strings.Contains(err.Error(), "days old (not refreshed: offline") {
		t.Errorf("snapshot: %v", err)
	}
	if n := p.count()["dns.json"]; n != 2 {
		t.Errorf("%d GETs, want 2", n)
	}
}

// The caller's context limits the wait, not the refresh.
func TestCanceledWait(t *testing.T) {
	p, iana := newIANA(t, map[string]string{"object-tags.json": tags("arin", "b", "c", "new")})
	p.set(func() { p.gate = make(chan struct{}) })
	r := newResolver(t, Config{Client: iana})
	cause := errors.New("the user gave up")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if a, err := r.Resolve(ctx, entity("X-NEW")); !errors.Is(err, cause) || errors.Is(err, ErrNoService) {
		t.Errorf("%+v, %v; want the cause of the context", a, err)
	}
	if _, err := r.Resolve(ctx, entity("X-ARIN")); err != nil {
		t.Errorf("what needs no wait failed: %v", err)
	}
	if err := r.Wait(ctx); !errors.Is(err, cause) {
		t.Errorf("Wait: %v", err)
	}
	close(p.gate)
	wait(t, r)
	wantResolve(t, r, entity("X-NEW"), "iana NEW https://new.invalid/")
	if n := p.count()["rdap/object-tags.json"]; n != 1 {
		t.Errorf("%d GETs, want 1", n)
	}
}

func TestBadConfig(t *testing.T) {
	for name, c := range map[string]Config{
		"server":         {Server: "rdap.invalid"},
		"base URL":       {BaseURL: "file:///tmp/"},
		"http base URL":  {BaseURL: "http://192.0.2.1/"},
		"override":       {Overrides: Overrides{"zz": nil}},
		"override key":   {Overrides: Overrides{"192.0.2.1/24": {"https://a.invalid/"}}},
		"file":           {Files: map[Registry][]byte{RegistryDNS: []byte("<html>")}},
		"unknown file":   {Files: map[Registry][]byte{Registry(registries): []byte("{}")}},
		"file mixed up":  {Files: map[Registry][]byte{RegistryASN: []byte(dns("", "zz"))}},
		"file mixed up6": {Files: map[Registry][]byte{RegistryIPv4: []byte(services(`[["2001:db8::/32"],["https://a.invalid/"]]`))}},
	} {
		if r, err := New(c); err == nil {
			t.Errorf("%s: accepted", name)
			r.Close()
		}
	}
	newResolver(t, Config{BaseURL: "http://192.0.2.1/", AllowHTTP: true})
	if _, err := newResolver(t, Config{Offline: true}).Resolve(t.Context(), Question{Name: "x"}); err == nil || errors.Is(err, ErrNoService) {
		t.Errorf("a question without a class: %v", err)
	}
}

// Files replace all files that IANA publishes.
func TestFiles(t *testing.T) {
	p := newPublisher(t, wholeSet())
	r := newResolver(t, Config{Dir: t.TempDir(), BaseURL: p.URL, Files: map[Registry][]byte{RegistryDNS: []byte("\xef\xbb\xbf" + dns("", "zz"))}})
	wantResolve(t, r, domain("a.zz"), "iana zz https://zz.invalid/")
	wantResolve(t, r, domain("a.de"), "unlisted de https://rdap.denic.de/")
	var none *NoServiceError
	for _, q := range []Question{domain("a.com"), address("240.0.0.1"), autnum(64500), entity("X-ARIN")} {
		if a, err := r.Resolve(t.Context(), q); !errors.As(err, &none) || !none.Fresh {
			t.Errorf("%+v: %+v, %v; want no service", q, a, err)
		}
	}
	if n := p.count(); len(n) != 0 {
		t.Errorf("fetched %v", n)
	}
}

func TestClassString(t *testing.T) {
	for c, want := range map[Subject]string{ForDomain: "domain", ForAddress: "address", ForAutnum: "autnum", ForEntity: "entity", ForNameserver: "nameserver", 0: "Subject(0)"} {
		if c.String() != want {
			t.Errorf("%s, want %s", c, want)
		}
	}
}
