package client_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A server that is down in the middle of a batch loses no input, because the batch waits for
// it. The server is down for longer than the retries of a query take.
func TestBatchWaitsForRestart(t *testing.T) {
	t.Parallel() // the test mostly waits
	for _, jobs := range []int{1, 16} {
		t.Run(fmt.Sprintf("%d jobs", jobs), func(t *testing.T) {
			t.Parallel()
			ca := newCA(t)
			s := rdaptest.Start(t, rdaptest.Config{CA: ca, Protocols: rdaptest.H1Only})
			const names, middle = 300, 100
			var failed atomic.Int64
			p, err := pool.New(pool.Config{AllowPrivate: true, TLS: &tls.Config{RootCAs: ca.Pool()}, OnEvent: func(e pool.Event) {
				if e.Kind == pool.DialFailed {
					failed.Add(1)
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { p.Close() })
			c, err := client.New(client.Config{Transport: p, Resolver: urls{s.URL()}, Jobs: jobs, PerHost: jobs})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			var texts []string
			for i := range names {
				texts = append(texts, fmt.Sprintf("n%d.example", i))
			}
			// The server returns after the batch has detected it as dead and a probe has
			// failed.
			back := make(chan struct{})
			comeBack := func() {
				defer close(back)
				var before int64
				for t.Context().Err() == nil && (before == 0 || failed.Load() < before+2) {
					if before == 0 && c.Servers()[0].Dead {
						before = failed.Load()
					}
					time.Sleep(time.Millisecond)
				}
				s.SetConnRules(rdaptest.ConnRules{})
			}
			count := 0
			for r := range c.Batch(t.Context(), lines(texts...)).All() {
				if r.Verdict != client.VerdictRegistered {
					t.Errorf("%s: %v", describe(r), client.ErrorOf(r))
				}
				if count++; count == middle {
					s.SetConnRules(rdaptest.ConnRules{Refuse: true})
					s.CloseConns()
					go comeBack()
				}
			}
			<-back
			if count != names {
				t.Errorf("%d results", count)
			}
		})
	}
}

// After the Pool was closed, lookups fail immediately instead of waiting for a server to
// recover.
func TestBatchPoolClosed(t *testing.T) {
	t.Parallel() // the test mostly waits
	ca := newCA(t)
	s := rdaptest.Start(t, rdaptest.Config{CA: ca})
	p, err := pool.New(pool.Config{AllowPrivate: true, TLS: &tls.Config{RootCAs: ca.Pool()}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Config{Transport: p, Resolver: urls{s.URL()}, Jobs: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	var texts []string
	for i := range 200 {
		texts = append(texts, fmt.Sprintf("n%d.example", i))
	}
	count := 0
	for r := range c.Batch(t.Context(), lines(texts...)).All() {
		if count++; count == 20 {
			p.Close()
		}
		if r.Verdict != client.VerdictRegistered && (client.ErrorOf(r).Code != client.CodeCanceled || !errors.Is(client.ErrorOf(r), pool.ErrClosed)) {
			t.Errorf("%s: %v", describe(r), client.ErrorOf(r))
		}
	}
	if count != len(texts) {
		t.Errorf("%d results", count)
	}
	if c.Servers() != nil && c.Servers()[0].Dead {
		t.Error("the server passes for dead")
	}
}
