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

// Protocols by their ALPN names, and the corresponding names in nginx.
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

// newPool returns a Pool for the server that offers only one protocol.
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

// name returns the i-th name to query.
func name(i int64) string { return fmt.Sprintf("dom%d.example", i) }

// An answer is the result of one lookup.
type answer struct {
	worker int // process that responded, or generation of the configuration
	trace  pool.Trace
}

// lookup queries a domain and checks the name in the response.
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
	// A header names the process that responded, or its configuration.
	a.worker, _ = strconv.Atoi(resp.Header.Get("X-Worker"))
	return a, nil
}

// A bodyError is a failure after the response headers, after which a pool can no longer retry
// the request.
type bodyError struct{ error }

// patiently is like lookup, with up to three attempts if the body is truncated.
func patiently(ctx context.Context, rt http.RoundTripper, base, domain string) (a answer, err error) {
	for range 3 {
		a, err = lookup(ctx, rt, base, domain)
		if _, cut := err.(bodyError); !cut {
			break
		}
	}
	return a, err
}

// askUntil looks up names concurrently until enough reports that no more are needed. It returns
// the number of names. All of them must get a response.
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

// ask looks up n names concurrently.
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
