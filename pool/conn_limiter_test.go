package pool_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// hosts starts a server with n host names. It returns its port, and a Config with
// Resolve for the names, and with Dial if the server is in memory.
func hosts(t *testing.T, n int, config rdaptest.Config) (s *rdaptest.Server, port string, c pool.Config) {
	t.Helper()
	for i := range n {
		config.Names = append(config.Names, fmt.Sprintf("h%d.example", i))
	}
	s = rdaptest.Start(t, config)
	port = s.Addr()[strings.LastIndex(s.Addr(), ":")+1:]
	c.Resolve = make(map[string][]netip.Addr)
	for _, name := range config.Names {
		c.Resolve[name+":"+port] = []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	}
	if config.Network != nil {
		c.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return config.Network.Dial(ctx, network, s.Addr())
		}
	}
	return s, port, c
}

func hostURL(i int, port string) string {
	return fmt.Sprintf("https://h%d.example:%s/domain/d1.example", i, port)
}

// A Pool has at most MaxConns connections open over all origins. Requests to further
// origins close idle connections, or wait for busy ones.
func TestMaxConns(t *testing.T) {
	both(t, func(t *testing.T, protocols rdaptest.Protocols) {
		const most, origins = 20, 60
		s, port, c := hosts(t, origins, rdaptest.Config{Protocols: protocols})
		c.MaxConns = most
		p := newPool(t, s, c)
		for _, jobs := range []int{1, 64} {
			next := make(chan int, origins)
			for i := range origins {
				next <- i
			}
			close(next)
			var wg sync.WaitGroup
			for range jobs {
				wg.Go(func() {
					for i := range next {
						if a, err := get(t.Context(), p, hostURL(i, port)); err != nil || a.status != 200 {
							t.Errorf("host %d with %d requests at a time: status %d, %v", i, jobs, a.status, err)
						}
					}
				})
			}
			wg.Wait()
			if open := p.Stats().Open; open > most {
				t.Errorf("%d connections open, want %d at most", open, most)
			}
		}
		// The server sees the closing of a connection later than the Pool.
		if c := s.Counts(); c.MaxOpen > most+3 {
			t.Errorf("server saw %d connections at a time, want %d", c.MaxOpen, most)
		}
	})
}

// The connection that has been idle longest is closed.
func TestMaxConnsClosesTheOldest(t *testing.T) {
	s, port, c := hosts(t, 30, rdaptest.Config{})
	c.MaxConns = 16
	p := newPool(t, s, c)
	for i := range 30 {
		for _, host := range []int{0, i} { // the first connection is reused each time
			if _, err := get(t.Context(), p, hostURL(host, port)); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := p.Stats().Connections
	for _, host := range []int{0, 29, 28, 27} {
		if _, err := get(t.Context(), p, hostURL(host, port)); err != nil {
			t.Fatal(err)
		}
	}
	if n := p.Stats().Connections; before != 30 || n != before {
		t.Errorf("%d connections, then %d, want 30", before, n)
	}
}

// A request that waits for a busy connection can be canceled, and the next request in the queue
// is served.
func TestMaxConnsWithBusyConnections(t *testing.T) {
	const most = 16
	s, port, c := hosts(t, 40, rdaptest.Config{})
	c.MaxConns = most
	p := newPool(t, s, c)
	hold := make(chan struct{})
	s.On("*", rdaptest.Until(hold))
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() { _, _ = get(ctx, p, hostURL(i, port)) })
	}
	if err := s.AwaitRequests(t.Context(), most-2); err != nil {
		t.Fatal(err)
	}
	for i := 20; i < 40; i++ {
		wg.Go(func() {
			if _, err := get(t.Context(), p, hostURL(i, port)); err != nil {
				t.Error(err)
			}
		})
	}
	cancel()
	close(hold)
	wg.Wait()
	if st := p.Stats(); st.Open > most {
		t.Errorf("%d connections open", st.Open)
	}
}

// childServerEnv is set in a child process of a test, to the server's port, the number of its
// names, and the file of its CA. The server runs in the parent.
const childServerEnv = "RDAPQ_POOL_TEST_SERVER"

// inChild runs f in a child process with a Pool that reaches a server under n names.
// It returns the output, and whether this is the parent.
func inChild(t *testing.T, n int, config rdaptest.Config, f func(p *pool.Pool, port string)) (s *rdaptest.Server, out string, parent bool) {
	t.Helper()
	if args := os.Getenv(childServerEnv); args != "" {
		var port, ca string
		if _, err := fmt.Sscan(args, &port, &n, &ca); err != nil {
			t.Fatal(err)
		}
		pem, err := os.ReadFile(ca)
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		c := pool.Config{TLS: &tls.Config{RootCAs: roots}, Resolve: make(map[string][]netip.Addr), MaxConns: 4 * n}
		for i := range n {
			c.Resolve[fmt.Sprintf("h%d.example:%s", i, port)] = []netip.Addr{netip.MustParseAddr("127.0.0.1")}
		}
		p, err := pool.New(c)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		f(p, port)
		return nil, "", false
	}
	s, port, _ := hosts(t, n, config)
	ca := t.TempDir() + "/ca.pem"
	if err := os.WriteFile(ca, s.CA().PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", childServerEnv, port, n, ca))
	text, err := cmd.CombinedOutput()
	if strings.Contains(string(text), "--- SKIP") {
		t.Skipf("%s", text)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	return s, string(text), true
}

// A process whose descriptors other code has used up closes idle connections and retries.
func TestOutOfDescriptors(t *testing.T) {
	const n = 60
	s, _, parent := inChild(t, n, rdaptest.Config{}, func(p *pool.Pool, port string) {
		takeDescriptors(t, 20)
		next := make(chan int, n)
		for i := range n {
			next <- i
		}
		close(next)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for i := range next {
					if a, err := get(t.Context(), p, hostURL(i, port)); err != nil || a.status != 200 {
						t.Errorf("host %d: status %d, %v", i, a.status, err)
					}
				}
			})
		}
		wg.Wait()
	})
	if !parent {
		return
	}
	if c := s.Counts(); c.Requests != n {
		t.Errorf("server saw %d requests, want %d", c.Requests, n)
	}
}

// If each request goes to a new host, the Pool keeps few idle connections open. Once hosts are
// reused, it keeps many open again.
func TestIdleConnectionsWithoutReuse(t *testing.T) {
	bothInMemory(t, func(t *testing.T, network *rdaptest.Network, protocols rdaptest.Protocols) {
		const n, few, again = 560, 16, 60
		s, port, c := hosts(t, n, rdaptest.Config{Network: network, Protocols: protocols})
		c.MaxConns = 400
		p := newPool(t, s, c)
		lookup := func(i int) {
			if a, err := get(t.Context(), p, hostURL(i, port)); err != nil || a.status != 200 {
				t.Fatalf("host %d: status %d, %v", i, a.status, err)
			}
		}
		most := int64(0)
		for i := range n {
			lookup(i)
			if i%50 == 0 {
				most = max(most, p.Stats().Open)
			}
		}
		if open := p.Stats().Open; most < 80 || open > few+2 {
			t.Errorf("%d connections open of at most %d, want %d at most of about 100", open, most, few)
		}
		for range 2 {
			for i := range again {
				lookup(n - 1 - i)
			}
		}
		before := p.Stats().Connections
		for i := range again {
			lookup(n - 1 - i)
		}
		if more := p.Stats().Connections - before; more > 3 {
			t.Errorf("%d connections for %d hosts that were just used", more, again)
		}
	})
}

// An idle connection takes the 45 to 50 kB that docs/pool.md states, with some tolerance. The
// race detector would add to the memory.
func TestMemoryOfIdleConnections(t *testing.T) {
	both(t, func(t *testing.T, protocols rdaptest.Protocols) {
		const n, most = 120, 128 << 10
		_, out, parent := inChild(t, n, rdaptest.Config{Protocols: protocols}, func(p *pool.Pool, port string) {
			memory := func() uint64 {
				var m runtime.MemStats
				runtime.GC()
				runtime.GC()
				runtime.ReadMemStats(&m)
				return m.HeapAlloc + m.StackInuse
			}
			var before uint64
			for i := range n {
				if i == 20 {
					before = memory()
				}
				if _, err := get(t.Context(), p, hostURL(i, port)); err != nil {
					t.Fatal(err)
				}
			}
			if open := p.Stats().Open; open != n {
				t.Fatalf("%d connections open, want %d", open, n)
			}
			each := (memory() - before) / (n - 20)
			fmt.Printf("each takes %d bytes\n", each)
			if each > most {
				t.Errorf("an idle connection takes %d bytes, want %d at most", each, most)
			}
		})
		if parent {
			_, each, _ := strings.Cut(out, "each takes ")
			each, _, _ = strings.Cut(each, "\n")
			t.Log(each)
		}
	})
}
