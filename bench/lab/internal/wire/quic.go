package wire

import (
	"encoding/binary"

	"github.com/rdapq/rdapq/bench/lab/internal/link"
)

// A quicKey identifies a client's connection by its addresses and the connection ID that the
// client chose, which may be empty.
type quicKey struct {
	flow
	id string
}

// A quicConn is the state of a QUIC connection.
type quicConn struct {
	original string // connection ID that the client first wrote to, from which the Initial keys follow
	first    string // value of original before a Retry packet, for packets still in flight
	begun    bool   // an Initial packet has come
	early    bool   // a 0-RTT packet has come
	retried  bool   // a Retry packet has come; clients accept at most one
	answered bool   // the ServerHello has come
	crypto   cryptoStream
}

// Long-header packet types of QUIC version 1 (RFC 9000, 17.2).
const (
	packetInitial = 0
	packet0RTT    = 1
	packetRetry   = 3
)

// datagram walks over the long-header packets of a datagram.
func (c *Counter) datagram(dir link.Dir, f flow, b []byte) {
	const longHeader, version1 = 0xc0, 1
	for len(b) > 7 && b[0]&longHeader == longHeader {
		if binary.BigEndian.Uint32(b[1:]) != version1 {
			return
		}
		kind := b[0] >> 4 & 3
		to, rest, ok := vector(b[5:], 1)
		if !ok {
			return
		}
		from, rest, ok := vector(rest, 1)
		if !ok {
			return
		}
		if kind == packetRetry {
			c.quicRetry(dir, quicKey{f, string(to)}, string(from))
			return
		}
		if kind == packetInitial { // skip the token
			size, n := varint(rest)
			if n == 0 || len(rest) < n+size {
				return
			}
			rest = rest[n+size:]
		}
		size, n := varint(rest)
		if n == 0 || len(rest) < n+size {
			return
		}
		end := len(b) - len(rest) + n + size
		packet, number := b[:end], end-size
		switch {
		case dir == link.Up && kind == packetInitial:
			c.clientInitial(quicKey{f, string(from)}, string(to), packet, number)
		case dir == link.Up && kind == packet0RTT:
			c.clientEarly(quicKey{f, string(from)}, string(to))
		case dir == link.Down && kind == packetInitial:
			c.serverInitial(quicKey{f, string(to)}, packet, number)
		}
		b = b[end:]
	}
}

// clientInitial counts a connection at its first Initial packet. Clients reuse ports and empty
// connection IDs, and may switch to connection IDs of the server. The keys of a new connection
// follow from its destination ID.
func (c *Counter) clientInitial(key quicKey, to string, packet []byte, number int) {
	conn := c.quic[key]
	if conn != nil && conn.begun {
		if to == conn.original || conn.retried && to == conn.first {
			return
		}
		if _, opens := openInitial(to, "client in", packet, number); !opens {
			return
		}
		conn = nil
	}
	if conn == nil {
		conn = c.newQUIC(key, to)
	}
	conn.begun = true
	c.counts.QUICConns++
}

// clientEarly counts a connection at its first 0-RTT packet.
func (c *Counter) clientEarly(key quicKey, to string) {
	conn := c.quic[key]
	if conn == nil { // the Initial packet is late or lost
		conn = c.newQUIC(key, to)
	}
	if !conn.early {
		conn.early = true
		c.counts.QUIC0RTT++
	}
}

func (c *Counter) newQUIC(key quicKey, to string) *quicConn {
	if c.quic == nil {
		c.quic = make(map[quicKey]*quicConn)
	}
	c.quic[key] = &quicConn{original: to}
	return c.quic[key]
}

// quicRetry records the connection ID of a Retry packet, from which the keys of the client's
// next Initial packets follow.
func (c *Counter) quicRetry(dir link.Dir, key quicKey, from string) {
	if conn := c.quic[key]; conn != nil && dir == link.Down && !conn.retried {
		c.counts.QUICRetry++
		conn.first, conn.original, conn.retried = conn.original, from, true
	}
}

// serverInitial reads the TLS handshake in Initial packets of the server, up to the
// ServerHello.
func (c *Counter) serverInitial(key quicKey, packet []byte, number int) {
	conn := c.quic[key]
	if conn == nil || conn.answered {
		return
	}
	payload, ok := openInitial(conn.original, "server in", packet, number)
	if !ok {
		return
	}
	conn.crypto.frames(payload)
	for message := range conn.crypto.messages() {
		if message[0] != typeServerHello {
			continue
		}
		hello, ok := parseServerHello(message)
		if !ok || hello.retry {
			continue
		}
		conn.answered = true
		if hello.psk {
			c.counts.QUICResumed++
		} else {
			c.counts.QUICFull++
		}
		return
	}
}

// varint reads a variable-length integer (RFC 9000, 16) and returns its length, or 0 if b has
// none. Values beyond 32 bits do not occur in packets.
func varint(b []byte) (v, n int) {
	if len(b) == 0 {
		return 0, 0
	}
	n = 1 << (b[0] >> 6)
	if len(b) < n {
		return 0, 0
	}
	v = int(b[0] & 0x3f)
	for _, x := range b[1:n] {
		if v > 1<<32 {
			return 0, 0
		}
		v = v<<8 | int(x)
	}
	return v, n
}
