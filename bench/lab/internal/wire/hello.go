package wire

import "encoding/binary"

// Handshake message types of TLS.
const (
	typeClientHello = 1
	typeServerHello = 2
)

// Extensions that are needed here (RFC 8446, 4.2).
const (
	extPreSharedKey      = 41
	extSupportedVersions = 43
)

// retryRandom is the start of the random value of a HelloRetryRequest (RFC 8446,
// 4.1.3).
var retryRandom = [8]byte{0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11}

// helloHead is the size of type, length, version and random of a hello.
const helloHead = 1 + 3 + 2 + 32

type clientHello struct {
	size      int // size of the message
	sessionID []byte
}

// parseClientHello parses the needed part of a ClientHello, which may be truncated
// after the session ID.
func parseClientHello(b []byte) (h clientHello, ok bool) {
	if len(b) < helloHead {
		return h, false
	}
	h.size = messageSize(b)
	h.sessionID, _, ok = vector(b[helloHead:], 1)
	return h, ok
}

type serverHello struct {
	retry     bool // the message is a HelloRetryRequest
	tls13     bool
	psk       bool // for TLS 1.3: the server resumes the offered session
	sessionID []byte
}

// parseServerHello parses a ServerHello, which may be truncated in its extensions.
func parseServerHello(b []byte) (h serverHello, ok bool) {
	if len(b) < helloHead {
		return h, false
	}
	h.retry = [8]byte(b[6:14]) == retryRandom
	var rest []byte
	if h.sessionID, rest, ok = vector(b[helloHead:], 1); !ok {
		return h, false
	}
	if len(rest) < 3 { // cipher suite and compression
		return h, false
	}
	extensions(rest[3:], func(id uint16) {
		switch id {
		case extPreSharedKey:
			h.psk = true
		case extSupportedVersions:
			h.tls13 = true
		}
	})
	return h, true
}

// messageSize returns the size of the handshake message that begins with b, including the
// message's header.
func messageSize(b []byte) int {
	return 4 + (int(b[1])<<16 | int(b[2])<<8 | int(b[3]))
}

// vector splits b after a vector whose length is in its first n bytes.
func vector(b []byte, n int) (v, rest []byte, ok bool) {
	if len(b) < n {
		return nil, nil, false
	}
	size := 0
	for _, x := range b[:n] {
		size = size<<8 | int(x)
	}
	if len(b) < n+size {
		return nil, nil, false
	}
	return b[n : n+size], b[n+size:], true
}

// extensions calls fn for each extension that starts in b. It ignores the data after the list,
// which belongs to other messages and records.
func extensions(b []byte, fn func(id uint16)) {
	if len(b) < 2 {
		return
	}
	size := int(binary.BigEndian.Uint16(b))
	b = b[2:]
	b = b[:min(size, len(b))]
	for len(b) >= 4 {
		fn(binary.BigEndian.Uint16(b))
		_, rest, ok := vector(b[2:], 2)
		if !ok {
			return
		}
		b = rest
	}
}
