package pool_test

import (
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
)

// fullListener makes a silent address: its queue is full, so the kernel drops SYNs.
func fullListener(t *testing.T, ip [4]byte, port int) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: ip, Port: port}); err != nil {
		t.Skip("no second loopback address:", err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort(net.IP(ip[:]).String(), strconv.Itoa(port))
	silent := 0 // number of dials in a row that were silent; a single one may be due to a suspended machine
	for range 8 {
		nc, err := net.DialTimeout("tcp", address, 200*time.Millisecond)
		if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
			if silent++; silent == 2 {
				return
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		silent = 0
		t.Cleanup(func() { nc.Close() })
	}
	t.Skip("the kernel accepts connections beyond the backlog")
}

// TestDroppedSYNs races real sockets, between addresses of one family.
func TestDroppedSYNs(t *testing.T) {
	t.Parallel() // the test mostly waits
	s, port := startNamed(t, rdaptest.Config{})
	n, _ := strconv.Atoi(port)
	fullListener(t, [4]byte{127, 0, 0, 2}, n)
	p := newPool(t, s, pool.Config{Resolve: resolve(port, "127.0.0.2", "127.0.0.1")})
	a, err := get(t.Context(), p, namedURL(port, 1))
	if err != nil {
		t.Fatal(err)
	}
	if a.trace.RemoteAddr != "127.0.0.1:"+port {
		t.Errorf("answered by %s", a.trace.RemoteAddr)
	}
	if c := s.Counts(); c.Connections != 1 {
		t.Errorf("server saw %d connections, want 1", c.Connections)
	}

	p = newPool(t, s, pool.Config{ConnectTimeout: 100 * time.Millisecond, Resolve: resolve(port, "127.0.0.2")})
	_, err = get(t.Context(), p, namedURL(port, 1))
	if e, ok := errors.AsType[*pool.Error](err); !ok || e.Step != pool.StepConnect || !e.Timeout() {
		t.Errorf("got %v", err)
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v, want a timeout", err)
	}
}
