//go:build unix

package interop_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rdapq/rdapq/pool"
)

// Protocols by their ALPN names, and how nginx calls them.
const (
	http1 = "http/1.1"
	http2 = "h2"
	http3 = "h3"
)

var nginxName = map[string]string{http1: "HTTP/1.1", http2: "HTTP/2.0"}

// each runs a test over HTTP/1.1 and HTTP/2.
func each(t *testing.T, test func(t *testing.T, protocol string)) {
	for _, protocol := range []string{http1, http2} {
		t.Run(protocol, func(t *testing.T) { test(t, protocol) })
	}
}

// newPool returns a Pool for the server that speaks one protocol.
func (s *server) newPool(c pool.Config) *pool.Pool {
	s.t.Helper()
	if c.TLS == nil {
		c.TLS = new(tls.Config)
	}
	c.TLS.RootCAs = s.ca.Pool()
	p, err := pool.New(c)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { p.Close() })
	s.pools = append(s.pools, p)
	return p
}

// name is the i-th name to ask for.
func name(i int64) string { return fmt.Sprintf("dom%d.example", i) }

// An answer is what came of one lookup.
type answer struct {
	worker int // process that answered, or generation of the configuration
	trace  pool.Trace
}

// lookup asks for a domain and checks that the answer is about it.
func lookup(ctx context.Context, rt http.RoundTripper, base, domain string) (a answer, err error) {
	req, err := http.NewRequestWithContext(pool.WithTrace(ctx, &a.trace), http.MethodGet, base+"domain/"+domain, nil)
	if err != nil {
		return a, err
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	var object struct {
		LDHName string `json:"ldhName"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&object); err != nil {
		return a, bodyError{err}
	}
	if resp.StatusCode != http.StatusOK || object.LDHName != domain {
		return a, fmt.Errorf("status %s, name %q", resp.Status, object.LDHName)
	}
	// Who says so: which process answered, or under which configuration.
	a.worker, _ = strconv.Atoi(resp.Header.Get("X-Worker"))
	return a, nil
}

// A bodyError came after the response had begun, where a pool can't repeat the
// request unseen any more.
type bodyError struct{ error }

// patiently is lookup, with the caller's part: again if the body broke off, three
// times in all.
func patiently(ctx context.Context, rt http.RoundTripper, base, domain string) (a answer, err error) {
	for range 3 {
		a, err = lookup(ctx, rt, base, domain)
		if _, cut := err.(bodyError); !cut {
			break
		}
	}
	return a, err
}

// askUntil looks names up, so many at once, until enough reports that an
// answer is the last that is needed. It returns how many names were asked for,
// all of which must have been answered.
func askUntil(t *testing.T, rt http.RoundTripper, base string, atOnce int, enough func(i int64, a answer) bool) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var next atomic.Int64
	var stop atomic.Bool
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for !stop.Load() {
				i := next.Add(1) - 1
				a, err := patiently(ctx, rt, base, name(i))
				if err != nil {
					t.Errorf("%s: %v", name(i), err)
					stop.Store(true)
				} else if enough(i, a) {
					stop.Store(true)
				}
			}
		})
	}
	workers.Wait()
	return next.Load()
}

// ask looks n names up, so many at once.
func ask(t *testing.T, rt http.RoundTripper, base string, n int64, atOnce int) {
	t.Helper()
	var next atomic.Int64
	var workers sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range atOnce {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < n; i = next.Add(1) - 1 {
				if _, err := patiently(ctx, rt, base, name(i)); err != nil {
					t.Errorf("%s: %v", name(i), err)
				}
			}
		})
	}
	workers.Wait()
}
