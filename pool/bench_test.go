package pool_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

func mustParse(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// BenchmarkRoundTrip compares reused connections with one connection per request,
// and with net/http, on the same server. The server runs in the same process.
func BenchmarkRoundTrip(b *testing.B) {
	for _, protocol := range []rdaptest.Protocols{rdaptest.H1Only, rdaptest.H2Only} {
		name := map[rdaptest.Protocols]string{rdaptest.H1Only: "HTTP1", rdaptest.H2Only: "HTTP2"}[protocol]
		for _, c := range []struct {
			name      string
			transport func(*rdaptest.Server) http.RoundTripper
		}{
			{"pool", func(s *rdaptest.Server) http.RoundTripper { return newPool(b, s, pool.Config{}) }},
			{"pool-no-reuse", func(s *rdaptest.Server) http.RoundTripper { return newPool(b, s, pool.Config{NoReuse: true}) }},
			{"net-http", func(s *rdaptest.Server) http.RoundTripper {
				tr := http.DefaultTransport.(*http.Transport).Clone()
				tr.TLSClientConfig = &tls.Config{RootCAs: s.Pool()}
				b.Cleanup(tr.CloseIdleConnections)
				return tr
			}},
		} {
			b.Run(fmt.Sprintf("%s/%s", name, c.name), func(b *testing.B) {
				s := rdaptest.Start(b, rdaptest.Config{Protocols: protocol})
				rt := c.transport(s)
				var next atomic.Int64
				b.ReportAllocs()
				b.SetParallelism(8)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, domain(s, int(next.Add(1))), nil)
						if err != nil {
							b.Error(err)
							return
						}
						resp, err := rt.RoundTrip(req)
						if err != nil {
							b.Error(err)
							return
						}
						io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
					}
				})
				b.ReportMetric(float64(s.Counts().Connections), "connections")
			})
		}
	}
}
