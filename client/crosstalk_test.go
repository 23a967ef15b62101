package client_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A lookup gets the response to its own query, even if other requests are canceled, reset or
// truncated. With RDAPQ_CROSSTALK the test does 38,000 lookups over each protocol.
func TestResponsesMatchQueries(t *testing.T) {
	t.Parallel() // the test mostly waits
	count := 400
	if os.Getenv("RDAPQ_CROSSTALK") != "" {
		count = 38_000
	}
	for name, protocol := range map[string]string{"HTTP/1.1": "http/1.1", "HTTP/2": "h2", "HTTP/3": "h3"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := rdaptest.StartH3(t, rdaptest.Config{}, rdaptest.H3Config{})
			s.On("*", rdaptest.Every(7, rdaptest.Latency(3*time.Millisecond)), rdaptest.Every(41, rdaptest.ResetStream()),
				rdaptest.Every(67, rdaptest.Cut(40)), rdaptest.Every(97, rdaptest.HangUp()))
			p, err := pool.New(pool.Config{
				TLS: &tls.Config{RootCAs: s.CA().Pool()}, AllowPrivate: true, Protocols: []string{protocol},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { p.Close() })
			a := newAsker(t, s.CA(), client.Config{Transport: p, Resolver: urls{s.URL()}})
			next := make(chan int)
			var workers sync.WaitGroup
			var mu sync.Mutex
			answered, canceled := 0, 0
			for range 16 {
				workers.Go(func() {
					for i := range next {
						ctx, cancel := context.WithCancel(t.Context())
						stop := func() bool { return true }
						if i%5 == 0 {
							stop = time.AfterFunc(rand.N(4*time.Millisecond), cancel).Stop
						}
						q, err := client.Parse(fmt.Sprintf("n%d.example", i))
						if err != nil {
							t.Error(err)
						}
						r, _ := a.Lookup(ctx, q)
						stop()
						cancel()
						mu.Lock()
						if r.Verdict == client.VerdictRegistered {
							answered++
							if want := fmt.Sprintf(`"n%d.example"`, i); !strings.Contains(strings.ToLower(string(r.Raw)), want) {
								t.Errorf("%s got %s", q.Name, r.Raw)
							}
						} else if i%5 == 0 {
							canceled++
						}
						mu.Unlock()
					}
				})
			}
			for i := range count {
				next <- i
			}
			close(next)
			workers.Wait()
			t.Logf("%d answered, %d canceled", answered, canceled)
			if answered < count/2 || canceled == 0 {
				t.Errorf("%d of %d answered, %d canceled: this shows little", answered, count, canceled)
			}
		})
	}
}
