// Package wire counts connections and handshakes in packets, to check the counts of a
// client.
package wire

import (
	"encoding/binary"
	"sync"

	"github.com/rdapq/rdapq/bench/lab/internal/link"
)

// Counts holds the counts of a link. A handshake counts at the ServerHello, which shows whether
// a session is resumed.
type Counts struct {
	SYN        int `json:"syn"`          // TCP connections attempted
	SYNRetrans int `json:"syn_retrans"`  // repeated SYNs
	SYNData    int `json:"syn_data"`     // SYNs that carried data (TCP Fast Open)
	TFOAcked   int `json:"tfo_acked"`    // SYN-ACKs that acknowledged the data of the SYN
	Hello      int `json:"client_hello"` // TLS ClientHello messages over TCP
	HelloMax   int `json:"client_hello_max_bytes"`
	HelloRetry int `json:"hello_retry"` // HelloRetryRequests over TCP
	TLS12      int `json:"tls12"`       // TLS 1.2 handshakes, part of the following two counts
	Full       int `json:"tls_full"`    // TLS handshakes over TCP
	Resumed    int `json:"tls_resumed"`

	QUICConns   int `json:"quic_conns"` // QUIC connections attempted
	QUIC0RTT    int `json:"quic_0rtt"`  // QUIC connections with 0-RTT packets
	QUICRetry   int `json:"quic_retry"` // QUIC connections with a Retry packet
	QUICFull    int `json:"quic_full"`  // TLS handshakes over QUIC
	QUICResumed int `json:"quic_resumed"`
}

// Since returns the counts since before. The largest ClientHello is the largest of all.
func (c Counts) Since(before Counts) Counts {
	c.SYN -= before.SYN
	c.SYNRetrans -= before.SYNRetrans
	c.SYNData -= before.SYNData
	c.TFOAcked -= before.TFOAcked
	c.Hello -= before.Hello
	c.HelloRetry -= before.HelloRetry
	c.TLS12 -= before.TLS12
	c.Full -= before.Full
	c.Resumed -= before.Resumed
	c.QUICConns -= before.QUICConns
	c.QUIC0RTT -= before.QUIC0RTT
	c.QUICRetry -= before.QUICRetry
	c.QUICFull -= before.QUICFull
	c.QUICResumed -= before.QUICResumed
	return c
}

// A Counter counts packets. Its method Packet makes it a link.Tracer. The zero Counter is ready
// to use. It is safe for concurrent use.
type Counter struct {
	mu     sync.Mutex
	counts Counts
	tcp    map[flow]*tcpConn
	quic   map[quicKey]*quicConn
}

// Counts returns the current counts.
func (c *Counter) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// A flow is the source and destination of packets.
type flow struct {
	src, dst     [16]byte
	sport, dport uint16
}

func (f flow) reversed() flow {
	return flow{src: f.dst, dst: f.src, sport: f.dport, dport: f.sport}
}

// Packet counts one IP packet.
func (c *Counter) Packet(dir link.Dir, p []byte) {
	const protoTCP, protoUDP = 6, 17
	var f flow
	var proto byte
	switch {
	case len(p) >= 20 && p[0]>>4 == 4:
		header := int(p[0]&15) * 4
		proto = p[9]
		copy(f.src[:], p[12:16])
		copy(f.dst[:], p[16:20])
		if header < 20 || len(p) < header {
			return
		}
		p = p[header:]
	case len(p) >= 40 && p[0]>>4 == 6:
		proto = p[6]
		copy(f.src[:], p[8:24])
		copy(f.dst[:], p[24:40])
		p = p[40:]
	default:
		return
	}
	if len(p) < 8 {
		return
	}
	f.sport, f.dport = binary.BigEndian.Uint16(p), binary.BigEndian.Uint16(p[2:])
	if dir == link.Down {
		f = f.reversed() // the client's flow is the key of a connection
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case proto == protoTCP && len(p) >= 20:
		c.segment(dir, f, p)
	case proto == protoUDP:
		c.datagram(dir, f, p[8:])
	}
}
