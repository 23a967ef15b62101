package wire

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/rdapq/rdapq/bench/lab/internal/link"
)

// A tappedUDP passes datagrams to a counter. It can hold incoming datagrams, because a response
// ends the time for early data.
type tappedUDP struct {
	net.PacketConn
	seen func(dir link.Dir, b []byte)
	may  <-chan struct{}
}

func (c tappedUDP) WriteTo(b []byte, to net.Addr) (int, error) {
	c.seen(link.Up, b)
	return c.PacketConn.WriteTo(b, to)
}

func (c tappedUDP) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := c.PacketConn.ReadFrom(b)
	if err == nil {
		<-c.may
		c.seen(link.Down, b[:n])
	}
	return n, from, err
}

// datagram returns an IPv4 packet with a UDP datagram of the client, or of the server if
// dir is Down.
func datagram(dir link.Dir, data []byte) []byte {
	p := make([]byte, 28, 28+len(data))
	p[0], p[9] = 0x45, 17
	ports := [2]uint16{1000, serverPort}
	if dir == link.Down {
		ports = [2]uint16{serverPort, 1000}
	}
	binary.BigEndian.PutUint16(p[20:], ports[0])
	binary.BigEndian.PutUint16(p[22:], ports[1])
	return append(p, data...)
}

// TestQUIC counts real connections, which all seem to come from the same port: one with a full
// handshake, resumed connections, and one with 0-RTT.
func TestQUIC(t *testing.T) {
	for _, retry := range []bool{false, true} {
		name := "immediately"
		if retry {
			name = "after a retry"
		}
		t.Run(name, func(t *testing.T) { testQUIC(t, retry) })
	}
}

func testQUIC(t *testing.T, retry bool) {
	serverTLS, clientTLS := configs(t, "x")
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	tr := &quic.Transport{Conn: pc, VerifySourceAddress: func(net.Addr) bool { return retry }}
	defer tr.Close()
	ln, err := tr.ListenEarly(serverTLS, &quic.Config{Allow0RTT: true})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	defer ln.Close()
	serving.Go(func() {
		for {
			conn, err := ln.Accept(context.Background())
			if err != nil {
				return
			}
			serving.Go(func() {
				s, err := conn.AcceptStream(context.Background())
				if err != nil {
					return
				}
				s.Close()
				<-conn.Context().Done()
			})
		}
	})

	var c Counter
	dial := func(early bool) {
		t.Helper()
		udp, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer udp.Close()
		may := make(chan struct{})
		answer := sync.OnceFunc(func() { close(may) })
		defer time.AfterFunc(20*time.Second, answer).Stop() // respond at the latest then, and check the counts
		seen := func(dir link.Dir, b []byte) {
			if c.Packet(dir, datagram(dir, b)); !early || c.Counts().QUIC0RTT > 0 {
				answer()
			}
		}
		ctr := &quic.Transport{Conn: tappedUDP{udp, seen, may}}
		defer ctr.Close()
		open := ctr.Dial
		if early {
			open = ctr.DialEarly
		}
		conn, err := open(t.Context(), pc.LocalAddr(), clientTLS, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := conn.OpenStream()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil { // sends the end of the stream
			t.Fatal(err)
		}
		if _, err := s.Read(make([]byte, 1)); err == nil {
			t.Fatal("unexpected response")
		}
		if err := conn.CloseWithError(0, ""); err != nil {
			t.Fatal(err)
		}
	}
	dial(false)
	dial(false)
	dial(true)
	want := Counts{QUICConns: 3, QUIC0RTT: 1, QUICFull: 1, QUICResumed: 2}
	if retry {
		want.QUICRetry = 3
	}
	if got := c.Counts(); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestCutOffQUIC passes truncated packets to the counter.
func TestCutOffQUIC(t *testing.T) {
	var c Counter
	initial := []byte{0xc0, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 4, 1, 2, 3, 4}
	for n := range len(initial) + 1 {
		c.Packet(link.Up, datagram(link.Up, initial[:n]))
		c.Packet(link.Down, datagram(link.Down, initial[:n]))
	}
	if got := c.Counts(); got != (Counts{QUICConns: 1}) {
		t.Errorf("got %+v", got)
	}
}
