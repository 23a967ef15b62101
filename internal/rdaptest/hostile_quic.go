package rdaptest

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/quicvarint"
)

// A quicHostility defines the faults of a [HostileH3]. The zero value has none.
type quicHostility struct {
	name string
	good int // number of first connections that are served correctly

	packets func(p *packetFilter)      // changes packets
	tls     func(c *tls.Config)        // changes the TLS configuration
	quic    func(c *quic.Config)       // changes the transport parameters
	handler http.HandlerFunc           // handler, if HTTP/3 itself is correct
	conn    func(c *quicConn)          // acts on a connection, before request
	request func(r *quicRequest)       // acts on a request
	raw     func(u *net.UDPConn) error // reads and writes packets itself, until u is closed
}

// A HostileH3 is one way in which a server misbehaves over QUIC or HTTP/3.
type HostileH3 struct {
	Name string

	// Good returns the number of first connections that the server serves
	// correctly.
	Good int

	kind quicHostility
}

// StartHostileH3 starts a correct server over TCP, and h on the same port over UDP. Responses
// over TCP advertise HTTP/3. Both servers stop when the test ends.
func StartHostileH3(t TB, config Config, h HostileH3) *Server {
	t.Helper()
	for attempt := 0; ; attempt++ {
		s, err := New(config)
		if err != nil {
			t.Fatal("rdaptest: ", err)
		}
		stop, err := h.kind.start(s.Addr(), s.tls)
		if err == nil {
			t.Cleanup(s.Close)
			t.Cleanup(stop)
			_, port, _ := net.SplitHostPort(s.Addr())
			s.SetAltSvc(`h3=":` + port + `"; ma=3600`)
			return s
		}
		s.Close()
		if attempt == 20 { // sometimes a port is free for TCP but in use for UDP
			t.Fatal("rdaptest: ", err)
		}
	}
}

// HostileQUIC returns all hostile servers over QUIC and HTTP/3. They send no valid response
// over HTTP/3, except on the first Good connections.
func HostileQUIC() []HostileH3 {
	var all []HostileH3
	for _, q := range slices.Concat(hostilePackets(), hostileConnections(), hostileControl(), hostileResponses()) {
		all = append(all, HostileH3{Name: q.name, Good: q.good, kind: q})
	}
	return all
}

// start serves at address, with the certificates of config, until stop is called.
func (q quicHostility) start(address string, config *tls.Config) (stop func(), err error) {
	at, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, err
	}
	u, err := net.ListenUDP("udp", at)
	if err != nil {
		return nil, err
	}
	var work sync.WaitGroup
	if q.raw != nil {
		work.Go(func() { _ = q.raw(u) })
		return func() { u.Close(); work.Wait() }, nil
	}
	s := &quicServer{quicHostility: q, filter: &packetFilter{UDPConn: u}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	tlsConfig := &tls.Config{
		Certificates: config.Certificates, MinVersion: tls.VersionTLS13, NextProtos: []string{http3.NextProtoH3},
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			const earlyData = 42
			if slices.Contains(hello.Extensions, earlyData) {
				s.offered.Store(true)
			}
			return nil, nil
		},
	}
	quicConfig := &quic.Config{Allow0RTT: true, MaxIdleTimeout: 30 * time.Second}
	if q.tls != nil {
		q.tls(tlsConfig)
	}
	if q.quic != nil {
		q.quic(quicConfig)
	}
	if q.packets != nil {
		q.packets(s.filter)
	}
	transport := &quic.Transport{Conn: s.filter}
	l, err := transport.ListenEarly(tlsConfig, quicConfig)
	if err != nil {
		u.Close()
		return nil, err
	}
	s.good3 = &http3.Server{Handler: http.HandlerFunc(serveInvented)}
	s.bad3 = &http3.Server{Handler: q.handler}
	s.work.Go(func() { s.accept(l) })
	return func() {
		s.cancel()
		transport.Close()
		u.Close()
		s.work.Wait()
	}, nil
}

// A quicServer runs a quicHostility.
type quicServer struct {
	quicHostility
	ctx     context.Context
	cancel  context.CancelFunc
	filter  *packetFilter
	work    sync.WaitGroup
	good3   *http3.Server
	bad3    *http3.Server
	offered atomic.Bool // a client has offered early data
}

func (s *quicServer) accept(l *quic.EarlyListener) {
	for n := 1; ; n++ {
		c, err := l.Accept(s.ctx)
		if err != nil {
			return
		}
		s.work.Go(func() { s.serve(c, n) })
	}
}

func (s *quicServer) serve(c *quic.Conn, n int) {
	select {
	case <-c.HandshakeComplete():
	case <-c.Context().Done():
		return
	}
	h := &quicConn{Conn: c, server: s, number: n}
	switch {
	case n <= s.good:
		_ = s.good3.ServeQUICConn(c)
		return
	case s.handler != nil:
		_ = s.bad3.ServeQUICConn(c)
		return
	}
	if s.conn != nil {
		s.conn(h)
	}
	for {
		str, err := c.AcceptStream(s.ctx)
		if err != nil {
			return
		}
		s.work.Go(func() {
			_, _ = io.Copy(io.Discard, str) // discard the request
			if s.request != nil {
				s.request(&quicRequest{str, h})
			}
		})
	}
}

// serveInvented responds with a record for any domain.
func serveInvented(w http.ResponseWriter, r *http.Request) {
	class, key, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
	w.Header().Set("Content-Type", rdapType)
	_, _ = w.Write(Invented{}.Answer(Question{Base: "https://" + r.Host + "/", Class: class, Key: key}).Body)
}

// A quicConn is a QUIC connection with helpers to write HTTP/3 frames.
type quicConn struct {
	*quic.Conn
	server *quicServer
	number int
}

// sleep waits, and reports whether the connection is still open.
func (c *quicConn) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-c.Context().Done():
		return false
	}
}

func (c *quicConn) end(code http3.ErrCode) {
	c.CloseWithError(quic.ApplicationErrorCode(code), "")
}

// stream opens a unidirectional stream of the given kind and writes content to it. It returns
// nil if the connection has ended.
func (c *quicConn) stream(kind uint64, content ...[]byte) *quic.SendStream {
	str, err := c.OpenUniStreamSync(c.Context())
	if err != nil {
		return nil
	}
	b := quicvarint.Append(nil, kind)
	for _, more := range content {
		b = append(b, more...)
	}
	_, _ = str.Write(b)
	return str
}

// Types of unidirectional streams and of frames (RFC 9114 section 11.2, RFC 9204
// section 4.2).
const (
	streamControl = 0x0
	streamPush    = 0x1
	streamEncoder = 0x2
	streamDecoder = 0x3

	frameData        = 0x0
	frameHeaders     = 0x1
	frameSettings    = 0x4
	framePushPromise = 0x5
	frameGoAway      = 0x7
	frameUnknown     = 0x21 // type reserved for greasing
)

func (c *quicConn) settings() *quic.SendStream {
	return c.stream(streamControl, h3Frame(frameSettings, nil))
}

// h3Frame returns a frame with its payload.
func h3Frame(kind uint64, payload []byte) []byte {
	return append(h3FrameHead(kind, uint64(len(payload))), payload...)
}

// h3FrameHead returns the header of a frame with n bytes of payload.
func h3FrameHead(kind, n uint64) []byte {
	return quicvarint.Append(quicvarint.Append(nil, kind), n)
}

// fieldSection encodes fields without the dynamic table, as literals (RFC 9204 section 4.5.6).
func fieldSection(fields ...string) []byte {
	b := []byte{0, 0}
	for i := 0; i < len(fields); i += 2 {
		b = appendPrefixed(b, 0x20, 3, len(fields[i]))
		b = append(b, fields[i]...)
		b = appendPrefixed(b, 0, 7, len(fields[i+1]))
		b = append(b, fields[i+1]...)
	}
	return b
}

// appendPrefixed appends an integer with a prefix of the given number of bits (RFC 7541
// section 5.1).
func appendPrefixed(b []byte, first byte, bits, n int) []byte {
	most := 1<<bits - 1
	if n < most {
		return append(b, first|byte(n))
	}
	b = append(b, first|byte(most))
	for n -= most; n >= 128; n /= 128 {
		b = append(b, byte(n%128)|128)
	}
	return append(b, byte(n))
}

// A quicRequest is a request that was read completely.
type quicRequest struct {
	*quic.Stream
	conn *quicConn
}

func (r *quicRequest) write(parts ...[]byte) bool {
	for _, b := range parts {
		if _, err := r.Write(b); err != nil {
			return false
		}
	}
	return true
}

// drip writes b byte by byte.
func (r *quicRequest) drip(b []byte, pause time.Duration) {
	for i := range b {
		if !r.write(b[i:i+1]) || !r.conn.sleep(pause) {
			return
		}
	}
}

// repeat writes b again and again until an error occurs.
func (r *quicRequest) repeat(b []byte) {
	for r.write(b) {
	}
}

// okHeaders returns the HEADERS frame of a response with a body.
func okHeaders(more ...string) []byte {
	return h3Frame(frameHeaders, fieldSection(append([]string{":status", "200", "content-type", rdapType}, more...)...))
}

// A packetFilter is a UDP socket that may drop or add packets.
type packetFilter struct {
	*net.UDPConn
	blocked atomic.Bool                      // true drops all packets
	sent    func(packet []byte, to net.Addr) // called for each outgoing packet
}

func (f *packetFilter) ReadFrom(p []byte) (int, net.Addr, error) {
	for {
		n, from, err := f.UDPConn.ReadFrom(p)
		if err != nil || !f.blocked.Load() {
			return n, from, err
		}
	}
}

func (f *packetFilter) WriteTo(p []byte, to net.Addr) (int, error) {
	if f.blocked.Load() {
		return len(p), nil
	}
	if f.sent != nil {
		f.sent(p, to)
	}
	return f.UDPConn.WriteTo(p, to)
}

// With SyscallConn of the embedded socket, quic-go would bypass the filter.
func (f *packetFilter) ReadMsgUDP()  {}
func (f *packetFilter) WriteMsgUDP() {}
