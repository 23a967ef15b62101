package rdaptest

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A Hostile is a server that breaks or abuses a protocol below RDAP in one way. No client gets
// a record from it; a good client fails in limited time and memory.
type Hostile struct {
	Name string

	// ALPN lists the protocols that the server accepts in the TLS handshake; [""] means no use
	// of ALPN. Nil means no TLS, so that Serve gets the TCP connection.
	ALPN []string
	// TLS may modify the TLS configuration; nil leaves it unchanged.
	TLS func(*tls.Config, *CA) error
	// Serve owns the connection until it returns.
	Serve func(*HostileConn)
}

// AllHostile reports whether tests try all hostile servers and all combinations of flags, which
// RDAPQ_HOSTILE=1 requests.
func AllHostile() bool { return os.Getenv("RDAPQ_HOSTILE") != "" }

// SomeHostile returns every n-th hostile server, or all of them with [AllHostile].
func SomeHostile[H Hostile | HostileH3](all []H, n int) (some []H) {
	if AllHostile() {
		return all
	}
	for i := 0; i < len(all); i += n {
		some = append(some, all[i])
	}
	return some
}

// A HostileConn is one connection to a [HostileServer].
type HostileConn struct {
	net.Conn
	In   *bufio.Reader
	done <-chan struct{} // closed when the server is closed
}

// A HostileServer is a server that misbehaves on every connection.
type HostileServer struct {
	listener net.Listener
	config   *tls.Config // TLS configuration; nil means no TLS
	serve    func(*HostileConn)
	done     chan struct{}
	work     sync.WaitGroup
	served   atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// StartHostile starts a server on loopback with a certificate of ca. The server stops when the
// test ends.
func StartHostile(t TB, ca *CA, h Hostile) *HostileServer {
	t.Helper()
	s := &HostileServer{serve: h.Serve, done: make(chan struct{}), conns: make(map[net.Conn]bool)}
	if h.ALPN != nil {
		cert, err := ca.Certificate("127.0.0.1")
		if err != nil {
			t.Fatal("rdaptest: ", err)
		}
		s.config = &tls.Config{Certificates: []tls.Certificate{cert}}
		if h.ALPN[0] != "" {
			s.config.NextProtos = h.ALPN
		}
		if h.TLS != nil {
			if err := h.TLS(s.config, ca); err != nil {
				t.Fatal("rdaptest: ", err)
			}
		}
	}
	var err error
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal("rdaptest: ", err)
	}
	s.work.Go(s.accept)
	t.Cleanup(s.Close)
	return s
}

// URL returns the base URL of the server.
func (s *HostileServer) URL() string { return "https://" + s.listener.Addr().String() + "/" }

// Served returns the number of connections on which the server misbehaved. With TLS, only
// connections with a successful handshake count.
func (s *HostileServer) Served() int64 { return s.served.Load() }

// Close ends the server and all its connections.
func (s *HostileServer) Close() {
	s.mu.Lock()
	select {
	case <-s.done:
		s.mu.Unlock()
		return
	default:
	}
	close(s.done)
	for c := range s.conns {
		_ = c.Close() // nothing reads the connection any longer
	}
	s.mu.Unlock()
	_ = s.listener.Close()
	s.work.Wait()
}

func (s *HostileServer) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		if !s.add(c) {
			_ = c.Close()
			return
		}
		s.work.Go(func() {
			defer s.remove(c)
			s.handle(c)
		})
	}
}

func (s *HostileServer) add(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
		return false
	default:
		s.conns[c] = true
		return true
	}
}

func (s *HostileServer) remove(c net.Conn) {
	_ = c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// hostileLife limits the lifetime of a connection.
const hostileLife = time.Minute

func (s *HostileServer) handle(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(hostileLife))
	if s.config != nil {
		t := tls.Server(c, s.config)
		if t.Handshake() != nil {
			return
		}
		c = t
	}
	s.served.Add(1)
	s.serve(&HostileConn{Conn: c, In: bufio.NewReader(c), done: s.done})
}

// send writes b and reports whether it succeeded.
func (c *HostileConn) send(b ...byte) bool {
	_, err := c.Write(b)
	return err == nil
}

func (c *HostileConn) text(s string) bool { return c.send([]byte(s)...) }

// flood writes b repeatedly, many copies at a time, until the client closes.
func (c *HostileConn) flood(b []byte) {
	const block = 16 << 10
	many := make([]byte, 0, block+len(b))
	for len(many) < block {
		many = append(many, b...)
	}
	for c.send(many...) {
	}
}

// drip writes b byte by byte, with pauses.
func (c *HostileConn) drip(b []byte, pause time.Duration) bool {
	for _, x := range b {
		if !c.send(x) || !c.wait(pause) {
			return false
		}
	}
	return true
}

// dripForever writes x repeatedly, with pauses.
func (c *HostileConn) dripForever(x []byte, pause time.Duration) {
	for c.send(x...) && c.wait(pause) {
	}
}

// wait pauses, and reports whether the server still runs.
func (c *HostileConn) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.done:
		return false
	}
}

// hold reads and discards all input, and sends nothing.
func (c *HostileConn) hold() { _, _ = io.Copy(io.Discard, c.In) }

// reset closes the connection with a TCP RST.
func (c *HostileConn) reset() {
	under := c.Conn
	if t, ok := under.(*tls.Conn); ok {
		under = t.NetConn()
	}
	if t, ok := under.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // without SO_LINGER, Close sends a FIN
	}
	_ = under.Close()
}

// HostileTCP returns all hostile servers that run over TCP. They misbehave in TCP, TLS,
// HTTP/1.1 or HTTP/2. Each server has a unique name.
func HostileTCP() []Hostile {
	var all []Hostile
	for _, list := range [][]Hostile{hostileTLS(), hostileHTTP1(), hostileHTTP2()} {
		all = append(all, list...)
	}
	return all
}

// hostileTLS returns servers that fail before an HTTP request, or before its response.
func hostileTLS() []Hostile {
	tcp := func(name string, serve func(*HostileConn)) Hostile {
		return Hostile{Name: "TCP: " + name, Serve: serve}
	}
	after := func(name string, config func(*tls.Config, *CA) error, serve func(*HostileConn)) Hostile {
		return Hostile{Name: "TLS: " + name, ALPN: []string{"h2", "http/1.1"}, TLS: config, Serve: serve}
	}
	versions := func(least, most uint16) func(*tls.Config, *CA) error {
		return func(c *tls.Config, _ *CA) error {
			c.MinVersion, c.MaxVersion = least, most
			return nil
		}
	}
	record := func(kind byte, payload ...byte) []byte {
		return append([]byte{kind, 3, 3, byte(len(payload) >> 8), byte(len(payload))}, payload...)
	}
	afterHello := func(serve func(c *HostileConn)) func(c *HostileConn) {
		return func(c *HostileConn) {
			if _, err := c.In.Peek(5); err == nil {
				serve(c)
			}
		}
	}
	return []Hostile{
		tcp("silent after accept", (*HostileConn).hold),
		tcp("never reads", func(c *HostileConn) { <-c.done }),
		tcp("closes immediately", func(*HostileConn) {}),
		tcp("resets immediately", (*HostileConn).reset),
		tcp("closes after the ClientHello", afterHello(func(*HostileConn) {})),
		tcp("resets after the ClientHello", afterHello((*HostileConn).reset)),
		tcp("plain HTTP on the port of TLS", afterHello(func(c *HostileConn) { c.text("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n") })),
		tcp("a banner of another protocol", func(c *HostileConn) { c.text("220 mail.example ESMTP\r\n"); c.hold() }),
		tcp("echoes", func(c *HostileConn) { _, _ = io.Copy(c, c.In) }),
		tcp("a flood of zeros", func(c *HostileConn) { c.flood(make([]byte, 64)) }),
		tcp("a flood of random records", func(c *HostileConn) { c.flood(record(23, 1, 2, 3, 4)) }),
		tcp("drips zeros", func(c *HostileConn) { c.dripForever([]byte{22}, 200*time.Millisecond) }),
		tcp("alert: handshake failure", afterHello(func(c *HostileConn) { c.send(record(21, 2, 40)...) })),
		tcp("alert: internal error, then silence", afterHello(func(c *HostileConn) { c.send(record(21, 2, 80)...); c.hold() })),
		tcp("a flood of warnings", afterHello(func(c *HostileConn) { c.flood(record(21, 1, 90)) })),
		tcp("a flood of empty handshake records", afterHello(func(c *HostileConn) { c.flood(record(22)) })),
		tcp("a flood of change cipher spec", afterHello(func(c *HostileConn) { c.flood(record(20, 1)) })),
		tcp("an oversized record", afterHello(func(c *HostileConn) { c.send(22, 3, 3, 0xff, 0xff); c.flood(make([]byte, 64)) })),
		tcp("an endless handshake message", afterHello(func(c *HostileConn) {
			c.send(record(22, 2, 0xff, 0xff, 0xff)...)
			c.flood(record(22, make([]byte, 1024)...))
		})),
		tcp("drips a handshake message", afterHello(func(c *HostileConn) {
			c.send(record(22, 2, 0, 0x40, 0)...)
			c.dripForever(record(22, 0), 100*time.Millisecond)
		})),
		tcp("a truncated ServerHello", afterHello(func(c *HostileConn) { c.send(record(22, 2, 0, 0, 70, 3, 3)...) })),
		tcp("a truncated ServerHello, then silence", afterHello(func(c *HostileConn) { c.send(record(22, 2, 0, 0, 70, 3, 3)...); c.hold() })),
		tcp("endless hello requests", afterHello(func(c *HostileConn) { c.flood(record(22, 0, 0, 0, 0)) })),
		tcp("a server of SSL 3", afterHello(func(c *HostileConn) { c.send(22, 3, 0, 0, 4, 2, 0, 0, 0) })),

		after("silent after the handshake", nil, (*HostileConn).hold),
		after("never reads after the handshake", nil, func(c *HostileConn) { <-c.done }),
		after("closes after the handshake", nil, func(*HostileConn) {}),
		after("resets after the handshake", nil, (*HostileConn).reset),
		after("garbage after the handshake", nil, func(c *HostileConn) { c.flood([]byte{0xff, 0x00, 0x17}) }),
		after("an unencrypted record after the handshake", nil, func(c *HostileConn) {
			_, _ = c.Conn.(*tls.Conn).NetConn().Write(record(23, 1, 2, 3))
			c.hold()
		}),
		after("no TLS above 1.1", versions(tls.VersionTLS10, tls.VersionTLS11), (*HostileConn).hold),
		after("TLS 1.2, then silent", versions(0, tls.VersionTLS12), (*HostileConn).hold),
		after("a certificate of another host", func(c *tls.Config, ca *CA) (err error) {
			c.Certificates = make([]tls.Certificate, 1)
			c.Certificates[0], err = ca.WrongHostCertificate()
			return err
		}, (*HostileConn).hold),
		after("an expired certificate", func(c *tls.Config, ca *CA) (err error) {
			c.Certificates = make([]tls.Certificate, 1)
			c.Certificates[0], err = ca.ExpiredCertificate("127.0.0.1")
			return err
		}, (*HostileConn).hold),
		after("a certificate of an unknown authority", func(c *tls.Config, _ *CA) error {
			other, err := NewCA()
			if err != nil {
				return err
			}
			c.Certificates = make([]tls.Certificate, 1)
			c.Certificates[0], err = other.Certificate("127.0.0.1")
			return err
		}, (*HostileConn).hold),
		after("a chain of a thousand certificates", func(c *tls.Config, _ *CA) error {
			cert := c.Certificates[0]
			for range 1000 {
				cert.Certificate = append(cert.Certificate, cert.Certificate[0])
			}
			c.Certificates = []tls.Certificate{cert}
			return nil
		}, (*HostileConn).hold),
		after("requires a client certificate", func(c *tls.Config, _ *CA) error {
			c.ClientAuth = tls.RequireAnyClientCert
			return nil
		}, (*HostileConn).hold),
		after("fails in the middle of the handshake", func(c *tls.Config, _ *CA) error {
			c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, errors.New("no") }
			return nil
		}, (*HostileConn).hold),
		after("offers no ALPN and is silent", func(c *tls.Config, _ *CA) error {
			c.NextProtos = nil
			return nil
		}, (*HostileConn).hold),
	}
}
