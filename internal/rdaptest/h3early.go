package rdaptest

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"time"

	"github.com/quic-go/quic-go/quicvarint"
)

// earlyRequest is a size in bytes that the settings of an HTTP/3 client do not exceed, even if
// sent twice. More early data contains a request.
const earlyRequest = 60

// An earlyWatch counts the bytes of the 0-RTT packets that clients send, by
// their address.
type earlyWatch struct {
	mu   sync.Mutex
	came map[string]*earlyBytes
}

type earlyBytes struct {
	n      int
	enough chan struct{} // closed when a request has arrived
}

func newEarlyWatch() *earlyWatch { return &earlyWatch{came: make(map[string]*earlyBytes)} }

func (w *earlyWatch) ofLocked(from net.Addr) *earlyBytes {
	b := w.came[from.String()]
	if b == nil {
		b = &earlyBytes{enough: make(chan struct{})}
		w.came[from.String()] = b
	}
	return b
}

func (w *earlyWatch) saw(from net.Addr, datagram []byte) {
	n := earlyLen(datagram)
	if n == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.ofLocked(from)
	if b.n <= earlyRequest && b.n+n > earlyRequest {
		close(b.enough)
	}
	b.n += n
}

// await waits for a request from the address from. Then it removes the address, which the next
// connection may reuse.
func (w *earlyWatch) await(ctx context.Context, from net.Addr) {
	w.mu.Lock()
	enough := w.ofLocked(from).enough
	w.mu.Unlock()
	select {
	case <-enough:
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
	}
	w.mu.Lock()
	delete(w.came, from.String())
	w.mu.Unlock()
}

// earlyLen returns the length of the 0-RTT packets in a datagram (RFC 9000, 17.2).
func earlyLen(b []byte) (n int) {
	const initial, zeroRTT, retry = 0, 1, 3
	for len(b) > 6 && b[0]&0xc0 == 0xc0 && binary.BigEndian.Uint32(b[1:]) == 1 {
		kind := b[0] >> 4 & 3
		if kind == retry {
			return n
		}
		rest := b[5:]
		for range 2 { // once for each connection ID
			if len(rest) == 0 || len(rest) < 1+int(rest[0]) {
				return n
			}
			rest = rest[1+rest[0]:]
		}
		if kind == initial {
			token, l, err := quicvarint.Parse(rest)
			if err != nil || token > uint64(len(rest)-l) {
				return n
			}
			rest = rest[l+int(token):]
		}
		length, l, err := quicvarint.Parse(rest)
		if err != nil || length > uint64(len(rest)-l) {
			return n
		}
		if kind == zeroRTT {
			n += int(length)
		}
		b = rest[l+int(length):]
	}
	return n
}
