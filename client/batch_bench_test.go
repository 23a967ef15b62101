package client_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/openrdap/rdap"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
)

const (
	benchLookups = 10_000
	benchJobs    = 64
)

// BenchmarkBatch10k looks up 10,000 names at one server on loopback, 64 at a time. It
// reports lookups per second and the connections that the server counted. Server and
// client share the machine, so only differences are meaningful.
func BenchmarkBatch10k(b *testing.B) {
	for _, protocols := range []struct {
		name string
		rdaptest.Protocols
	}{{"h2", rdaptest.H2Only}, {"h1", rdaptest.H1Only}} {
		b.Run("rdapq/"+protocols.name, func(b *testing.B) {
			run10k(b, protocols.Protocols, benchRdapq)
		})
		b.Run("nethttp/"+protocols.name, func(b *testing.B) {
			run10k(b, protocols.Protocols, benchNetHTTP)
		})
		b.Run("openrdap/"+protocols.name, func(b *testing.B) {
			run10k(b, protocols.Protocols, benchOpenRDAP)
		})
	}
}

func run10k(b *testing.B, protocols rdaptest.Protocols, ask func(*testing.B, *rdaptest.Server, []string)) {
	names := make([]string, benchLookups)
	for i := range names {
		names[i] = fmt.Sprintf("name%d.example", i)
	}
	b.ReportAllocs()
	connections := int64(0)
	for b.Loop() {
		b.StopTimer()
		s, err := rdaptest.New(rdaptest.Config{Protocols: protocols})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		ask(b, s, names)
		b.StopTimer()
		connections += s.Counts().Connections
		s.Close()
		b.StartTimer()
	}
	b.ReportMetric(float64(b.N)*benchLookups/b.Elapsed().Seconds(), "lookups/s")
	b.ReportMetric(float64(connections)/float64(b.N), "connections")
}

func benchRdapq(b *testing.B, s *rdaptest.Server, names []string) {
	a := newAsker(b, s.CA(), client.Config{Resolver: urls{s.URL()}, Jobs: benchJobs, PerHost: benchJobs})
	count := 0
	for r := range a.Batch(b.Context(), lines(names...)).All() {
		if r.Verdict != client.VerdictRegistered {
			b.Fatal(describe(r))
		}
		count++
	}
	if count != len(names) {
		b.Fatalf("%d results", count)
	}
	a.pool.Close()
}

// workers runs f for all names, benchJobs at a time.
func workers(names []string, f func(name string)) {
	work := make(chan string)
	var wg sync.WaitGroup
	for range benchJobs {
		wg.Go(func() {
			for name := range work {
				f(name)
			}
		})
	}
	for _, name := range names {
		work <- name
	}
	close(work)
	wg.Wait()
}

// defaultTransport is http.DefaultTransport that trusts the test server.
func defaultTransport(s *rdaptest.Server) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{RootCAs: s.Pool()}
	return t
}

func benchNetHTTP(b *testing.B, s *rdaptest.Server, names []string) {
	t := defaultTransport(s)
	defer t.CloseIdleConnections()
	c := &http.Client{Transport: t}
	workers(names, func(name string) {
		resp, err := c.Get(s.URL() + "domain/" + name)
		if err != nil {
			b.Error(err)
			return
		}
		defer resp.Body.Close()
		if _, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			b.Error(resp.Status, err)
		}
	})
}

func benchOpenRDAP(b *testing.B, s *rdaptest.Server, names []string) {
	t := defaultTransport(s)
	defer t.CloseIdleConnections()
	workers(names, func(name string) {
		// Use one Client per lookup, over a common transport: openrdap's Client is not safe for
		// concurrent use.
		c := &rdap.Client{HTTP: &http.Client{Transport: t}}
		server, err := url.Parse(s.URL())
		if err != nil {
			b.Error(err)
			return
		}
		req := &rdap.Request{Type: rdap.DomainRequest, Query: name, Server: server}
		if _, err := c.Do(req.WithContext(b.Context())); err != nil {
			b.Error(err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, text := range []string{"example.com", "bücher.example", "192.0.2.0/24", "AS64496"} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
