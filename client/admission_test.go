package client

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestPerHostBounds(t *testing.T) {
	if g := (Config{PerHost: 3}).withDefaults().gate(); g.start != 3 || g.max != 3 {
		t.Errorf("PerHost 3: from %d to %d", g.start, g.max)
	}
	for jobs, want := range map[int]int{4: 8, 32: 32, 1000: 64} {
		if g := (Config{Jobs: jobs}).withDefaults().gate(); g.start != DefaultPerHost || g.max != want {
			t.Errorf("%d jobs: from %d to %d", jobs, g.start, g.max)
		}
	}
}

// failAt sends one request to h, which fails with e.
func failAt(t *testing.T, h *host, s sample) {
	t.Helper()
	k := h.take(time.Now(), pass{maxWait: time.Hour})
	if k.grant != granted {
		t.Fatalf("not granted: %+v", k)
	}
	s.ticket, s.now = k, time.Now()
	h.observe(s)
}

// TestErrorsOfHosts: the errors of requests that are not sent name the reason.
func TestErrorsOfHosts(t *testing.T) {
	hosts := newHosts(Config{}.withDefaults().gate())
	at := func(name string) *host { return hosts.at(&url.URL{Scheme: "https", Host: name}) }
	refused := errors.New("refused")
	for range 5 {
		failAt(t, at("dead.example"), sample{effect: unreachable, cause: &Error{Code: CodeRefused, Message: "it refused the connection", Err: refused}})
	}
	e := deadError(at("dead.example"))
	if e.Code != CodeRefused || !strings.HasPrefix(e.Message, "not sent: dead.example failed 5 times") ||
		!strings.HasSuffix(e.Message, "the last with: it refused the connection") || !errors.Is(e, refused) {
		t.Errorf("%+v", e)
	}
	for range 20 {
		failAt(t, at("wall.example"), sample{effect: walled, cause: &Error{Code: CodeForbidden, Message: "403 Forbidden"}})
	}
	e = deadError(at("wall.example"))
	if e.Code != CodeRateLimited || !strings.Contains(e.Message, "refused 20 requests in a row without RDAP, the last with: 403 Forbidden") {
		t.Errorf("%+v", e)
	}
	now := time.Now()
	for range 2 {
		failAt(t, at("busy.example"), sample{effect: throttled, retryAfter: time.Hour})
	}
	e = limitError(at("busy.example"), now, now.Add(time.Hour))
	if e.Code != CodeRateLimited || e.RetryAfter != time.Hour || e.HintCode != HintMaxWait || !strings.Contains(e.Message, "left alone") {
		t.Errorf("%+v", e)
	}
	e = limitError(at("rdap.org"), now, now.Add(10*time.Second))
	if e.Code != CodeRateLimited || !strings.Contains(e.Message, "at most 10/10s") {
		t.Errorf("%+v", e)
	}
}

// A batch does not go on with a host that has been forgotten: another lookup may
// have another one of its name.
func TestForgottenHost(t *testing.T) {
	c, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := newBatch(t.Context(), c)
	b.hostOf("https://rdap.example/")
	for i := range 2 * maxNewHosts {
		c.hosts.at(&url.URL{Scheme: "https", Host: "h" + time.Duration(i).String() + ".example"})
	}
	if b.hostOf("https://rdap.example/") != c.hosts.at(&url.URL{Scheme: "https", Host: "rdap.example"}) {
		t.Error("a forgotten host is used")
	}
	for i := range 2 * maxBases {
		b.hostOf("https://rdap.example/" + time.Duration(i).String() + "/")
	}
	if n := len(b.bases); n > maxBases {
		t.Errorf("%d base URLs", n)
	}
}
