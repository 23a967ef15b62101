package client_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/internal/testrun"
)

// lines numbers texts from 1.
func lines(texts ...string) iter.Seq2[client.Input, error] {
	return func(yield func(client.Input, error) bool) {
		for i, text := range texts {
			if !yield(client.Input{Line: int64(i + 1), Text: text}, nil) {
				return
			}
		}
	}
}

// byTLD is a resolver that maps the last label of a domain to a server.
type byTLD map[string]string

func (m byTLD) Resolve(_ context.Context, q bootstrap.Question) (bootstrap.Answer, error) {
	tld := q.Name[strings.LastIndexByte(q.Name, '.')+1:]
	if u, ok := m[tld]; ok {
		return bootstrap.Answer{Entry: tld, URLs: []string{u}, Source: bootstrap.SourceIANA}, nil
	}
	return bootstrap.Answer{}, bootstrap.ErrNoService
}

// goroutines waits until at most n goroutines run. It fails the test if more goroutines remain.
func goroutines(t *testing.T, n int) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > n {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), n, buf[:runtime.Stack(buf, true)])
		}
		runtime.Gosched()
	}
}

func TestBatchOneResultEach(t *testing.T) {
	const total = 2000
	ca := newCA(t)
	fast := rdaptest.Start(t, rdaptest.Config{CA: ca})
	other := rdaptest.Start(t, rdaptest.Config{CA: ca, Protocols: rdaptest.H1Only})
	stalled := rdaptest.Start(t, rdaptest.Config{CA: ca})
	release := make(chan struct{})
	stalled.On("*", rdaptest.Until(release))
	a := newAsker(t, ca, client.Config{
		Resolver: byTLD{"fast": fast.URL(), "other": other.URL(), "stalled": stalled.URL()},
		Timeout:  time.Minute, Jobs: 32, PerHost: 4,
	})
	texts := make([]string, total)
	want := make([]client.Verdict, total+1)
	stalledLines := 0
	for i := range texts {
		texts[i], want[i+1] = fmt.Sprintf("name%d.fast", i), client.VerdictRegistered
		switch {
		case i%50 == 0:
			texts[i] = fmt.Sprintf("name%d.stalled", i)
			stalledLines++
		case i%7 == 0:
			texts[i], want[i+1] = fmt.Sprintf("free%d.fast", i), client.VerdictNotFound
		case i%11 == 0:
			texts[i], want[i+1] = "not a name", client.VerdictInvalid
		case i%13 == 0:
			texts[i], want[i+1] = "alpha.zz", client.VerdictNoService
		case i%2 == 0:
			texts[i] = fmt.Sprintf("name%d.other", i)
		}
	}
	seen := make([]bool, total+1)
	count := 0
	for r := range a.Batch(t.Context(), lines(texts...)).All() {
		checkResult(t, r)
		if seen[r.Line] || r.Query.Text != texts[r.Line-1] {
			t.Fatalf("line %d: seen %v, text %q, want %q", r.Line, seen[r.Line], r.Query.Text, texts[r.Line-1])
		}
		seen[r.Line] = true
		if r.Verdict != want[r.Line] {
			t.Errorf("line %d, %s: %s; want %s", r.Line, r.Query, describe(r), want[r.Line])
		}
		// All lines of the other servers get results although one server does not
		// respond.
		if count++; count == total-stalledLines {
			close(release)
		}
	}
	if count != total {
		t.Errorf("%d results for %d inputs", count, total)
	}
	for _, s := range []*rdaptest.Server{fast, other, stalled} {
		inFlight := int64(0)
		for _, c := range s.Counts().Conns {
			inFlight += c.MaxInFlight
		}
		// The number of connections is an upper bound for HTTP/1.1, and exact for a single
		// HTTP/2 connection.
		if len(s.Counts().Conns) == 1 && inFlight > 4 {
			t.Errorf("%d lookups in flight at once", inFlight)
		}
	}
}

// The lookups of an HTTP/1.1 server share as many connections as may be in flight. The clock is
// that of a bubble: on a loaded machine, net/http closes a connection whose request was written
// late.
func TestBatchHTTP1Connections(t *testing.T) {
	t.Parallel()
	testrun.Bubble(t, func(t *testing.T) {
		network := new(rdaptest.Network)
		s, a := newPair(t, rdaptest.Config{Network: network, Protocols: rdaptest.H1Only, Latency: 5 * time.Millisecond}, client.Config{Jobs: 32, PerHost: 4})
		for r := range a.Batch(t.Context(), lines(names(400)...)).All() {
			checkResult(t, r)
		}
		if n := s.Counts().Connections; n != 4 {
			t.Errorf("%d connections for 4 concurrent lookups", n)
		}
	})
}

// A gauge counts the concurrent requests of a handler.
type gauge struct {
	mu       sync.Mutex
	now, max int
}

func (g *gauge) add(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now += n
	g.max = max(g.max, g.now)
}

func TestBatchCaps(t *testing.T) {
	for _, tt := range []struct{ jobs, perHost, wantServer, wantAll int }{
		{jobs: 6, perHost: 4, wantServer: 4, wantAll: 6},
		{jobs: 2, perHost: 4, wantServer: 2, wantAll: 2},
		{jobs: 64, perHost: 1, wantServer: 1, wantAll: 2},
	} {
		t.Run(fmt.Sprintf("%d jobs, %d per host", tt.jobs, tt.perHost), func(t *testing.T) {
			ca := newCA(t)
			var all gauge
			resolver := byTLD{}
			perServer := map[string]*gauge{}
			for _, tld := range []string{"one", "two"} {
				g := new(gauge)
				perServer[tld] = g
				s := rdaptest.Start(t, rdaptest.Config{CA: ca, Handler: gauged(g, &all)})
				resolver[tld] = s.URL()
			}
			a := newAsker(t, ca, client.Config{Resolver: resolver, Jobs: tt.jobs, PerHost: tt.perHost})
			var texts []string
			for i := range 100 {
				texts = append(texts, fmt.Sprintf("n%d.one", i), fmt.Sprintf("n%d.two", i))
			}
			count := 0
			for r := range a.Batch(t.Context(), lines(texts...)).All() {
				if count++; r.Verdict != client.VerdictRegistered {
					t.Errorf("%s", describe(r))
				}
			}
			if count != len(texts) {
				t.Errorf("%d results", count)
			}
			for tld, g := range perServer {
				if g.max > tt.wantServer {
					t.Errorf("%s: %d at once, want at most %d", tld, g.max, tt.wantServer)
				}
			}
			if all.max > tt.wantAll {
				t.Errorf("%d at once in all, want at most %d", all.max, tt.wantAll)
			}
		})
	}
}

// The servers respond only once all places are taken.
func TestBatchUsesAllJobs(t *testing.T) {
	ca := newCA(t)
	resolver := byTLD{}
	release := make(chan struct{})
	var servers []*rdaptest.Server
	for _, tld := range []string{"one", "two", "three"} {
		s := rdaptest.Start(t, rdaptest.Config{CA: ca})
		s.On("*", rdaptest.Until(release))
		servers = append(servers, s)
		resolver[tld] = s.URL()
	}
	a := newAsker(t, ca, client.Config{Resolver: resolver, Jobs: 12, PerHost: 4, Timeout: time.Minute})
	var texts []string
	for i := range 30 {
		texts = append(texts, fmt.Sprintf("n%d.one", i))
	}
	for i := range 30 {
		texts = append(texts, fmt.Sprintf("n%d.two", i), fmt.Sprintf("n%d.three", i))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	go func() {
		for _, s := range servers {
			_ = s.AwaitRequests(ctx, 4)
		}
		close(release)
	}()
	count := 0
	for r := range a.Batch(ctx, lines(texts...)).All() {
		if count++; r.Verdict != client.VerdictRegistered {
			t.Fatalf("%s", describe(r))
		}
	}
	if count != len(texts) {
		t.Errorf("%d results", count)
	}
}

func TestBatchBreak(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{Jobs: 8, PerHost: 8})
	s.On("/domain/hang*", rdaptest.Hang())
	before := runtime.NumGoroutine()
	ended := make(chan struct{})
	endless := func(yield func(client.Input, error) bool) {
		defer close(ended)
		for i := int64(1); ; i++ {
			text := fmt.Sprintf("name%d.example", i)
			if i > 20 && i%5 == 0 {
				text = fmt.Sprintf("hang%d.example", i)
			}
			if !yield(client.Input{Line: i, Text: text}, nil) {
				return
			}
		}
	}
	count := 0
	for range a.Batch(t.Context(), endless).All() {
		if count++; count == 5 {
			break
		}
	}
	<-ended
	a.pool.CloseIdleConnections()
	goroutines(t, before)
}

func TestBatchPanic(t *testing.T) {
	_, a := newPair(t, rdaptest.Config{}, client.Config{Jobs: 4})
	before := runtime.NumGoroutine()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic of the loop is lost")
			}
		}()
		for range a.Batch(t.Context(), lines(slices.Repeat([]string{"alpha.example"}, 1000)...)).All() {
			panic("in the loop")
		}
	}()
	a.pool.CloseIdleConnections()
	goroutines(t, before)
}

func TestBatchCanceled(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{}, client.Config{Jobs: 4, PerHost: 2})
	s.On("*", rdaptest.Hang())
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_ = s.AwaitRequests(ctx, 2)
		cancel()
	}()
	given := 0
	inputs := func(yield func(client.Input, error) bool) {
		for i := int64(1); ; i++ {
			given++
			if !yield(client.Input{Line: i, Text: "alpha.example"}, nil) {
				return
			}
		}
	}
	seen := map[int64]bool{}
	batch := a.Batch(ctx, inputs)
	for r := range batch.All() {
		checkResult(t, r)
		if seen[r.Line] {
			t.Errorf("line %d twice", r.Line)
		}
		seen[r.Line] = true
		if r.Verdict != client.VerdictFailed || !gaveUp(r) || !errors.Is(client.ErrorOf(r), context.Canceled) {
			t.Errorf("line %d: %s", r.Line, describe(r))
		}
	}
	if len(seen) != given {
		t.Errorf("%d results for %d inputs read", len(seen), given)
	}
	if err := batch.Err(); !errors.Is(err, client.ErrUnfinished) || !errors.Is(err, context.Canceled) {
		t.Errorf("Err returns %v", err)
	}
}

// Err is nil after the end of the sequence only, and a batch runs once.
func TestBatchErr(t *testing.T) {
	_, a := newPair(t, rdaptest.Config{}, client.Config{})
	batch := a.Batch(t.Context(), lines("alpha.example", "no name", "beta.example"))
	if err := batch.Err(); err != client.ErrUnfinished {
		t.Errorf("before the loop: %v", err)
	}
	n := 0
	for range batch.All() {
		n++
		if err := batch.Err(); err != client.ErrUnfinished {
			t.Errorf("in the loop: %v", err)
		}
	}
	if err := batch.Err(); n != 3 || err != nil {
		t.Errorf("%d results, Err returns %v", n, err)
	}
	for range batch.All() {
		t.Error("a second loop has results")
	}
	for name, end := range map[string]func(*client.Batch) (more bool){
		"break": func(*client.Batch) bool { return false },
		"drain": func(b *client.Batch) bool { b.Drain(); return true },
	} {
		batch := a.Batch(t.Context(), lines(slices.Repeat([]string{"alpha.example"}, 5000)...))
		for range batch.All() {
			if !end(batch) {
				break
			}
		}
		if err := batch.Err(); err != client.ErrUnfinished {
			t.Errorf("after %s: %v", name, err)
		}
		if p := batch.Progress(); p.Read == 0 || p.Queued+p.InFlight != 0 {
			t.Errorf("after %s: %+v", name, p)
		}
	}
}

// A sequence that blocks, such as in a read of a terminal, delays nothing else.
func TestBatchBlockedInput(t *testing.T) {
	_, a := newPair(t, rdaptest.Config{}, client.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	release, ended := make(chan struct{}), make(chan struct{})
	inputs := func(yield func(client.Input, error) bool) {
		defer close(ended)
		yield(client.Input{Line: 1, Text: "alpha.example"}, nil)
		<-release
		if yield(client.Input{Line: 2, Text: "alpha.example"}, nil) {
			t.Error("more inputs are wanted after the end")
		}
	}
	count := 0
	for r := range a.Batch(ctx, inputs).All() {
		count++
		if r.Verdict != client.VerdictRegistered {
			t.Errorf("%s", describe(r))
		}
		cancel()
	}
	close(release)
	<-ended
	if count != 1 {
		t.Errorf("%d results", count)
	}
}

func TestBatchInputs(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{Log: true}, client.Config{Resolver: byTLD{}})
	broken := errors.New("disk on fire")
	inputs := func(yield func(client.Input, error) bool) {
		_ = yield(client.Input{Line: 1, Text: "ns1.alpha.example", Type: client.TypeNameserver, Server: s.URL()}, nil) &&
			yield(client.Input{Line: 2}, broken) &&
			yield(client.Input{Line: 3, Text: " "}, nil) &&
			yield(client.Input{Line: 4, Type: client.TypeHelp, Server: s.URL()}, nil)
	}
	got := map[int64]*client.Result{}
	for r := range a.Batch(t.Context(), inputs).All() {
		checkResult(t, r)
		got[r.Line] = r
	}
	if len(got) != 4 {
		t.Fatalf("%d results", len(got))
	}
	if r := got[1]; r.Verdict != client.VerdictFound || r.Query.Type != client.TypeNameserver || r.Source != bootstrap.SourceServer {
		t.Errorf("line 1: %s", describe(r))
	}
	if r := got[2]; r.Verdict != client.VerdictFailed || client.ErrorOf(r).Code != client.CodeInput || !errors.Is(client.ErrorOf(r), broken) {
		t.Errorf("line 2: %s", describe(r))
	}
	if r := got[3]; r.Verdict != client.VerdictInvalid || r.Query.Text != " " || r.Query.Type != "" {
		t.Errorf("line 3: %s", describe(r))
	}
	if r := got[4]; r.Verdict != client.VerdictFound {
		t.Errorf("line 4: %s", describe(r))
	}
}

func TestBatchEmpty(t *testing.T) {
	_, a := newPair(t, rdaptest.Config{}, client.Config{})
	for r := range a.Batch(t.Context(), lines()).All() {
		t.Errorf("a result of nothing: %s", describe(r))
	}
}

// gauged responds with a domain and counts the requests in flight.
func gauged(gauges ...*gauge) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, g := range gauges {
			g.add(1)
			defer g.add(-1)
		}
		time.Sleep(2 * time.Millisecond) // wait long enough for further requests to arrive, if permitted
		w.Header().Set("Content-Type", "application/rdap+json")
		fmt.Fprintf(w, `{"objectClassName":"domain","ldhName":%q}`, strings.TrimPrefix(r.URL.Path, "/domain/"))
	})
}
