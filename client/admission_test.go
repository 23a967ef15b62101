package client

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/gate"
)

func TestPerHostBounds(t *testing.T) {
	if g := (Config{PerHost: 3}).withDefaults().gate(); g.Start != 3 || g.Max != 3 {
		t.Errorf("PerHost 3: from %d to %d", g.Start, g.Max)
	}
	for jobs, want := range map[int]int{4: 8, 32: 32, 1000: 64} {
		if g := (Config{Jobs: jobs}).withDefaults().gate(); g.Start != DefaultPerHost || g.Max != want {
			t.Errorf("%d jobs: from %d to %d", jobs, g.Start, g.Max)
		}
	}
}

// send sends one request to h, with the outcome s.
func send(t *testing.T, h *gate.Host, s gate.Outcome) {
	t.Helper()
	k := h.Acquire(time.Now(), gate.Request{MaxWait: time.Hour})
	if k.Verdict != gate.Allow {
		t.Fatalf("not granted: %+v", k)
	}
	s.Decision, s.Now = k, time.Now()
	h.Observe(s)
}

// The error of a request that is not sent names the reason.
func TestErrorsOfHosts(t *testing.T) {
	hosts := gate.New(Config{}.withDefaults().gate())
	at := func(name string) *gate.Host { return hosts.At(&url.URL{Scheme: "https", Host: name}) }
	refused := errors.New("refused")
	for range 5 {
		send(t, at("dead.example"), gate.Outcome{Kind: gate.Unreachable, Cause: &Error{Code: CodeRefused, Message: "it refused the connection", Err: refused}})
	}
	e := deadError(at("dead.example"))
	if e.Code != CodeRefused || !strings.HasPrefix(e.Message, "not sent: dead.example failed 5 times") ||
		!strings.HasSuffix(e.Message, "last error: it refused the connection") || !errors.Is(e, refused) {
		t.Errorf("%+v", e)
	}
	for range 20 {
		send(t, at("wall.example"), gate.Outcome{Kind: gate.Walled, Cause: &Error{Code: CodeForbidden, Message: "403 Forbidden"}})
	}
	e = deadError(at("wall.example"))
	if e.Code != CodeRateLimited || !strings.Contains(e.Message, "refused 20 requests in a row with non-RDAP responses; last error: 403 Forbidden") {
		t.Errorf("%+v", e)
	}
	now := time.Now()
	for range 2 {
		send(t, at("busy.example"), gate.Outcome{Kind: gate.Throttled, RetryAfter: time.Hour})
	}
	e = limitError(at("busy.example"), now, now.Add(time.Hour))
	if e.Code != CodeRateLimited || e.RetryAfter != time.Hour || e.HintCode != HintMaxWait || !strings.Contains(e.Message, "requests to busy.example are paused") {
		t.Errorf("%+v", e)
	}
	e = limitError(at("rdap.org"), now, now.Add(10*time.Second))
	if e.Code != CodeRateLimited || !strings.Contains(e.Message, "are limited to 10 per 10s") {
		t.Errorf("%+v", e)
	}
}

// A batch stops using a host that was dropped, because another lookup may have created a new
// host with the same name.
func TestForgottenHost(t *testing.T) {
	c, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := newBatch(t.Context(), c, nil)
	b.hostOf("https://rdap.example/")
	for i := range 5000 {
		c.hosts.At(&url.URL{Scheme: "https", Host: "h" + time.Duration(i).String() + ".example"})
	}
	if b.hostOf("https://rdap.example/") != c.hosts.At(&url.URL{Scheme: "https", Host: "rdap.example"}) {
		t.Error("a forgotten host is used")
	}
	for i := range 2 * maxBases {
		b.hostOf("https://rdap.example/" + time.Duration(i).String() + "/")
	}
	if n := len(b.bases); n > maxBases {
		t.Errorf("%d base URLs", n)
	}
}
