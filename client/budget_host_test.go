package client

import (
	"net/url"
	"testing"
	"testing/synctest"
	"time"
)

func testHost(cfg Config) *host {
	hs := newHosts(cfg.withDefaults())
	return hs.at(&url.URL{Scheme: "https", Host: "rdap.example"})
}

// request makes a request at h that is answered after so long, in a bubble.
func request(t *testing.T, h *host, p pass, took time.Duration, s sample) {
	t.Helper()
	sent := time.Now()
	k := h.take(sent, p)
	if k.grant != granted {
		t.Fatalf("not granted: %+v", k)
	}
	time.Sleep(took)
	s.sent, s.now, s.probe = sent, time.Now(), k.probe
	h.observe(s)
}

func (h *host) look(p pass) ticket {
	k := h.take(time.Now(), p)
	if k.grant == granted {
		h.unsent(k.probe)
	}
	return k
}

var inBatch = pass{maxWait: 10 * time.Minute}

// TestHostInfers: a server that allows 10 requests in 3 seconds teaches that.
func TestHostInfers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := testHost(Config{})
		begin := time.Now()
		for range 10 {
			request(t, h, inBatch, 10*time.Millisecond, sample{effect: answered})
		}
		request(t, h, inBatch, 10*time.Millisecond, sample{effect: throttled, retryAfter: 3 * time.Second})
		if h.rate.N != 10 || h.rate.Per < 3*time.Second || h.rate.Per > 3200*time.Millisecond {
			t.Errorf("learned %v", h.rate)
		}
		k := h.look(inBatch)
		if k.grant != later || !k.at.Equal(time.Now().Add(3*time.Second)) {
			t.Errorf("asked again: %+v", k)
		}
		// As many as the server allows, in every span of it from here on.
		granted := 0
		for time.Since(begin) < 33*time.Second {
			switch k := h.look(inBatch); {
			case k.grant == 0:
				request(t, h, inBatch, time.Millisecond, sample{effect: answered})
				granted++
			case k.at.IsZero():
				t.Fatalf("waits for nothing: %+v", k)
			default:
				time.Sleep(time.Until(k.at))
			}
		}
		if granted < 80 || granted > 100 {
			t.Errorf("%d requests in 30 s", granted)
		}
	})
}

// TestHostInfersOnce: what is answered after the first refusal was let through
// before it, and more refusals tell nothing new.
func TestHostInfersOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := testHost(Config{})
		sent := time.Now()
		for range 8 {
			if k := h.take(sent, inBatch); k.grant != granted {
				t.Fatal(k)
			}
		}
		limit := h.adaptive.limit()
		for _, e := range []effect{answered, answered, throttled, answered, throttled, throttled, answered, answered} {
			time.Sleep(time.Millisecond)
			h.observe(sample{effect: e, sent: sent, now: time.Now(), retryAfter: 2 * time.Second, beside: 8})
		}
		if h.rate.N != 5 || h.throttles != 1 || h.window.flying != 0 {
			t.Errorf("learned %v, %d throttles, %d in flight", h.rate, h.throttles, h.window.flying)
		}
		if h.adaptive.limit() != 1 || h.adaptive.steady != limit/2 {
			t.Errorf("limit %d up to %d", h.adaptive.limit(), h.adaptive.steady)
		}
	})
}

// TestHostInfersFromWhatWasUnderWay: a request that was granted before the first
// refusal, and goes out after it since its goroutine got no time, was refused for
// the same reason: it is no sign that even less is allowed.
func TestHostInfersFromWhatWasUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Config{Resolver: byLabel{}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		u := &url.URL{Scheme: "https", Host: "rdap.example", Path: "/"}
		h := c.hosts.at(u)
		for range 10 {
			request(t, h, inBatch, time.Millisecond, sample{effect: answered})
		}
		first, second := h.take(time.Now(), inBatch), h.take(time.Now(), inBatch)
		late := &attempt{c: c, task: &task{host: h, taken: true, granted: second.at}}
		time.Sleep(time.Millisecond)
		h.observe(sample{effect: throttled, sent: first.at, now: time.Now(), retryAfter: 3 * time.Second})
		learned := h.rate
		time.Sleep(time.Second)
		if !late.enter(u, nil) {
			t.Fatal("not let through with its grant")
		}
		late.observe(sample{effect: throttled, retryAfter: 2 * time.Second})
		if learned.N != 10 || h.rate != learned || h.throttles != 1 {
			t.Errorf("learned %v, then %v by %d refusals", learned, h.rate, h.throttles)
		}
	})
}

func TestHostRefines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := testHost(Config{})
		h.rate, h.learned, h.window.grain = Rate{10, time.Second}, time.Now(), time.Second/windowGrains
		for range 4 {
			request(t, h, inBatch, time.Millisecond, sample{effect: answered})
		}
		request(t, h, inBatch, time.Millisecond, sample{effect: throttled, retryAfter: time.Second})
		if h.rate != (Rate{4, time.Second}) {
			t.Errorf("fewer than thought: %v", h.rate)
		}
		time.Sleep(10 * time.Second)
		request(t, h, inBatch, time.Millisecond, sample{effect: throttled})
		if h.rate != (Rate{4, 1250 * time.Millisecond}) {
			t.Errorf("longer than thought: %v", h.rate)
		}
		// It may have been somebody else who used it up.
		for range 5 * 60 * 4 * 2 {
			if h.look(inBatch).grant == granted {
				request(t, h, inBatch, time.Millisecond, sample{effect: answered})
			}
			time.Sleep(125 * time.Millisecond)
		}
		h.look(inBatch)
		if h.rate != (Rate{6, 1250 * time.Millisecond}) {
			t.Errorf("after minutes without a refusal: %v", h.rate)
		}
		time.Sleep(learnedFor + time.Minute)
		if h.look(inBatch); !h.rate.IsZero() {
			t.Errorf("not forgotten: %v", h.rate)
		}
	})
}

// TestHostBacksOff: without Retry-After pauses grow, up to a bound, and an
// answer ends that; one request at a time finds out.
func TestHostBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := testHost(Config{})
		patient := pass{maxWait: 10 * time.Hour}
		longest := time.Duration(0)
		for i := range 60 {
			request(t, h, patient, time.Millisecond, sample{effect: throttled})
			k := h.look(patient)
			pause := time.Until(k.at)
			most := min(pauseBase<<min(i, 20), pauseMost)
			if k.grant != later || pause <= 0 || pause > most+time.Millisecond {
				t.Fatalf("pause %d is %v, at most %v: %+v", i, pause, most, k)
			}
			longest = max(longest, pause)
			// Who waits no longer than it has refused by now gives up.
			so := time.Now().Add(pause).Sub(h.throttledSince)
			if k := h.look(pass{maxWait: so - 1}); k.grant != givenUpLimit {
				t.Errorf("after %v: %+v", so, k)
			}
			time.Sleep(pause)
		}
		if longest < pauseMost/4 {
			t.Errorf("no pause of 60 was longer than %v", longest)
		}
		k := h.take(time.Now(), inBatch)
		if k.grant != granted || !k.careful {
			t.Fatalf("%+v", k)
		}
		if beside := h.look(inBatch); beside.grant != later || !beside.at.IsZero() {
			t.Errorf("a second one: %+v", beside)
		}
		sent := time.Now()
		time.Sleep(time.Millisecond)
		h.observe(sample{effect: answered, sent: sent, now: time.Now()})
		if k := h.look(inBatch); k.grant != granted || k.careful {
			t.Errorf("after an answer: %+v", k)
		}
		if !h.rate.IsZero() {
			t.Errorf("a limit of %v was made up", h.rate)
		}
	})
}

func TestHostMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			after time.Duration
			p     pass
			grant grant
			wait  time.Duration
		}{
			{2 * time.Second, inBatch, later, 2 * time.Second},
			{time.Hour, inBatch, givenUpLimit, time.Hour},
			{365 * 24 * time.Hour, inBatch, givenUpLimit, maxPause},
			{2 * time.Second, pass{single: true, maxWait: DefaultMaxWait}, later, 2 * time.Second},
			// A single lookup asks again when it has waited as long as it may.
			{time.Hour, pass{single: true, maxWait: DefaultMaxWait}, later, DefaultMaxWait},
			{time.Hour, pass{single: true}, granted, 0},
		} {
			h := testHost(Config{})
			request(t, h, inBatch, 0, sample{effect: throttled, retryAfter: tt.after})
			k := h.look(tt.p)
			if k.grant != tt.grant || k.grant != granted && !k.at.Equal(time.Now().Add(tt.wait)) {
				t.Errorf("%v, %+v: %+v", tt.after, tt.p, k)
			}
			if k.grant == givenUpLimit {
				e := h.limitError(time.Now(), k.at)
				if e.Code != CodeRateLimited || e.RetryAfter != tt.wait {
					t.Errorf("%+v", e)
				}
			}
		}
	})
}

func TestHostsConfig(t *testing.T) {
	hs := newHosts(Config{
		Groups: map[string]string{"A.Example": "one", "b.example:443": "one", "rdap.org": "two", "c.example": "three"},
		Rates:  map[string]Rate{"b.example": {5, time.Second}, "a.example": {7, time.Second}, "rdap.lacnic.net": {}, "three": {1, time.Hour}, "c.example": {9, time.Second}},
	}.withDefaults())
	for host, want := range map[string]struct {
		name string
		rate Rate
	}{
		"a.example":           {"one", Rate{5, time.Second}}, // the stricter of its hosts
		"b.example":           {"one", Rate{5, time.Second}},
		"rdap.org":            {"two", Rate{10, 10 * time.Second}},
		"c.example":           {"three", Rate{1, time.Hour}}, // what is said of the group
		"rdap.centralnic.com": {"rdap.centralnic.com", Rate{1800, 15 * time.Minute}},
		"rdap.lacnic.net":     {"rdap.lacnic.net", Rate{}},
		"rdap.org:8443":       {"two", Rate{10, 10 * time.Second}},
		"other.example:1":     {"other.example:1", Rate{}},
	} {
		h := hs.at(&url.URL{Scheme: "https", Host: host})
		if h.name != want.name || h.rate != want.rate {
			t.Errorf("%s: %q, %v; want %q, %v", host, h.name, h.rate, want.name, want.rate)
		}
	}
	if a, b := hs.at(&url.URL{Scheme: "https", Host: "A.example:443"}), hs.at(&url.URL{Scheme: "https", Host: "b.example"}); a != b {
		t.Error("two hosts of a group count apart")
	}
}

func TestHostsBounded(t *testing.T) {
	hs := newHosts(Config{}.withDefaults())
	kept := hs.at(&url.URL{Scheme: "https", Host: "kept.example"})
	hs.keep(kept)
	for i := range 3 * maxIdleHosts {
		hs.at(&url.URL{Scheme: "https", Host: "h" + time.Duration(i).String() + ".example"})
	}
	if n := len(hs.byName); n > 2*maxIdleHosts {
		t.Errorf("%d hosts", n)
	}
	if hs.at(&url.URL{Scheme: "https", Host: "kept.example"}) != kept {
		t.Error("a host in use is forgotten")
	}
}
