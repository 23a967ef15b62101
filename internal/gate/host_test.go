package gate

import (
	"cmp"
	"math/rand/v2"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdapq/rdapq/limit"
)

// testHost returns a host of cfg, by default with 8 requests in flight at first and
// 64 at most.
func testHost(cfg Config) *Host {
	cfg.Start, cfg.Max = cmp.Or(cfg.Start, 8), cmp.Or(cfg.Max, 64)
	hs := New(cfg)
	h := hs.At(&url.URL{Scheme: "https", Host: "rdap.example"})
	random := rand.New(rand.NewPCG(1, 5)) // yields the same pauses in each run
	h.random = func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d))) }
	return h
}

// request simulates a request to h that gets its outcome after took, in a synctest
// bubble.
func request(t *testing.T, h *Host, p Request, took time.Duration, s Outcome) {
	t.Helper()
	sent := time.Now()
	k := h.Acquire(sent, p)
	if k.Verdict != Allow {
		t.Fatalf("not granted: %+v", k)
	}
	time.Sleep(took)
	s.Decision, s.Now = k, time.Now()
	h.Observe(s)
}

func (h *Host) look(p Request) Decision {
	k := h.Acquire(time.Now(), p)
	if k.Verdict == Allow {
		h.Refund(k)
	}
	return k
}

var inBatch = Request{MaxWait: 10 * time.Minute}

const singleWait = 10 * time.Second

func TestHostMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			after time.Duration
			p     Request
			grant Verdict
			wait  time.Duration
		}{
			{2 * time.Second, inBatch, Wait, 2 * time.Second},
			{time.Hour, inBatch, RejectLimit, time.Hour},
			{365 * 24 * time.Hour, inBatch, RejectLimit, limit.MaxPause},
			{2 * time.Second, Request{Single: true, MaxWait: singleWait}, Wait, 2 * time.Second},
			{time.Hour, Request{Single: true, MaxWait: singleWait}, RejectLimit, time.Hour},
			{time.Hour, Request{Single: true}, RejectLimit, time.Hour},
			// A single lookup retries although the pause is longer, if it waits long enough.
			{time.Hour, Request{Single: true, MaxWait: singleRetry}, Wait, singleRetry},
		} {
			h := testHost(Config{})
			for range 2 { // a single refusal would be isolated
				request(t, h, inBatch, 0, Outcome{Kind: Throttled, RetryAfter: tt.after})
			}
			k := h.look(tt.p)
			if k.Verdict != tt.grant || k.Verdict != Allow && !k.At.Equal(time.Now().Add(tt.wait)) {
				t.Errorf("%v, %+v: %+v", tt.after, tt.p, k)
			}
			if tt.p.Single && tt.after > singleRetry { // later, each refusal starts the time again
				time.Sleep(singleRetry)
				for _, want := range []Verdict{Allow, RejectLimit} {
					if k := h.look(Request{Single: true}); k.Verdict != want {
						t.Errorf("%v, %+v, %v later: %+v, want verdict %v", tt.after, tt.p, singleRetry, k, want)
					}
					if want == Allow {
						request(t, h, Request{Single: true}, 0, Outcome{Kind: Throttled, RetryAfter: tt.after})
					}
				}
			}
		}
	})
}

func TestHostsConfig(t *testing.T) {
	hs := New(Config{
		Groups: map[string]string{"A.Example": "one", "b.example:443": "one", "rdap.org": "two", "c.example": "three"},
		Rates:  map[string]limit.Rate{"b.example": {N: 5, Per: time.Second}, "a.example": {N: 7, Per: time.Second}, "rdap.lacnic.net": {}, "three": {N: 1, Per: time.Hour}, "c.example": {N: 9, Per: time.Second}},
	})
	for host, want := range map[string]struct {
		name string
		rate limit.Rate
	}{
		// the stricter rate of the group's hosts
		"a.example":           {"one", limit.Rate{N: 5, Per: time.Second}},
		"b.example":           {"one", limit.Rate{N: 5, Per: time.Second}},
		"rdap.org":            {"two", limit.Rate{N: 10, Per: 10 * time.Second}},
		"c.example":           {"three", limit.Rate{N: 1, Per: time.Hour}}, // the rate of the group
		"rdap.centralnic.com": {"rdap.centralnic.com", limit.Rate{N: 1800, Per: 15 * time.Minute}},
		"rdap.lacnic.net":     {"rdap.lacnic.net", limit.Rate{}},
		"rdap.org:8443":       {"two", limit.Rate{N: 10, Per: 10 * time.Second}},
		"other.example:1":     {"other.example:1", limit.Rate{}},
	} {
		h := hs.At(&url.URL{Scheme: "https", Host: host})
		if h.name != want.name || h.rate != want.rate {
			t.Errorf("%s: %q, %v; want %q, %v", host, h.name, h.rate, want.name, want.rate)
		}
	}
	if a, b := hs.At(&url.URL{Scheme: "https", Host: "A.example:443"}), hs.At(&url.URL{Scheme: "https", Host: "b.example"}); a != b {
		t.Error("two hosts of a group count apart")
	}
}

func TestHostsBounded(t *testing.T) {
	hs := New(Config{Start: 8, Max: 10})
	kept := hs.At(&url.URL{Scheme: "https", Host: "kept.example"})
	hs.Keep(kept)
	known := hs.At(&url.URL{Scheme: "https", Host: "known.example"})
	known.adaptive.useful = GrowAfter
	for i := range 3 * maxIdleHosts {
		hs.At(&url.URL{Scheme: "https", Host: "h" + time.Duration(i).String() + ".example"})
	}
	if n := len(hs.byName); n > maxNewHosts+2 {
		t.Errorf("%d hosts", n)
	}
	if hs.At(&url.URL{Scheme: "https", Host: "kept.example"}) != kept {
		t.Error("a host in use is forgotten")
	}
	if hs.At(&url.URL{Scheme: "https", Host: "known.example"}) != known {
		t.Error("a host about which much is known is forgotten")
	}
	for i := range 3 * maxIdleHosts {
		hs.At(&url.URL{Scheme: "https", Host: "k" + time.Duration(i).String() + ".example"}).adaptive.useful = GrowAfter
	}
	if n := len(hs.byName); n > maxIdleHosts+2*maxNewHosts {
		t.Errorf("%d hosts", n)
	}
}
