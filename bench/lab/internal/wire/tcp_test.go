package wire

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/rdapq/rdapq/bench/lab/internal/link"
)

const serverPort = 443

// segment returns an IPv4 packet with a TCP segment of the client, or of the server if
// dir is Down.
func segment(dir link.Dir, clientPort uint16, seq, ack uint32, flags byte, data []byte) []byte {
	p := make([]byte, 40, 40+len(data))
	p[0], p[9] = 0x45, 6
	ports := [2]uint16{clientPort, serverPort}
	copy(p[12:], []byte{198, 18, 0, 2, 198, 18, 0, 1})
	if dir == link.Down {
		ports = [2]uint16{serverPort, clientPort}
		copy(p[12:], []byte{198, 18, 0, 1, 198, 18, 0, 2})
	}
	binary.BigEndian.PutUint16(p[20:], ports[0])
	binary.BigEndian.PutUint16(p[22:], ports[1])
	binary.BigEndian.PutUint32(p[24:], seq)
	binary.BigEndian.PutUint32(p[28:], ack)
	p[32], p[33] = 5<<4, flags
	return append(p, data...)
}

const (
	flagSYN    = 0x02
	flagSYNACK = 0x12
	flagACK    = 0x10
)

// A tapped connection passes written data to a counter.
type tapped struct {
	net.Conn
	seen func([]byte)
}

func (c tapped) Write(p []byte) (int, error) {
	c.seen(p)
	return c.Conn.Write(p)
}

// loopback returns the two ends of a TCP connection.
func loopback(t *testing.T) (near, far net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if near, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	return near, far
}

// connect makes one TLS connection and passes it to the counter as a TCP connection.
func connect(t *testing.T, c *Counter, port uint16, server, client *tls.Config) {
	t.Helper()
	show := func(dir link.Dir) func([]byte) {
		return func(b []byte) { c.Packet(dir, segment(dir, port, 2, 2, flagACK, b)) }
	}
	isn := uint32(port)
	c.Packet(link.Up, segment(link.Up, port, isn, 0, flagSYN, nil))
	c.Packet(link.Down, segment(link.Down, port, 7, isn+1, flagSYNACK, nil))
	near, far := loopback(t)
	defer near.Close()
	var answering sync.WaitGroup
	answering.Go(func() {
		tc := tls.Server(tapped{far, show(link.Down)}, server)
		defer tc.Close()
		if err := tc.Handshake(); err != nil {
			return // the client reports errors
		}
		if _, err := tc.Write([]byte("x")); err != nil {
			t.Error(err)
		}
	})
	tc := tls.Client(tapped{near, show(link.Up)}, client)
	if _, err := io.ReadFull(tc, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	near.Close()
	answering.Wait()
}

func TestTLS(t *testing.T) {
	for _, test := range []struct {
		name    string
		version uint16
		curves  []tls.CurveID // curves that the server supports
		want    Counts
	}{
		{"1.2", tls.VersionTLS12, nil, Counts{SYN: 3, Hello: 3, TLS12: 3, Full: 1, Resumed: 2}},
		{"1.3", tls.VersionTLS13, nil, Counts{SYN: 3, Hello: 3, Full: 1, Resumed: 2}},
		{"1.3 with retries", tls.VersionTLS13, []tls.CurveID{tls.CurveP521}, Counts{SYN: 3, Hello: 6, HelloRetry: 3, Full: 1, Resumed: 2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, client := configs(t, "x")
			server.MaxVersion, server.CurvePreferences = test.version, test.curves
			var c Counter
			for port := range uint16(3) {
				connect(t, &c, 1000+port, server, client)
			}
			got := c.Counts()
			if got.HelloMax < 200 {
				t.Errorf("largest ClientHello of %d bytes", got.HelloMax)
			}
			got.HelloMax = 0
			if got != test.want {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// firstFlight returns the first record that a Go client sends.
func firstFlight(t *testing.T) []byte {
	t.Helper()
	near, far := net.Pipe()
	defer far.Close()
	go func() { _ = tls.Client(near, &tls.Config{ServerName: serverName}).Handshake() }()
	buf := make([]byte, 4096)
	n, err := far.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

func TestFastOpen(t *testing.T) {
	hello := firstFlight(t)
	var c Counter
	up := func(port uint16, seq uint32, flags byte, data []byte) {
		c.Packet(link.Up, segment(link.Up, port, seq, 0, flags, data))
	}
	// A SYN with data that is acknowledged without the data, so that the client repeats the
	// hello.
	up(1001, 1, flagSYN, hello)
	c.Packet(link.Down, segment(link.Down, 1001, 7, 2, flagSYNACK, nil))
	up(1001, 2, flagACK, hello)
	// A SYN that is lost, and repeated without data.
	up(1002, 1, flagSYN, hello)
	up(1002, 1, flagSYN, nil)
	// A SYN whose data is accepted.
	up(1003, 1, flagSYN, hello)
	c.Packet(link.Down, segment(link.Down, 1003, 7, 2+uint32(len(hello)), flagSYNACK, nil))
	// A new connection that reuses the port.
	up(1003, 9999, flagSYN, nil)
	up(1003, 10000, flagACK, hello)
	want := Counts{SYN: 4, SYNRetrans: 1, SYNData: 3, TFOAcked: 1, Hello: 4, HelloMax: len(hello) - 5}
	if got := c.Counts(); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestCutOff passes truncated packets to the counter, which must not fail.
func TestCutOff(t *testing.T) {
	var c Counter
	hello := segment(link.Up, 1, 0, 0, flagACK, firstFlight(t))
	c.Packet(link.Up, segment(link.Up, 1, 1, 0, flagSYN, nil))
	for n := range len(hello) {
		c.Packet(link.Up, hello[:n])
		c.Packet(link.Down, hello[:n])
	}
	if got := c.Counts(); got.SYN != 1 || got.Hello > 1 {
		t.Errorf("got %+v", got)
	}
}

// TestServerHelloEnds appends bytes to a ServerHello that look like an extension, as encrypted
// bytes sometimes do.
func TestServerHelloEnds(t *testing.T) {
	hello := make([]byte, helloHead)
	hello[0] = typeServerHello
	hello = append(hello, 0)          // an empty session ID
	hello = append(hello, 0x13, 1, 0) // cipher suite and compression
	hello = append(hello, 0, 6, 0, extSupportedVersions, 0, 2, 3, 4)
	hello[3] = byte(len(hello) - 4)
	psk := []byte{0, extPreSharedKey, 0, 2, 0, 0}
	got, ok := parseServerHello(append(hello, psk...))
	if !ok || !got.tls13 || got.psk {
		t.Errorf("got %+v, %t", got, ok)
	}
}
