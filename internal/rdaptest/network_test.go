package rdaptest_test

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdapq/rdapq/internal/rdaptest"
)

// Connections in memory carry data, end, and respect deadlines, on the clock of a bubble.
func TestNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := new(rdaptest.Network)
		l, err := network.Listen("")
		if err != nil {
			t.Fatal(err)
		}
		ours, err := network.Dial(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if ours.RemoteAddr().String() != l.Addr().String() || ours.LocalAddr().String() != theirs.RemoteAddr().String() {
			t.Errorf("%v to %v, %v to %v", ours.LocalAddr(), ours.RemoteAddr(), theirs.RemoteAddr(), theirs.LocalAddr())
		}

		// The data does not fit into the buffer, so that the writer waits for the reader.
		const size = 1 << 20
		go func() {
			_, _ = ours.Write(make([]byte, size))
			_ = ours.(interface{ CloseWrite() error }).CloseWrite()
		}()
		if got, err := io.ReadAll(theirs); err != nil || len(got) != size {
			t.Errorf("%d bytes, %v", len(got), err)
		}

		begin := time.Now()
		_ = ours.SetReadDeadline(begin.Add(time.Minute))
		if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begin) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		_ = theirs.SetWriteDeadline(begin)
		if _, err := theirs.Write(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		_ = theirs.SetDeadline(time.Time{})
		_ = ours.SetDeadline(time.Time{})

		_ = theirs.(interface{ SetLinger(int) error }).SetLinger(0)
		_, _ = theirs.Write(make([]byte, 1))
		theirs.Close()
		if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Error(err)
		}
		ours.Close()
		if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}

		l.Close()
		if _, err := network.Dial(t.Context(), "tcp", l.Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Error(err)
		}
	})
}

// Each address of a port has its own listener.
func TestNetworkAddresses(t *testing.T) {
	network := new(rdaptest.Network)
	first, err := network.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(first.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	at := net.JoinHostPort("127.0.0.2", port)
	second, err := network.Listen(at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := network.Listen(at); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a second listener at %s: %v", at, err)
	}
	if _, err := network.Listen("rdap.example:1"); err == nil {
		t.Error("a listener at a name")
	}
	for _, l := range []net.Listener{first, second} {
		ours, err := network.Dial(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer ours.Close()
		theirs, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if theirs.LocalAddr().String() != l.Addr().String() {
			t.Errorf("%v accepted a connection to %v", l.Addr(), theirs.LocalAddr())
		}
		theirs.Close()
	}
}
