package client

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/gate"
)

// byLabel is a resolver that maps a domain to a server named after its last label.
type byLabel struct{}

func (byLabel) Resolve(_ context.Context, q bootstrap.Question) (bootstrap.Answer, error) {
	label := q.Name[strings.LastIndexByte(q.Name, '.')+1:]
	return bootstrap.Answer{Entry: label, URLs: []string{"https://" + label + ".example/"}, Source: bootstrap.SourceIANA}, nil
}

// An engine is a batch whose requests are handled by a function instead of servers, so
// that it can run in a synctest bubble.
type engine struct {
	c     *Client
	b     *Batch
	begin time.Time
	asked map[string][]time.Duration // times of the requests, by server
	seen  map[int64]*Result
	order []int64
}

// A play handles a request. It may sleep.
type play func(t *task, nth int) (Verdict, gate.Outcome)

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
	b := newBatch(ctx, c, nil)
	e.b = b
	requests := make(chan func(), 1) // serves as a lock that synctest treats as durably blocking
	b.try = func(ctx context.Context, k *task) bool {
		requests <- nil
		name := k.host.Name()
		e.asked[name] = append(e.asked[name], time.Since(e.begin))
		nth := len(e.asked[name])
		<-requests
		k.result.Attempts++
		k.result.Refusal, k.result.Failure = nil, nil
		k.taken = false
		s := gate.Outcome{Decision: k.decision, InFlight: k.beside}
		h := k.host
		verdict, told := answer(k, nth)
		told.FailedAt = k.failedAt
		told.Decision, told.Now, told.InFlight = s.Decision, time.Now(), s.InFlight
		k.decision = gate.Decision{}
		k.result.Verdict = verdict
		if told.Kind != gate.Answered || told.Failed {
			code := map[gate.Kind]Code{gate.Throttled: CodeRateLimited, gate.Unreachable: CodeTimeout, gate.Overloaded: CodeServerError, gate.Walled: CodeForbidden}[told.Kind]
			k.result.fail(&Error{Code: code, Message: "made up", RetryAfter: told.RetryAfter})
			told.Cause = ErrorOf(k.result)
			if told.Kind == gate.Overloaded {
				k.result.Status = 503
			}
		}
		if k.walled = told.Kind == gate.Walled; h.Observe(told) {
			k.result.blocked()
		}
		c.announce(h)
		return c.decideRetry(ctx, k, told.Kind == gate.Unreachable)
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

// mostWithin returns the largest number of requests to a server in any span.
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

// numbered yields n names, alternating between the zones.
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
	return func(*task, int) (Verdict, gate.Outcome) {
		time.Sleep(d)
		return VerdictRegistered, gate.Outcome{Kind: gate.Answered, Latency: d}
	}
}

// answers is a resolver with fixed answers.
type answers map[string]bootstrap.Answer

func (m answers) Resolve(_ context.Context, q bootstrap.Question) (bootstrap.Answer, error) {
	return m[q.Name[strings.LastIndexByte(q.Name, '.')+1:]], nil
}

// BenchmarkBatchEngine measures the cost of the engine per input: parsing, queues, limits
// and results. It excludes requests and the generation of names.
func BenchmarkBatchEngine(b *testing.B) {
	for _, zones := range [][]string{{"one"}, {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"}} {
		b.Run(strconv.Itoa(len(zones))+" servers", func(b *testing.B) {
			resolver := answers{}
			for _, zone := range zones {
				resolver[zone], _ = byLabel{}.Resolve(b.Context(), bootstrap.Question{Name: zone})
			}
			inputs := make([]Input, 0, b.N)
			for in := range numbered(b.N, zones...) {
				inputs = append(inputs, in)
			}
			c, err := New(Config{Resolver: resolver})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			count, now := 0, time.Now()
			bt := newBatch(ctx, c, nil)
			bt.try = func(_ context.Context, k *task) bool {
				k.result.Verdict = VerdictRegistered
				k.taken = false
				k.host.Observe(gate.Outcome{Kind: gate.Answered, Decision: gate.Decision{At: now}, Now: time.Now(), Latency: time.Millisecond, InFlight: k.beside})
				return false
			}
			b.ReportAllocs()
			b.ResetTimer()
			bt.run(cancel, func(yield func(Input, error) bool) {
				for _, in := range inputs {
					if !yield(in, nil) {
						return
					}
				}
			}, func(*Result) bool {
				count++
				return true
			})
			if count != b.N {
				b.Fatalf("%d results of %d", count, b.N)
			}
		})
	}
}
