package client

import (
	"context"
	"iter"
	"strconv"
	"testing"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
)

// byLabel resolves a domain to a server named after its last label.
type byLabel struct{}

func (byLabel) Resolve(_ context.Context, q bootstrap.Question) (bootstrap.Answer, error) {
	i := len(q.Name) - 1
	for i > 0 && q.Name[i-1] != '.' {
		i--
	}
	return bootstrap.Answer{Entry: q.Name[i:], URLs: []string{"https://" + q.Name[i:] + ".example/"}, Source: bootstrap.SourceIANA}, nil
}

// runEngine runs a batch whose requests are answered by try in place of servers.
func runEngine(tb testing.TB, cfg Config, inputs iter.Seq2[Input, error], try func(*batch, *task) bool, yield func(*batch, *Result) bool) {
	tb.Helper()
	if cfg.Resolver == nil {
		cfg.Resolver = byLabel{}
	}
	c, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(tb.Context())
	defer cancel()
	b := newBatch(ctx, c)
	b.try = func(_ context.Context, t *task) bool { return try(b, t) }
	b.run(cancel, inputs, func(r *Result) bool { return yield(b, r) })
}

// answerAt makes up an answer, and does with the host what an attempt does.
func (b *batch) answerAt(t *task, verdict Verdict, s sample) bool {
	r := t.result
	r.Verdict = verdict
	t.taken = false
	s.now, s.probe, s.beside = time.Now(), t.probe, t.beside
	t.host.observe(s)
	t.probe = false
	return false
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

// BenchmarkBatchEngine is what the engine itself costs for each input: parsing,
// queues, budgets and results, without requests.
func BenchmarkBatchEngine(b *testing.B) {
	for _, zones := range [][]string{{"one"}, {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"}} {
		b.Run(strconv.Itoa(len(zones))+" servers", func(b *testing.B) {
			b.ReportAllocs()
			count := 0
			now := time.Now()
			runEngine(b, Config{}, numbered(b.N, zones...), func(bt *batch, t *task) bool {
				return bt.answerAt(t, Registered, sample{sent: now, latency: time.Millisecond})
			}, func(*batch, *Result) bool {
				count++
				return true
			})
			if count != b.N {
				b.Fatalf("%d results of %d", count, b.N)
			}
		})
	}
}
