package pool

import (
	"errors"
	"net"
	"testing"
	"time"
)

// A closed observedConn releases its connection and no longer writes to it, because the data
// would be sent unencrypted.
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
