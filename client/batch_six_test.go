package client_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/internal/testrun"
	"github.com/rdapq/rdapq/limit"
)

// A strict server allows a number of requests in a sliding window.
type strict struct {
	n   int
	per time.Duration

	mu      sync.Mutex
	allowed []time.Time
	refused int
}

func (s *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	now := time.Now()
	for len(s.allowed) > 0 && now.Sub(s.allowed[0]) >= s.per {
		s.allowed = s.allowed[1:]
	}
	wait := time.Duration(0)
	if len(s.allowed) < s.n {
		s.allowed = append(s.allowed, now)
	} else {
		s.refused++
		wait = s.allowed[0].Add(s.per).Sub(now)
	}
	s.mu.Unlock()
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	w.Header().Set("Content-Type", "application/rdap+json")
	fmt.Fprintf(w, `{"objectClassName":"domain","ldhName":%q}`, path.Base(r.URL.Path))
}

// TestBatchSixServers checks that no server affects the lines of another server, and that the
// batch learns the limit of one. It uses the clock of a bubble, because on a loaded machine
// requests would stay within the limit by chance. The bubble also requires that all goroutines
// end.
func TestBatchSixServers(t *testing.T) {
	t.Parallel()
	testrun.Bubble(t, testSixServers)
}

func testSixServers(t *testing.T) {
	ca := newCA(t)
	network := new(rdaptest.Network)
	limited := &strict{n: 10, per: 3 * time.Second}
	servers := map[string]*rdaptest.Server{
		"fast":    rdaptest.Start(t, rdaptest.Config{CA: ca, Network: network}),
		"slow":    rdaptest.Start(t, rdaptest.Config{CA: ca, Network: network, Latency: 5 * time.Millisecond}),
		"limited": rdaptest.Start(t, rdaptest.Config{CA: ca, Network: network, Handler: limited}),
		"moody":   rdaptest.Start(t, rdaptest.Config{CA: ca, Network: network}),
		"hole":    rdaptest.Start(t, rdaptest.Config{CA: ca, Network: network}),
		"html":    rdaptest.Start(t, rdaptest.Config{CA: ca, Network: network}),
	}
	servers["moody"].On("*", rdaptest.Every(2, rdaptest.Status(429)))
	// This server does not respond while the fast server still has lines.
	release := make(chan struct{})
	servers["hole"].On("*", rdaptest.Until(release), rdaptest.HangUp())
	servers["html"].On("*", rdaptest.Status(500), rdaptest.Body("text/html", "<h1>oops</h1>"))
	resolver := byTLD{}
	for name, s := range servers {
		resolver[name] = s.URL()
	}
	a := newNetworkAsker(t, network, ca, client.Config{Resolver: resolver, Timeout: 2 * time.Minute, MaxWait: 10 * time.Second, SpillDir: t.TempDir()})

	counts := map[string]int{"fast": 2000, "slow": 1000, "limited": 12, "moody": 6, "hole": 10, "html": 10}
	var texts []string
	add := func(names ...string) {
		for _, name := range names {
			for i := range counts[name] {
				texts = append(texts, fmt.Sprintf("name%d.%s", i, name))
			}
		}
	}
	add("fast", "slow", "moody", "hole", "html")
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	// Consecutive lines are necessary, because a slow machine would otherwise stay within the
	// limit anyway.
	add("limited")
	slices.Reverse(texts)

	seen := make([]bool, len(texts)+1)
	left := counts["fast"]
	got := map[string]map[client.Verdict]int{}
	batch := a.Batch(t.Context(), lines(texts...))
	for r := range batch.All() {
		checkResult(t, r)
		if seen[r.Line] || r.Query.Text != texts[r.Line-1] {
			t.Fatalf("line %d: seen %v, %q for %q", r.Line, seen[r.Line], r.Query.Text, texts[r.Line-1])
		}
		seen[r.Line] = true
		name := path.Ext(r.Query.Name)[1:]
		if got[name] == nil {
			got[name] = map[client.Verdict]int{}
		}
		got[name][r.Verdict]++
		if name == "fast" {
			if left--; left == 0 {
				close(release)
			}
		}
	}
	for name, want := range map[string]client.Verdict{
		"fast": client.VerdictRegistered, "slow": client.VerdictRegistered, "limited": client.VerdictRegistered,
		"moody": client.VerdictRegistered, "hole": client.VerdictFailed, "html": client.VerdictFailed,
	} {
		if len(got[name]) != 1 || got[name][want] != counts[name] {
			t.Errorf("%s: %v, want %d %s", name, got[name], counts[name], want)
		}
	}
	// Allow the limit as the server counts, and the requests in flight at the first refusal.
	if limited.refused > client.DefaultPerHost+2 {
		t.Errorf("the limited server refused %d requests", limited.refused)
	}
	// The pool retries a request once if its connection ends. Within MaxWait there are
	// five probes.
	if n := servers["hole"].Counts().Requests; n > 2*(2*client.DefaultPerHost+5) {
		t.Errorf("the black hole was asked %d times", n)
	}
	if n := servers["html"].Counts().Requests; n != 3*int64(counts["html"]) {
		t.Errorf("%d requests for %d lines that always fail, want 3 each", n, counts["html"])
	}
	if err := batch.Err(); err != nil {
		t.Error(err)
	}
	p := batch.Progress()
	if p.Read != int64(len(texts)) || p.Done != p.Read || p.Queued+p.Spilled+p.InFlight != 0 || len(p.Servers) != 6 {
		t.Errorf("%+v", p)
	}
	for _, s := range p.Servers {
		if dead := "https://"+s.Server+"/" == servers["hole"].URL(); s.Dead != dead {
			t.Errorf("%+v", s)
		}
		if "https://"+s.Server+"/" == servers["limited"].URL() && (s.Rate.N < 8 || s.Rate.N > 12 || s.Rate.Per < 3*time.Second) {
			t.Errorf("learned %v of %s", s.Rate, s.Server)
		}
	}
}

// A server accepts all connections and never responds.
func TestBatchBlackHole(t *testing.T) {
	t.Parallel() // the test mostly waits
	for name, cfg := range map[string]rdaptest.Config{
		"no answer": {}, "no handshake": {Conn: rdaptest.ConnRules{SilentTLS: true}},
	} {
		bubble(t, name, func(t *testing.T) {
			cfg.Network = new(rdaptest.Network)
			s, a := newPair(t, cfg, client.Config{Timeout: 300 * time.Millisecond, ConnectTimeout: 300 * time.Millisecond, MaxWait: 3 * time.Second})
			s.On("*", rdaptest.Hang())
			count, notAsked := 0, 0
			for r := range a.Batch(t.Context(), lines(names(100)...)).All() {
				checkResult(t, r)
				if count++; r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeTimeout {
					t.Error(describe(r))
				}
				if r.Attempts == 0 {
					notAsked++
				}
			}
			if count != 100 || notAsked < 100-2*client.DefaultPerHost-1 {
				t.Errorf("%d results, %d without a request", count, notAsked)
			}
		})
	}
}

// Each value of Retry-After is sent with one refusal.
func TestLookupRetryAfter(t *testing.T) {
	t.Parallel() // the test mostly waits
	for _, tt := range []struct {
		value   string
		verdict client.Verdict
		wait    time.Duration
	}{
		{"1", client.VerdictRegistered, time.Second},
		{"86400", client.VerdictRateLimited, 0},
		{"Wed, 21 Oct 2099 07:28:00 GMT", client.VerdictRateLimited, 0},
		{"0", client.VerdictRegistered, 0},
		{"-5", client.VerdictRegistered, 0},
		{"abc", client.VerdictRegistered, 0},
	} {
		bubble(t, tt.value, func(t *testing.T) {
			s, a := newPair(t, rdaptest.Config{Network: new(rdaptest.Network), Log: true}, client.Config{})
			s.On("*", rdaptest.First(1, rdaptest.Status(429), rdaptest.RetryAfter(tt.value)))
			r := a.lookup(t, mustParse(t, "", "alpha.example"))
			log := s.Log()
			if r.Verdict != tt.verdict || r.Attempts != len(log) {
				t.Errorf("%q: %s after %d attempts of %d", tt.value, describe(r), r.Attempts, len(log))
			}
			if tt.verdict == client.VerdictRateLimited {
				if len(log) != 1 || client.ErrorOf(r).RetryAfter < 23*time.Hour {
					t.Errorf("%q: %d requests, come back in %v", tt.value, len(log), client.ErrorOf(r).RetryAfter)
				}
			} else if len(log) != 2 || log[1].Time.Sub(log[0].Time) < tt.wait {
				t.Errorf("%q: asked again too early: %v", tt.value, log)
			}
		})
	}
}

// Single lookups respect a rate too, and so do their redirects. A lookup that does not wait
// reports when to retry.
func TestLookupRate(t *testing.T) {
	ca := newCA(t)
	limited := rdaptest.Start(t, rdaptest.Config{CA: ca})
	door := rdaptest.Start(t, rdaptest.Config{CA: ca})
	door.On("*", rdaptest.Redirect(302, limited.URL()+"domain/alpha.example"))
	rates := map[string]limit.Rate{limited.Addr(): {N: 3, Per: time.Hour}}
	a := newAsker(t, ca, client.Config{Rates: rates, Resolver: byTLD{"one": limited.URL(), "two": door.URL()}})
	for i, text := range []string{"a.one", "b.two", "c.one", "d.two", "e.one"} {
		r := a.lookup(t, mustParse(t, "", text))
		if want := i < 3; r.Verdict.Answered() != want {
			t.Errorf("%s: %s", text, describe(r))
		}
		if i >= 3 && (r.Verdict != client.VerdictRateLimited || client.ErrorOf(r).RetryAfter < 50*time.Minute) {
			t.Errorf("%s: %s, %v", text, describe(r), client.ErrorOf(r).RetryAfter)
		}
	}
	if n := limited.Counts().Requests; n != 3 {
		t.Errorf("%d requests", n)
	}
	// In a batch, a redirect waits for its host, and the line gets a result as well.
	count := 0
	for r := range a.Batch(t.Context(), lines("f.one", "g.two", "h.two")).All() {
		if count++; r.Verdict != client.VerdictRateLimited {
			t.Errorf("%s: %s", r.Query, describe(r))
		}
	}
	if n := limited.Counts().Requests; n != 3 || count != 3 {
		t.Errorf("%d requests, %d results", n, count)
	}
}

// Redirects wait for their host like any other request.
func TestBatchRedirectParks(t *testing.T) {
	t.Parallel()
	testrun.Bubble(t, testBatchRedirectParks)
}

func testBatchRedirectParks(t *testing.T) {
	ca := newCA(t)
	network := new(rdaptest.Network)
	limited := rdaptest.Start(t, rdaptest.Config{CA: ca, Network: network, Log: true})
	door := rdaptest.Start(t, rdaptest.Config{CA: ca, Network: network})
	for i := range 12 {
		door.On(fmt.Sprintf("/domain/n%d.example", i), rdaptest.Redirect(302, fmt.Sprintf("%sdomain/n%d.example", limited.URL(), i)))
	}
	per := 300 * time.Millisecond
	a := newNetworkAsker(t, network, ca, client.Config{Resolver: urls{door.URL()}, Rates: map[string]limit.Rate{limited.Addr(): {N: 3, Per: per}}})
	var texts []string
	for i := range 12 {
		texts = append(texts, fmt.Sprintf("n%d.example", i))
	}
	count := 0
	for r := range a.Batch(t.Context(), lines(texts...)).All() {
		if count++; r.Verdict != client.VerdictRegistered || r.Attempts != 1 || r.Server != door.URL() || r.FinalURL == r.URL {
			t.Errorf("%s after %d attempts, %s", describe(r), r.Attempts, r.FinalURL)
		}
	}
	log := limited.Log()
	if count != 12 || len(log) != 12 || door.Counts().Requests != 12 {
		t.Fatalf("%d results, %d and %d requests", count, door.Counts().Requests, len(log))
	}
	for i := 3; i < len(log); i++ {
		if d := log[i].Time.Sub(log[i-3].Time); d < per {
			t.Errorf("4 requests in %v", d)
		}
	}
}

// Bodies wait for memory, however slow the consumer is. No result is lost, even if no body fits
// into the limit.
func TestBatchMemory(t *testing.T) {
	const size, bodies = 50_000, 60
	for _, room := range []int64{250_000, 75_000, 1000} {
		s, a := newPair(t, rdaptest.Config{}, client.Config{MaxMemory: room, Jobs: 16, PerHost: 16})
		s.On("*", rdaptest.Size(size))
		var texts []string
		for i := range bodies {
			texts = append(texts, fmt.Sprintf("n%d.example", i))
		}
		count := 0
		for r := range a.Batch(t.Context(), lines(texts...)).All() {
			if count++; r.Verdict != client.VerdictRegistered || len(r.Raw) < size {
				t.Errorf("%s, %d bytes", describe(r), len(r.Raw))
			}
			if count == 1 {
				// While the loop holds this result, only the requests in flight when
				// memory ran out are sent.
				for range 50 {
					time.Sleep(time.Millisecond)
				}
				if n := s.Counts().Requests; n > 16+room/size {
					t.Errorf("%d requests while the consumer rests", n)
				}
			}
		}
		if count != bodies {
			t.Errorf("%d results", count)
		}
	}
}

// A lookup inside the loop over the results of a batch does not wait for the memory of
// these results.
func TestBatchMemoryNested(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{MaxMemory: 1})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	count := 0
	for r := range a.Batch(ctx, lines("a.example", "b.example", "c.example")).All() {
		for inner := range a.Batch(ctx, lines("d.example", "e.example")).All() {
			if inner.Verdict != client.VerdictRegistered {
				t.Fatal(describe(inner))
			}
		}
		for page, err := range a.Search(ctx, mustParse(t, "", "f.example")) {
			if err != nil {
				t.Fatal(err)
			}
			if inner, err := a.Client.Lookup(ctx, mustParse(t, "", "g.example")); err != nil || len(page.Raw) == 0 {
				t.Fatal(describe(inner))
			}
		}
		if r.Verdict == client.VerdictRegistered {
			count++
		}
	}
	if n := s.Counts().Requests; count != 3 || n != 3*5 {
		t.Errorf("%d results, %d requests", count, n)
	}
}
