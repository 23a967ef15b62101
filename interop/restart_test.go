package interop_test

import (
	"context"
	"iter"
	"sync"
	"syscall"
	"testing"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/pool"
)

// TestRestart ends the server in the middle of a batch, with requests under
// way, and starts it again: what the pool can't hide, because nobody listens
// for a moment, the client's repetitions do.
func TestRestart(t *testing.T) {
	each(t, func(t *testing.T, protocol string) {
		n := startNginx(t, nginxConfig{HTTP2: protocol == http2})
		p := n.newPool(pool.Config{Protocols: []string{protocol}, AllowPrivate: true})
		resolver, err := bootstrap.New(bootstrap.Config{Server: n.base})
		if err != nil {
			t.Fatal(err)
		}
		defer resolver.Close()
		c, err := client.New(client.Config{Transport: p, Resolver: resolver, Jobs: 16, PerHost: 16})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()

		const names, middle = 5000, 300
		ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
		defer cancel()
		seen := make(map[int64]bool)
		var repeated int
		reached := make(chan struct{})
		var batch sync.WaitGroup
		batch.Go(func() {
			for r := range c.Batch(ctx, inputs(names)) {
				if r.Verdict != client.Registered {
					t.Errorf("line %d: %s: %v", r.Line, r.Verdict, r.Err)
				}
				if seen[r.Line] {
					t.Errorf("line %d has two results", r.Line)
				}
				seen[r.Line] = true
				if r.Attempts > 1 {
					repeated++
				}
				if len(seen) == middle {
					close(reached)
				}
			}
		})
		<-reached
		n.stop(syscall.SIGTERM)
		n.start()
		batch.Wait()
		if len(seen) != names {
			t.Errorf("%d results for %d lines", len(seen), names)
		}
		s := p.Stats()
		workers := make(map[int]bool)
		for _, l := range n.log() {
			workers[l.worker] = true
		}
		if len(workers) != 2 {
			t.Errorf("%d processes answered: the restart came too late", len(workers))
		}
		t.Logf("%d lookups repeated by the client, %v by the pool", repeated, s.Retries)
	})
}

// inputs yields n names.
func inputs(n int64) iter.Seq2[client.Input, error] {
	return func(yield func(client.Input, error) bool) {
		for i := range n {
			if !yield(client.Input{Line: i + 1, Text: name(i)}, nil) {
				return
			}
		}
	}
}
