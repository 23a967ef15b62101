package rdaptest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/quicvarint"
)

// hostilePackets returns servers that misuse packets and the handshake.
func hostilePackets() []quicHostility {
	return []quicHostility{
		{name: "silent", packets: func(f *packetFilter) { f.blocked.Store(true) }},
		{name: "closes in the handshake", tls: func(c *tls.Config) {
			c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, errors.New("no") }
		}},
		{name: "negotiates no HTTP/3", tls: func(c *tls.Config) { c.NextProtos = []string{"other"} }},
		{name: "has another certificate", tls: func(c *tls.Config) { c.Certificates = strangerCertificate() }},
		{name: "sends Retry repeatedly", raw: eachInitial(retryPacket)},
		{name: "negotiates versions repeatedly", raw: eachInitial(func(p initialPacket) []byte { return versionPacket(p, 0x1a2a3a4a) })},
		{name: "refuses the version and offers it", raw: eachInitial(func(p initialPacket) []byte { return versionPacket(p, 1) })},
		{name: "sends garbage", raw: eachInitial(func(p initialPacket) []byte { return bytes.Repeat([]byte{0xc3}, 1200) })},
		{name: "is blocked after the handshake", conn: func(c *quicConn) { c.server.filter.blocked.Store(true) }},
		{
			name: "is blocked when a request arrives", conn: func(c *quicConn) { c.settings() },
			request: func(r *quicRequest) { r.conn.server.filter.blocked.Store(true) },
		},
		{name: "sends each packet a hundred times", packets: func(f *packetFilter) {
			f.sent = func(p []byte, to net.Addr) {
				for range 99 {
					_, _ = f.UDPConn.WriteTo(p, to)
				}
			}
		}},
		{name: "rejects early data, then is silent", good: 1, tls: func(c *tls.Config) {
			c.UnwrapSession = func([]byte, tls.ConnectionState) (*tls.SessionState, error) { return nil, nil }
		}},
		{name: "accepts early data, then is silent", good: 1},
		{
			name: "announces an idle timeout of 1 ms", quic: func(c *quic.Config) { c.MaxIdleTimeout = time.Millisecond },
			conn: func(c *quicConn) { c.settings() },
		},
	}
}

// hostileConnections returns servers that misuse connections after the handshake.
func hostileConnections() []quicHostility {
	quiet := func(c *quicConn) { c.settings() }
	return []quicHostility{
		{name: "is silent after the handshake"},
		{name: "is silent after its settings", conn: quiet},
		{name: "closes after the handshake", conn: func(c *quicConn) { c.end(http3.ErrCodeNoError) }},
		{name: "closes after its settings", conn: func(c *quicConn) { c.settings(); c.end(http3.ErrCodeInternalError) }},
		{name: "closes when a request arrives", conn: quiet, request: func(r *quicRequest) { r.conn.end(http3.ErrCodeNoError) }},
		{name: "closes in the header", conn: quiet, request: func(r *quicRequest) {
			r.write(okHeaders()[:9])
			r.conn.end(http3.ErrCodeExcessiveLoad)
		}},
		{name: "closes in the body", conn: quiet, request: func(r *quicRequest) {
			r.write(okHeaders(), h3FrameHead(frameData, 1000), []byte(`{"objectClassName"`))
			r.conn.sleep(20 * time.Millisecond)
			r.conn.end(http3.ErrCodeInternalError)
		}},
		{name: "allows no streams", quic: func(c *quic.Config) { c.MaxIncomingStreams = -1 }, conn: quiet},
		{name: "allows no control stream", quic: func(c *quic.Config) { c.MaxIncomingUniStreams = -1 }, conn: quiet},
		{name: "has a stream window of 1", quic: func(c *quic.Config) {
			c.InitialStreamReceiveWindow, c.MaxStreamReceiveWindow = 1, 1
		}, conn: quiet},
		{name: "has a connection window of 1", quic: func(c *quic.Config) {
			c.InitialConnectionReceiveWindow, c.MaxConnectionReceiveWindow = 1, 1
		}, conn: quiet},
		{name: "opens streams without end", conn: func(c *quicConn) {
			c.server.work.Go(func() {
				for {
					str := c.stream(frameUnknown, []byte("x"))
					if str == nil {
						return
					}
					str.Close()
				}
			})
		}},
		{name: "opens a bidirectional stream", conn: func(c *quicConn) {
			if str, err := c.OpenStream(); err == nil {
				_, _ = str.Write(okHeaders())
			}
		}},
		{name: "opens a push stream", conn: func(c *quicConn) { c.stream(streamPush, []byte{0}) }},
	}
}

// hostileControl returns servers that misuse the control stream, settings, GOAWAY and QPACK.
func hostileControl() []quicHostility {
	goAway := func(id uint64) []byte { return h3Frame(frameGoAway, quicvarint.Append(nil, id)) }
	control := func(content ...[]byte) func(c *quicConn) {
		return func(c *quicConn) { c.stream(streamControl, content...) }
	}
	settings := h3Frame(frameSettings, nil)
	twice := append(quicvarint.Append(quicvarint.Append(nil, 0x7), 1), quicvarint.Append(quicvarint.Append(nil, 0x7), 1)...)
	status := []string{":status", "200"}
	header := func(block []byte) func(r *quicRequest) {
		return func(r *quicRequest) {
			r.write(h3Frame(frameHeaders, block))
			r.Close()
		}
	}
	quiet := func(c *quicConn) { c.settings() }
	return []quicHostility{
		{name: "sends GOAWAY 0", conn: control(settings, goAway(0))},
		{name: "sends GOAWAY 0 when a request arrives", conn: quiet, request: func(r *quicRequest) {
			// The frame belongs on the control stream, so it is an error here.
			r.write(goAway(0))
		}},
		{name: "sends increasing GOAWAYs", conn: control(settings, goAway(4), goAway(8), goAway(12))},
		{name: "sends GOAWAY and nothing else", conn: control(settings, goAway(1<<20))},
		{name: "sends its settings twice", conn: control(settings, settings)},
		{name: "never sends settings", conn: control(goAway(0))},
		{name: "repeats a setting", conn: control(h3Frame(frameSettings, twice))},
		{name: "sends settings of a terabyte", conn: control(h3FrameHead(frameSettings, 1<<40))},
		{name: "closes its control stream", conn: func(c *quicConn) {
			if str := c.settings(); str != nil {
				str.Close()
			}
		}},
		{name: "opens two control streams", conn: func(c *quicConn) { c.settings(); c.settings() }},
		{name: "sends unknown control frames without end", conn: func(c *quicConn) {
			str := c.settings()
			if str == nil {
				return
			}
			c.server.work.Go(func() {
				b := h3Frame(frameUnknown, make([]byte, 1000))
				for {
					if _, err := str.Write(b); err != nil {
						return
					}
				}
			})
		}},
		{name: "encodes fields badly", conn: quiet, request: header([]byte{0, 0, 0x5f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})},
		{name: "refers to a dynamic table", conn: quiet, request: header([]byte{2, 0, 0x80})},
		{name: "fills a dynamic table", conn: func(c *quicConn) {
			c.settings()
			c.stream(streamEncoder, []byte{0x3f, 0xe1, 0x1f}, bytes.Repeat([]byte{0x41, 'a', 1, 'b'}, 1000))
		}, request: header([]byte{2, 0, 0x80})},
		{name: "opens two QPACK encoder streams", conn: func(c *quicConn) { c.stream(streamEncoder); c.stream(streamEncoder) }},
		{name: "opens two QPACK decoder streams", conn: func(c *quicConn) { c.stream(streamDecoder); c.stream(streamDecoder) }},
		{name: "sends no status", conn: quiet, request: header(fieldSection("content-type", rdapType))},
		{name: "sends an illegal status", conn: quiet, request: header(fieldSection(":status", "2OO"))},
		{name: "sends two statuses", conn: quiet, request: header(fieldSection(append(status, status...)...))},
		{name: "sends an upper-case field", conn: quiet, request: header(fieldSection(append(status, "Content-Type", rdapType)...))},
		{name: "sends a request as a response", conn: quiet, request: header(fieldSection(":method", "GET", ":path", "/", ":scheme", "https"))},
	}
}

// hostileResponses returns servers that misuse responses.
func hostileResponses() []quicHostility {
	quiet := func(c *quicConn) { c.settings() }
	body := Invented{}.Answer(Question{Base: "https://rdap.example/", Class: "domain", Key: "x.example"}).Body
	with := func(status int, kind, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			fmt.Fprint(w, text)
		}
	}
	all := []quicHostility{
		{name: "is misdirected", handler: with(http.StatusMisdirectedRequest, rdapType, "{}")},
		{name: "fails", handler: with(http.StatusInternalServerError, "text/html", "<html>")},
		{name: "is unavailable", handler: with(http.StatusServiceUnavailable, "text/html", "<html>")},
		{name: "refuses in HTML", handler: with(http.StatusForbidden, "text/html", "<html>")},
		{name: "always sends 425", handler: with(http.StatusTooEarly, "text/plain", "")},
		{name: "sends a header of 16 MB", conn: quiet, request: func(r *quicRequest) {
			r.write(h3FrameHead(frameHeaders, 16<<20), make([]byte, 16<<20))
		}},
		{name: "sends a header of 200 kB that is 4 MB", conn: quiet, request: func(r *quicRequest) {
			block := append(fieldSection(":status", "200"), bytes.Repeat([]byte{0xc0 | 29}, 200<<10)...)
			r.write(h3Frame(frameHeaders, block))
			r.Close()
		}},
		{name: "sends unknown frames without end", conn: quiet, request: func(r *quicRequest) {
			r.repeat(h3Frame(frameUnknown, make([]byte, 1000)))
		}},
		{name: "sends empty unknown frames without end", conn: quiet, request: func(r *quicRequest) {
			r.repeat(bytes.Repeat(h3Frame(frameUnknown, nil), 500))
		}},
		{name: "sends an unknown frame of an exabyte", conn: quiet, request: func(r *quicRequest) {
			r.write(h3FrameHead(frameUnknown, 1<<60))
			r.repeat(make([]byte, 1000))
		}},
		{name: "sends empty body frames without end", conn: quiet, request: func(r *quicRequest) {
			r.write(okHeaders())
			r.repeat(bytes.Repeat(h3Frame(frameData, nil), 500))
		}},
		{name: "sends informational responses without end", conn: quiet, request: func(r *quicRequest) {
			r.repeat(h3Frame(frameHeaders, fieldSection(":status", "103")))
		}},
		{name: "sends a body without end", conn: quiet, request: func(r *quicRequest) {
			r.write(okHeaders())
			r.repeat(h3Frame(frameData, bytes.Repeat([]byte(" "), 16<<10)))
		}},
		{name: "sends trailers without end", conn: quiet, request: func(r *quicRequest) {
			r.write(okHeaders(), h3Frame(frameData, body))
			r.repeat(h3Frame(frameHeaders, fieldSection("x", "y")))
		}},
		{name: "drips its header", conn: quiet, request: func(r *quicRequest) { r.drip(okHeaders(), 300*time.Millisecond) }},
		{name: "drips its body", conn: quiet, request: func(r *quicRequest) {
			r.write(okHeaders(), h3FrameHead(frameData, uint64(len(body))))
			r.drip(body, 300*time.Millisecond)
		}},
		{name: "cuts its header", conn: quiet, request: func(r *quicRequest) { r.write(okHeaders()[:9]); r.Close() }},
		{name: "cuts a body frame", conn: quiet, request: func(r *quicRequest) {
			r.write(okHeaders(), h3FrameHead(frameData, uint64(len(body))), body[:len(body)/2])
			r.Close()
		}},
		{name: "leaves its body open", conn: quiet, request: func(r *quicRequest) {
			r.write(okHeaders(), h3Frame(frameData, body[:len(body)/2]))
		}},
		{name: "ends without a response", conn: quiet, request: func(r *quicRequest) { r.Close() }},
		{name: "sends less than its length", conn: quiet, request: func(r *quicRequest) {
			r.write(okHeaders("content-length", "100000"), h3Frame(frameData, body[:len(body)/2]))
			r.Close()
		}},
		{name: "sends more than its length", conn: quiet, request: func(r *quicRequest) {
			r.write(okHeaders("content-length", "10"), h3Frame(frameData, body))
			r.Close()
		}},
		{name: "sends its body first", conn: quiet, request: func(r *quicRequest) {
			r.write(h3Frame(frameData, body), okHeaders())
			r.Close()
		}},
		{name: "sends a push promise", conn: quiet, request: func(r *quicRequest) {
			r.write(h3Frame(framePushPromise, append([]byte{0}, fieldSection(":method", "GET")...)))
		}},
		{name: "sends settings as a response", conn: quiet, request: func(r *quicRequest) { r.write(h3Frame(frameSettings, nil)) }},
		{name: "sends a frame of HTTP/2", conn: quiet, request: func(r *quicRequest) { r.write(h3Frame(0x6, make([]byte, 8))) }},
	}
	codes := make([]http3.ErrCode, 0, 20)
	for c := http3.ErrCodeNoError; c <= http3.ErrCodeVersionFallback; c++ {
		codes = append(codes, c)
	}
	for _, code := range append(codes, 0, 1<<40) {
		all = append(all, quicHostility{name: fmt.Sprintf("resets with code %#x", uint64(code)), conn: quiet, request: func(r *quicRequest) {
			r.CancelWrite(quic.StreamErrorCode(code))
			r.CancelRead(quic.StreamErrorCode(code))
		}})
	}
	all = append(all, quicHostility{name: "resets in the body", conn: quiet, request: func(r *quicRequest) {
		r.write(okHeaders(), h3FrameHead(frameData, uint64(len(body))), body[:len(body)/2])
		r.conn.sleep(20 * time.Millisecond)
		r.CancelWrite(quic.StreamErrorCode(http3.ErrCodeInternalError))
	}})
	return all
}

// strangerCertificate returns a certificate of another authority.
func strangerCertificate() []tls.Certificate {
	ca, err := NewCA()
	if err != nil {
		return nil
	}
	s, err := New(Config{CA: ca})
	if err != nil {
		return nil
	}
	defer s.Close()
	return s.tls.Certificates
}

// An initialPacket holds the header of a client's first packet.
type initialPacket struct {
	version   []byte
	dest, src []byte // destination and source connection IDs
}

// eachInitial sends a packet for each incoming packet with a long header.
func eachInitial(respond func(p initialPacket) []byte) func(u *net.UDPConn) error {
	return func(u *net.UDPConn) error {
		b := make([]byte, 2048)
		for {
			n, from, err := u.ReadFromUDPAddrPort(b)
			if err != nil {
				return err
			}
			if p, ok := parseInitial(b[:n]); ok {
				if _, err := u.WriteToUDPAddrPort(respond(p), from); err != nil {
					return err
				}
			}
		}
	}
}

func parseInitial(b []byte) (p initialPacket, ok bool) {
	if len(b) < 7 || b[0]&0x80 == 0 {
		return p, false
	}
	p.version = b[1:5]
	rest := b[5:]
	for _, id := range []*[]byte{&p.dest, &p.src} {
		if len(rest) == 0 || len(rest) < 1+int(rest[0]) {
			return p, false
		}
		*id, rest = rest[1:1+rest[0]], rest[1+rest[0]:]
	}
	return p, true
}

func appendID(b, id []byte) []byte { return append(append(b, byte(len(id))), id...) }

// versionPacket returns a Version Negotiation packet (RFC 9000 section 17.2.1).
func versionPacket(p initialPacket, version uint32) []byte {
	b := []byte{0x80, 0, 0, 0, 0}
	b = appendID(appendID(b, p.src), p.dest)
	return append(b, byte(version>>24), byte(version>>16), byte(version>>8), byte(version))
}

// retryPacket returns a Retry packet (RFC 9000 section 17.2.5) with the tag of RFC 9001
// section 5.8.
func retryPacket(p initialPacket) []byte {
	key := []byte{0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e}
	nonce := []byte{0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb}
	b := append([]byte{0xf0}, p.version...)
	b = appendID(appendID(b, p.src), []byte("12345678"))
	b = append(b, "token"...)
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // impossible with a constant key
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return aead.Seal(b, nonce, nil, append(appendID(nil, p.dest), b...))
}
