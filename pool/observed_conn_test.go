package pool

import (
	"errors"
	"net"
	"testing"
	"time"
)

// A closed tap lets go of the connection underneath, and nothing is written there
// any more, where what was encrypted would go out in the clear.
func TestClosedObservedConn(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	tp := newObservedConn(near, setup{raw: &countingConn{Conn: near}})
	tp.Close()
	for deadline := time.Now().Add(10 * time.Second); tp.under.Load().Conn == near; {
		if time.Now().After(deadline) {
			t.Fatal("the connection is kept")
		}
		time.Sleep(time.Millisecond)
	}
	if _, err := tp.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write: %v", err)
	}
	if _, err := tp.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read: %v", err)
	}
	if tp.RemoteAddr() == nil {
		t.Error("no address")
	}
}
