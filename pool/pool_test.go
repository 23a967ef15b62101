package pool_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/rdapq/rdapq/pool"
)

func get(ctx context.Context, p *pool.Pool, url string) (int, string, pool.Trace, error) {
	var t pool.Trace
	req, err := http.NewRequestWithContext(pool.WithTrace(ctx, &t), "GET", url, nil)
	if err != nil {
		return 0, "", t, err
	}
	resp, err := p.RoundTrip(req)
	if err != nil {
		return 0, "", t, err
	}
	b, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	return resp.StatusCode, string(b), t, err
}

func TestQuick(t *testing.T) {
	for _, h2 := range []bool{true, false} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "hello", r.URL.Path) }))
		s.EnableHTTP2 = h2
		s.StartTLS()
		defer s.Close()
		roots := x509.NewCertPool()
		roots.AddCert(s.Certificate())
		for _, noReuse := range []bool{false, true} {
			p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: roots}, NoReuse: noReuse})
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				status, body, tr, err := get(t.Context(), p, s.URL+"/x")
				t.Log(status, body, tr, err)
			}
			var wg sync.WaitGroup
			for range 64 {
				wg.Go(func() {
					if _, _, _, err := get(t.Context(), p, s.URL+"/y"); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			t.Logf("%+v", p.Stats())
			p.Close()
			if _, _, _, err := get(t.Context(), p, s.URL+"/y"); !errors.Is(err, pool.ErrClosed) {
				t.Error(err)
			}
		}
	}
}
