package wire

import (
	"bytes"
	"encoding/binary"

	"github.com/rdapq/rdapq/bench/lab/internal/link"
)

// A tcpConn is the state of a TCP connection. Because clients reuse ports, a SYN with another
// sequence number begins another connection.
type tcpConn struct {
	isn, end  uint32 // sequence numbers of the SYN, and after the SYN with its data
	fastOpen  bool   // the SYN carried data
	hello     bool   // a ClientHello has come; repeated segments don't count
	answered  bool   // the ServerHello has come, too
	sessionID []byte // session ID of the ClientHello
}

func (c *Counter) segment(dir link.Dir, f flow, p []byte) {
	const syn, ack = 2, 16
	flags := p[13]
	offset := int(p[12]>>4) * 4
	if offset < 20 || offset > len(p) {
		return
	}
	data := p[offset:]
	conn := c.tcp[f]
	switch {
	case dir == link.Up && flags&(syn|ack) == syn:
		isn := binary.BigEndian.Uint32(p[4:])
		if conn != nil && conn.isn == isn {
			c.counts.SYNRetrans++
			return
		}
		conn = &tcpConn{isn: isn, end: isn + 1 + uint32(len(data)), fastOpen: len(data) > 0}
		if c.tcp == nil {
			c.tcp = make(map[flow]*tcpConn)
		}
		c.tcp[f] = conn
		c.counts.SYN++
		if conn.fastOpen {
			c.counts.SYNData++
		}
	case conn == nil:
		return
	case dir == link.Down && flags&(syn|ack) == syn|ack:
		if conn.fastOpen && binary.BigEndian.Uint32(p[8:]) == conn.end {
			c.counts.TFOAcked++
		}
		return
	}

	const handshake, recordHeader = 22, 5
	if len(data) <= recordHeader || data[0] != handshake {
		return
	}
	switch message := data[recordHeader:]; {
	case dir == link.Up && message[0] == typeClientHello && !conn.hello:
		hello, ok := parseClientHello(message)
		if !ok {
			return
		}
		conn.hello, conn.sessionID = true, bytes.Clone(hello.sessionID)
		c.counts.Hello++
		c.counts.HelloMax = max(c.counts.HelloMax, hello.size)
	case dir == link.Down && message[0] == typeServerHello && !conn.answered:
		hello, ok := parseServerHello(message)
		if !ok {
			return
		}
		if hello.retry {
			c.counts.HelloRetry++
			conn.hello = false
			return
		}
		conn.answered = true
		resumed := hello.psk
		if !hello.tls13 {
			c.counts.TLS12++
			// A server that resumes returns the client's session ID (RFC 5246, 7.4.1.3 and RFC
			// 5077, 3.4).
			resumed = len(hello.sessionID) > 0 && bytes.Equal(hello.sessionID, conn.sessionID)
		}
		if resumed {
			c.counts.Resumed++
		} else {
			c.counts.Full++
		}
	}
}
