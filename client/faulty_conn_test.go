package client_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"path"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// A firstConnFails is a server that fails every request on the first connection used, and no
// request on other connections.
type firstConnFails struct {
	status int  // status of the responses; 0 means that the server never responds
	all    bool // the server fails on all connections

	mu       sync.Mutex
	first    string
	requests int
}

func (f *firstConnFails) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.requests++
	if f.first == "" {
		f.first = r.RemoteAddr
	}
	bad := f.all || f.first == r.RemoteAddr
	f.mu.Unlock()
	switch {
	case bad && f.status == 0:
		<-r.Context().Done()
	case bad:
		w.WriteHeader(f.status)
	default:
		w.Header().Set("Content-Type", "application/rdap+json")
		fmt.Fprintf(w, `{"objectClassName":"domain","ldhName":%q}`, path.Base(r.URL.Path))
	}
}

// newOwnPool returns a pool that connects over network.
func newOwnPool(t *testing.T, network *rdaptest.Network, ca *rdaptest.CA, c pool.Config) *pool.Pool {
	t.Helper()
	c.TLS, c.AllowPrivate, c.Dial = &tls.Config{RootCAs: ca.Pool()}, true, network.Dial
	p, err := pool.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func names(n int) []string {
	var texts []string
	for i := range n {
		texts = append(texts, fmt.Sprintf("n%d.example", i))
	}
	return texts
}

// A connection on which every request fails does not make lookups fail, and the pool no longer
// uses it. The test uses the clock of a bubble, because a loaded machine would delay responses
// beyond the timeout.
func TestBatchFaultyConnection(t *testing.T) {
	t.Parallel() // the test mostly waits
	const count = 200
	for name, protocols := range map[string]rdaptest.Protocols{"HTTP/1.1": rdaptest.H1Only, "HTTP/2": rdaptest.H2Only} {
		for _, status := range []int{500, 502, 503, 504, 421, 0} {
			bubble(t, fmt.Sprint(name, "/", status), func(t *testing.T) {
				network := new(rdaptest.Network)
				h := &firstConnFails{status: status}
				s := rdaptest.Start(t, rdaptest.Config{Network: network, Protocols: protocols, Handler: h})
				p := newOwnPool(t, network, s.CA(), pool.Config{})
				a := newAsker(t, s.CA(), client.Config{Transport: p, Resolver: urls{s.URL()}, Timeout: time.Second})
				seen := 0
				for r := range a.Batch(t.Context(), lines(names(count)...)).All() {
					seen++
					if r.Verdict != client.VerdictRegistered {
						t.Errorf("%s after %d attempts: %v", describe(r), r.Attempts, client.ErrorOf(r))
					}
				}
				st := p.Stats()
				t.Logf("%d requests, %d connections, closed: %v", h.requests, st.Connections, st.Closed)
				if seen != count || h.requests > 3*count {
					t.Errorf("%d rows, %d requests", seen, h.requests)
				}
			})
		}
	}
}

// Neither a query that always fails nor random failures take a connection out of use.
func TestBatchFaultyQueries(t *testing.T) {
	for name, protocols := range map[string]rdaptest.Protocols{"HTTP/1.1": rdaptest.H1Only, "HTTP/2": rdaptest.H2Only} {
		bubble(t, name, func(t *testing.T) {
			network := new(rdaptest.Network)
			s := rdaptest.Start(t, rdaptest.Config{Network: network, Protocols: protocols})
			s.On("/domain/n7.example", rdaptest.Status(500))
			for i := 20; i < 400; i += 40 {
				s.On(fmt.Sprintf("/domain/n%d.example", i), rdaptest.First(1, rdaptest.Status(503)))
			}
			p := newOwnPool(t, network, s.CA(), pool.Config{})
			a := newAsker(t, s.CA(), client.Config{Transport: p, Resolver: urls{s.URL()}})
			for r := range a.Batch(t.Context(), lines(names(400)...)).All() {
				if want := r.Query.Name == "n7.example"; want != (r.Verdict == client.VerdictFailed) {
					t.Errorf("%s after %d attempts: %v", describe(r), r.Attempts, client.ErrorOf(r))
				}
			}
			if st := p.Stats(); len(st.Closed) > 0 {
				t.Errorf("connections closed: %v", st.Closed)
			}
		})
	}
}
