package pool_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/rdapq/rdapq/internal/testrun"
	"github.com/rdapq/rdapq/pool"
)

// If a server redirects each request to another host, the Pool forgets origins and
// their connections, and the sums are right. RDAPQ_ORIGINS sets the number of hosts.
func TestManyOrigins(t *testing.T) {
	hosts := testrun.Env(t, "RDAPQ_ORIGINS", 4600)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "here")
	}))
	defer s.Close()
	p, err := pool.New(pool.Config{AllowPrivate: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const most = 4096
	var wait sync.WaitGroup
	var open int64
	for k := range 4 {
		wait.Go(func() {
			for i := range hosts / 4 {
				a, err := get(t.Context(), p, fmt.Sprintf("http://h%d-%d.example/", k, i))
				if err != nil || a.body != "here" {
					t.Errorf("host %d: %q, %v", i, a.body, err)
					return
				}
				if k == 0 && i%500 == 0 {
					open = max(open, p.Stats().Open)
				}
			}
		})
	}
	wait.Wait()
	st := p.Stats()
	if len(st.Origins) > most || max(open, st.Open) > most {
		t.Errorf("%d origins, at most %d connections open", len(st.Origins), max(open, st.Open))
	}
	// net/http sometimes closes a connection if the goroutine that wrote the request gets no
	// CPU time.
	all := st.Open
	for _, n := range st.Closed {
		all += n
	}
	if st.Requests != int64(hosts) || st.Connections != int64(hosts) || st.Dials != int64(hosts) || st.Failed != 0 || all != int64(hosts) || st.Closed[pool.ClosedIdle]+st.Closed[pool.ClosedPool] < int64(hosts-most-hosts/100) {
		t.Errorf("%+v", pool.Stats{Requests: st.Requests, Connections: st.Connections, Dials: st.Dials, Failed: st.Failed, Open: st.Open, Closed: st.Closed})
	}
}

// Origins that were used once are counted separately, although the Pool forgets most other data
// about them.
func TestSweptOriginsAreCounted(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "here")
	}))
	defer s.Close()
	p, err := pool.New(pool.Config{AllowPrivate: true, MaxConns: 16, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const hosts = 1500
	lookup := func(i int) {
		if a, err := get(t.Context(), p, fmt.Sprintf("http://h%d.example/", i)); err != nil || a.body != "here" {
			t.Fatalf("host %d: %q, %v", i, a.body, err)
		}
	}
	for i := range hosts {
		lookup(i)
	}
	lookup(0) // of this origin, only the counts remain
	st := p.Stats()
	if len(st.Origins) != hosts || st.Requests != hosts+1 {
		t.Errorf("%d requests to %d origins, want %d to %d", st.Requests, len(st.Origins), hosts+1, hosts)
	}
	for _, o := range st.Origins {
		want := int64(1)
		if o.Origin == "http://h0.example" {
			want = 2
		}
		if o.Requests != want || o.Connections != want || o.Protocol != "http/1.1" {
			t.Errorf("%s: %d requests over %d connections of %q, want %d", o.Origin, o.Requests, o.Connections, o.Protocol, want)
		}
	}
}
