package pool_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// ResponseHeaderTimeout counts from the end of the request to the header: neither a long
// upload nor a long body exceeds it. A request without a header in time is not retried.
func TestResponseHeaderTimeout(t *testing.T) {
	bothInMemory(t, func(t *testing.T, network *rdaptest.Network, protocols rdaptest.Protocols) {
		const limit = 10 * time.Second
		s := rdaptest.Start(t, rdaptest.Config{Network: network, Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				<-r.Context().Done()
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			time.Sleep(limit / 2)
			flushed(w, "begin")
			time.Sleep(3 * limit)
			io.WriteString(w, ", end")
		})})
		p := newPool(t, s, pool.Config{Dial: network.Dial, ResponseHeaderTimeout: limit})
		body := newSentBody(io.MultiReader(strings.NewReader("hello"), readerFunc(func([]byte) (int, error) {
			time.Sleep(3 * limit)
			return 0, io.EOF
		})))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, domain(s, 1), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Body, req.ContentLength = body, -1
		resp, err := p.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := readResponse(resp); got != `200 "begin, end" ok` {
			t.Errorf("a slow exchange: %s", got)
		}
		begin := time.Now()
		_, err = get(t.Context(), p, domain(s, 2))
		if !errors.Is(err, context.DeadlineExceeded) || errorClass(err) != "deadline timeout" {
			t.Errorf("no header: %v", err)
		}
		if took := time.Since(begin); took != limit {
			t.Errorf("it took %v, want %v", took, limit)
		}
		if n := s.Counts().Requests; n != 2 {
			t.Errorf("the server saw %d requests, want 2", n)
		}
	})
}

// A body that is closed early is read for DrainTimeout.
func TestDrainTimeout(t *testing.T) {
	for name, test := range map[string]struct {
		timeout time.Duration
		conns   int64
	}{
		"default":  {0, 1},
		"longer":   {time.Second, 1},
		"shorter":  {100 * time.Millisecond, 2},
		"disabled": {-1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, network *rdaptest.Network) {
				s := rdaptest.Start(t, rdaptest.Config{Network: network, Protocols: rdaptest.H1Only, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					flushed(w, "some")
					time.Sleep(200 * time.Millisecond)
					io.WriteString(w, " more")
				})})
				p := newPool(t, s, pool.Config{Dial: network.Dial, DrainTimeout: test.timeout})
				resp, err := p.RoundTrip(newRequest(t, domain(s, 1)))
				if err != nil {
					t.Fatal(err)
				}
				begin := time.Now()
				resp.Body.Close()
				if took := time.Since(begin); took > 25*time.Millisecond {
					t.Errorf("Close took %v", took)
				}
				time.Sleep(2 * time.Second)
				if _, err := get(t.Context(), p, domain(s, 2)); err != nil {
					t.Fatal(err)
				}
				if n := s.Counts().Connections; int64(n) != test.conns {
					t.Errorf("the server saw %d connections, want %d", n, test.conns)
				}
			})
		})
	}
}

// With a negative MaxConnsPerHost each concurrent request over HTTP/1.1 has a connection.
func TestNoConnectionLimit(t *testing.T) {
	hold := make(chan struct{})
	s := rdaptest.Start(t, rdaptest.Config{Protocols: rdaptest.H1Only})
	s.On("*", rdaptest.Until(hold))
	p := newPool(t, s, pool.Config{MaxConnsPerHost: -1})
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			if _, err := get(t.Context(), p, domain(s, i)); err != nil {
				t.Error(err)
			}
		})
	}
	if err := s.AwaitRequests(t.Context(), 30); err != nil { // each on a connection of its own
		t.Fatal(err)
	}
	close(hold)
	all.Wait()
	if st := p.Stats(); st.Connections != 30 {
		t.Errorf("%d connections, want 30", st.Connections)
	}
	if n := p.Capacity("https://"+s.Addr(), 50); n != 50 {
		t.Errorf("Capacity is %d, want 50", n)
	}
}

// DisableCompression keeps the Pool from requesting gzip, which it does by default.
func TestDisableCompression(t *testing.T) {
	s := rdaptest.Start(t, rdaptest.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "Accept-Encoding: "+r.Header.Get("Accept-Encoding"))
	})})
	for disabled, want := range map[bool]string{false: "Accept-Encoding: gzip", true: "Accept-Encoding: "} {
		p := newPool(t, s, pool.Config{Dial: dialFar, DisableCompression: disabled})
		if a, err := get(t.Context(), p, domain(s, 1)); err != nil || a.body != want {
			t.Errorf("disabled %t: %q, %v", disabled, a.body, err)
		}
	}
}
