package pool

import (
	"errors"
	"testing"
)

// Over HTTP/3 the handshake may end while a request fails. The race detector finds a read of
// the fields that the end changes.
func TestPeerAlertDuringHandshake(t *testing.T) {
	c := &conn{protocol: protoHTTP3}
	done := make(chan struct{})
	go func() {
		c.setup = setup{tls: 1}
		close(done)
	}()
	err := errors.New("no response")
	if got := c.peerAlert(err); got != err {
		t.Errorf("got %v", got)
	}
	<-done
}
