package client

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
)

// byLabel resolves a domain to a server named after its last label.
type byLabel struct{}

func (byLabel) Resolve(_ context.Context, q bootstrap.Question) (bootstrap.Answer, error) {
	label := q.Name[strings.LastIndexByte(q.Name, '.')+1:]
	return bootstrap.Answer{Entry: label, URLs: []string{"https://" + label + ".example/"}, Source: bootstrap.SourceIANA}, nil
}

// An engine is a batch whose requests are answered by a function in place of
// servers, so that it runs in a bubble with a clock of its own.
type engine struct {
	c     *Client
	begin time.Time
	asked map[string][]time.Duration // by server: when requests came
	seen  map[int64]*Result
	order []int64
}

// play answers a request: it may sleep.
type play func(t *task, nth int) (Verdict, sample)

func run(t testing.TB, cfg Config, inputs iter.Seq2[Input, error], answer play, yields ...func(*engine, *Result) bool) *engine {
	t.Helper()
	if cfg.Resolver == nil {
		cfg.Resolver = byLabel{}
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e := &engine{c: c, begin: time.Now(), asked: make(map[string][]time.Duration), seen: make(map[int64]*Result)}
	b := newBatch(ctx, c)
	requests := make(chan func(), 1) // a lock that a bubble can see
	b.try = func(ctx context.Context, k *task) bool {
		requests <- nil
		name := k.host.name
		e.asked[name] = append(e.asked[name], time.Since(e.begin))
		nth := len(e.asked[name])
		<-requests
		k.result.Attempts++
		k.result.Err = nil
		k.taken = false
		s := sample{sent: time.Now(), probe: k.probe, beside: k.beside}
		h := k.host
		verdict, told := answer(k, nth)
		told.sent, told.now, told.probe, told.beside = s.sent, time.Now(), s.probe, s.beside
		k.probe = false
		k.result.Verdict = verdict
		if told.effect != answered || told.failed {
			code := map[effect]string{throttled: CodeRateLimited, unreachable: CodeTimeout, overloaded: CodeServerError}[told.effect]
			k.result.fail(&Error{Code: code, Message: "made up", RetryAfter: told.retryAfter})
			told.cause = k.result.Err
			if told.effect == overloaded {
				k.result.Status = 503
			}
		}
		h.observe(told)
		return c.next(ctx, k, told.effect == unreachable)
	}
	b.run(cancel, inputs, func(r *Result) bool {
		if e.seen[r.Line] != nil {
			t.Errorf("line %d twice", r.Line)
		}
		e.seen[r.Line] = r
		e.order = append(e.order, r.Line)
		for _, yield := range yields {
			if !yield(e, r) {
				return false
			}
		}
		return true
	})
	return e
}

// verdicts counts the results.
func (e *engine) verdicts() map[Verdict]int {
	m := make(map[Verdict]int)
	for _, r := range e.seen {
		m[r.Verdict]++
	}
	return m
}

// mostWithin is the largest number of requests to a server in any span.
func (e *engine) mostWithin(server string, span time.Duration) int {
	times, most := slices.Sorted(slices.Values(e.asked[server])), 0
	for i := range times {
		n := 0
		for _, at := range times[i:] {
			if at-times[i] < span {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// numbered yields n names below the zones in turn.
func numbered(n int, zones ...string) iter.Seq2[Input, error] {
	return func(yield func(Input, error) bool) {
		for i := range n {
			if !yield(Input{Line: int64(i + 1), Text: "name" + strconv.Itoa(i) + "." + zones[i%len(zones)]}, nil) {
				return
			}
		}
	}
}

func after(d time.Duration) play {
	return func(*task, int) (Verdict, sample) {
		time.Sleep(d)
		return Registered, sample{effect: answered, latency: d}
	}
}

// TestEnginePublishedRate: never more than is published, and not much less.
func TestEnginePublishedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rates := map[string]Rate{"slow.example": {10, 3 * time.Second}}
		e := run(t, Config{Rates: rates}, numbered(120, "slow", "fast"), after(20*time.Millisecond))
		if v := e.verdicts(); v[Registered] != 120 {
			t.Errorf("%v", v)
		}
		if n := e.mostWithin("slow.example", 3*time.Second); n != 10 {
			t.Errorf("%d requests in 3 s", n)
		}
		if took := time.Since(e.begin); took > 17*time.Second {
			t.Errorf("60 requests at 10 in 3 s took %v", took)
		}
		if last := e.asked["fast.example"][59]; last > time.Second {
			t.Errorf("the other server's last request was after %v", last)
		}
	})
}

// TestEngineMaxWait: what would have to wait too long ends at once, and says
// when to come back.
func TestEngineMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rates := map[string]Rate{"slow.example": {10, time.Hour}}
		e := run(t, Config{Rates: rates}, numbered(60, "slow", "fast"), after(20*time.Millisecond))
		v := e.verdicts()
		if v[Registered] != 40 || v[RateLimited] != 20 || len(e.asked["slow.example"]) != 10 {
			t.Errorf("%v, %d asked", v, len(e.asked["slow.example"]))
		}
		for _, r := range e.seen {
			if r.Verdict == RateLimited && (r.Err.RetryAfter < 59*time.Minute || r.Err.RetryAfter > time.Hour || r.Attempts != 0 || r.Server == "") {
				t.Errorf("%+v: %+v", r, r.Err)
			}
		}
		if took := time.Since(e.begin); took > time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// TestEngineRetryAfter: a server that says when to come back is not asked before,
// and all its lines are answered.
func TestEngineRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var window []time.Time // the server's own books: 10 in 3 s
		refused := 0
		e := run(t, Config{}, numbered(120, "strict", "fast"), func(k *task, _ int) (Verdict, sample) {
			if k.host.name != "strict.example" {
				return after(5*time.Millisecond)(k, 0)
			}
			mu.Lock()
			now, wait := time.Now(), time.Duration(0)
			for len(window) > 0 && now.Sub(window[0]) >= 3*time.Second {
				window = window[1:]
			}
			if len(window) < 10 {
				window = append(window, now)
			} else {
				refused++
				wait = (window[0].Add(3*time.Second).Sub(now) + time.Second - 1).Truncate(time.Second)
			}
			mu.Unlock()
			if wait > 0 {
				time.Sleep(5 * time.Millisecond)
				return RateLimited, sample{effect: throttled, retryAfter: wait}
			}
			return after(5*time.Millisecond)(k, 0)
		})
		if v := e.verdicts(); v[Registered] != 120 {
			t.Errorf("%v", v)
		}
		// Discovery costs what was under way when the first refusal came.
		if refused > DefaultPerHost+2 {
			t.Errorf("%d requests were refused", refused)
		}
		if took := time.Since(e.begin); took > 24*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// TestEngineNowAndThen: a server that refuses each fifth request costs no line.
func TestEngineNowAndThen(t *testing.T) {
	for _, every := range []int{3, 4, 5, 7} {
		synctest.Test(t, func(t *testing.T) {
			e := run(t, Config{}, numbered(60, "odd"), func(k *task, nth int) (Verdict, sample) {
				time.Sleep(5 * time.Millisecond)
				if nth%every == 0 {
					return RateLimited, sample{effect: throttled}
				}
				return Registered, sample{effect: answered}
			})
			if v := e.verdicts(); v[Registered] != 60 {
				t.Errorf("every %dth: %v", every, v)
			}
		})
	}
}

// TestEngineDead: the lines of a dead server end soon, and nobody waits for it.
func TestEngineDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := run(t, Config{}, numbered(200, "dead", "fast"), func(k *task, _ int) (Verdict, sample) {
			if k.host.name == "dead.example" {
				time.Sleep(15 * time.Second)
				return Failed, sample{effect: unreachable}
			}
			return after(5*time.Millisecond)(k, 0)
		})
		v := e.verdicts()
		if v[Registered] != 100 || v[Failed] != 100 {
			t.Errorf("%v", v)
		}
		// As many at once as are allowed, as many again while it is not clear
		// yet, and a probe.
		if n := len(e.asked["dead.example"]); n > 2*DefaultPerHost+1 {
			t.Errorf("the dead server was asked %d times", n)
		}
		notAsked := 0
		for _, r := range e.seen {
			if r.Verdict == Failed && r.Attempts == 0 {
				notAsked++
				if r.Err.Code != CodeTimeout || !strings.Contains(r.Err.Message, "not asked: dead.example failed") {
					t.Errorf("%+v", r.Err)
				}
			}
		}
		if notAsked < 100-2*DefaultPerHost-1 {
			t.Errorf("%d were not asked", notAsked)
		}
		if took := time.Since(e.begin); took > 40*time.Second {
			t.Errorf("took %v", took)
		}
		for _, line := range e.order[:100] {
			if line%2 == 1 {
				t.Fatalf("line %d of the dead server came before the others' last", line)
			}
		}
	})
}

// TestEngineComesBack: a server that fails for a moment loses no line.
func TestEngineComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		e := run(t, Config{Attempts: 5}, numbered(200, "shaky"), func(k *task, _ int) (Verdict, sample) {
			time.Sleep(5 * time.Millisecond)
			if now := time.Since(begin); now > 50*time.Millisecond && now < 700*time.Millisecond {
				return Failed, sample{effect: unreachable}
			}
			return Registered, sample{effect: answered}
		})
		if v := e.verdicts(); v[Registered] != 200 {
			t.Errorf("%v", v)
		}
	})
}

// TestEngineRepeats: failures that may pass are tried again, as often as that is
// allowed, after a pause.
func TestEngineRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := run(t, Config{Attempts: 4}, numbered(20, "ill"), func(k *task, _ int) (Verdict, sample) {
			time.Sleep(time.Millisecond)
			if strings.HasPrefix(k.result.Query.Name, "name1") || k.result.Attempts < 3 {
				return Failed, sample{effect: overloaded}
			}
			return Registered, sample{effect: answered}
		})
		for _, r := range e.seen {
			want, attempts := Registered, 3
			if strings.HasPrefix(r.Query.Name, "name1") {
				want, attempts = Failed, 4
			}
			if r.Verdict != want || r.Attempts != attempts {
				t.Errorf("%s: %s after %d attempts", r.Query.Name, r.Verdict, r.Attempts)
			}
		}
	})
}

// TestEngineSpills: the lines of servers that are parked go to a file, so that
// the others come through, and all come back.
func TestEngineSpills(t *testing.T) {
	const parked, total = 20_000, 20_500
	inputs := func(yield func(Input, error) bool) {
		for i := range total {
			in := Input{Line: int64(i + 1), Text: "name" + strconv.Itoa(i) + ".parked", Extra: []byte{byte(i)}}
			if i >= parked {
				in.Text = "name" + strconv.Itoa(i) + ".fast"
			}
			if !yield(in, nil) {
				return
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var spilled, inMemory int64
		e := run(t, Config{Jobs: 8, PerHost: 1, SpillDir: t.TempDir()}, inputs, func(k *task, nth int) (Verdict, sample) {
			if k.host.name == "parked.example" && nth == 1 {
				time.Sleep(time.Hour)
			}
			return Registered, sample{effect: answered}
		}, func(e *engine, _ *Result) bool {
			p := e.c.Progress()
			spilled, inMemory = max(spilled, p.Spilled), max(inMemory, p.Read-p.Done-p.Spilled)
			return true
		})
		if v := e.verdicts(); v[Registered] != total {
			t.Errorf("%v", v)
		}
		for i, line := range e.order {
			if i < total-parked && line <= parked {
				t.Fatalf("result %d is of line %d, whose server is parked", i, line)
			}
			if r := e.seen[line]; len(r.Extra) != 1 || r.Extra[0] != byte(line-1) || r.Query.Text == "" {
				t.Fatalf("line %d: %+v", line, r)
			}
		}
		if spilled < parked/2 || inMemory > 3*windowPerJob*8 {
			t.Errorf("%d spilled, %d in memory", spilled, inMemory)
		}
	})
}

// TestEngineNoSpill: without a temporary file memory stays bounded all the same.
func TestEngineNoSpill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		most := int64(0)
		e := run(t, Config{Jobs: 4, PerHost: 1, SpillDir: "/nowhere/at/all"}, numbered(20_000, "slow", "slow", "slow", "fast"), after(time.Millisecond), func(e *engine, _ *Result) bool {
			p := e.c.Progress()
			most = max(most, p.Read-p.Done)
			return true
		})
		if v := e.verdicts(); v[Registered] != 20_000 || most > 2000 {
			t.Errorf("%v, %d in memory", v, most)
		}
	})
}

func TestEngineTwins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inputs := func(yield func(Input, error) bool) {
			for i := range 3000 {
				name := []string{"Same.One", "same.one.", "b" + strconv.Itoa(i/100) + ".one"}[i%3]
				if !yield(Input{Line: int64(i + 1), Text: name, Extra: []byte(name)}, nil) {
					return
				}
			}
		}
		e := run(t, Config{}, inputs, after(10*time.Millisecond))
		if n := len(e.asked["one.example"]); n > 31+2*DefaultPerHost {
			t.Errorf("%d requests for 31 names", n)
		}
		if v := e.verdicts(); v[Registered] != 3000 {
			t.Errorf("%v", v)
		}
		for line, r := range e.seen {
			if r.Query.Text != string(r.Extra) || r.Line != line {
				t.Errorf("line %d: %q for %q", line, r.Query.Text, r.Extra)
			}
		}
	})
}

func TestEngineDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := 0
		inputs := func(yield func(Input, error) bool) {
			for i := range 10_000 {
				read++
				if !yield(Input{Line: int64(i + 1), Text: "name" + strconv.Itoa(i) + ".one"}, nil) {
					return
				}
			}
		}
		drained := time.Duration(0)
		e := run(t, Config{SpillDir: t.TempDir()}, inputs, after(time.Second), func(e *engine, r *Result) bool {
			if drained == 0 {
				drained = time.Since(e.begin)
				e.c.Drain()
			}
			return true
		})
		v := e.verdicts()
		if len(e.seen) != read || v[Registered] != len(e.asked["one.example"]) || v[Registered]+v[Failed] != read {
			t.Errorf("%d of %d inputs: %v, %d asked", len(e.seen), read, v, len(e.asked["one.example"]))
		}
		for _, r := range e.seen {
			if r.Verdict == Failed && (r.Err.Code != CodeCanceled || !strings.HasPrefix(r.Err.Message, "not asked")) {
				t.Errorf("%+v", r.Err)
			}
		}
		if took := time.Since(e.begin) - drained; took > time.Second {
			t.Errorf("it went on for %v", took)
		}
		if p := e.c.Progress(); p.Read != int64(read) || p.Done != int64(read) || p.InFlight != 0 || p.Queued != 0 || len(p.Servers) != 1 || p.Verdicts[Failed] != int64(v[Failed]) {
			t.Errorf("%+v", p)
		}
	})
}

// BenchmarkBatchEngine is what the engine itself costs for each input: parsing,
// queues, budgets and results, without requests.
func BenchmarkBatchEngine(b *testing.B) {
	for _, zones := range [][]string{{"one"}, {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"}} {
		b.Run(strconv.Itoa(len(zones))+" servers", func(b *testing.B) {
			c, err := New(Config{Resolver: byLabel{}, Budgets: NewBudgetMemory()})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			b.ReportAllocs()
			count, now := 0, time.Now()
			bt := newBatch(ctx, c)
			bt.try = func(_ context.Context, k *task) bool {
				k.result.Verdict = Registered
				k.taken = false
				k.host.observe(sample{effect: answered, sent: now, now: time.Now(), latency: time.Millisecond, beside: k.beside})
				return false
			}
			bt.run(cancel, numbered(b.N, zones...), func(*Result) bool {
				count++
				return true
			})
			if count != b.N {
				b.Fatalf("%d results of %d", count, b.N)
			}
		})
	}
}
