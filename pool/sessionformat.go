package pool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"runtime"
	"strings"
	"time"
)

// The file is: a magic line, the Go version, the number of sessions, the
// sessions, and a checksum of all that. Texts and bytes have their length in
// front. There is no version of the form itself: another form gets another
// magic line.
const sessionMagic = "rdapq TLS sessions 1\n"

// Bounds. A session is mostly the server's certificates, twice.
const (
	maxSessionSize = 128 << 10
	maxSessionFile = 32 << 20
)

var (
	errNotSessions = errors.New("not a file of TLS sessions")
	errChecksum    = errors.New("the file is damaged")
	errOtherGo     = errors.New("sessions of another Go version")

	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// appendSessions encodes the sessions as far as the file has room.
func appendSessions(b []byte, all []*savedSession) []byte {
	total := len(sessionMagic) + 64
	for i, e := range all {
		if total += e.size(); total > maxSessionFile {
			all = all[:i]
			break
		}
	}
	b = append(b, sessionMagic...)
	b = appendText(b, runtime.Version())
	b = binary.AppendUvarint(b, uint64(len(all)))
	for _, e := range all {
		b = appendText(b, e.key.Host)
		b = appendText(b, e.key.Port)
		b = appendText(b, e.key.Trust)
		b = appendText(b, e.key.Identity)
		quic := byte(0)
		if e.key.QUIC {
			quic = 1
		}
		b = append(b, quic)
		b = binary.BigEndian.AppendUint64(b, uint64(e.stored))
		b = appendText(b, e.ticket)
		b = appendText(b, e.state)
	}
	return appendChecksum(b)
}

func appendChecksum(b []byte) []byte {
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func appendText[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// parseSessions is the reverse.
func parseSessions(data []byte) ([]*savedSession, error) {
	r := sessionReader{rest: data}
	switch {
	case !strings.HasPrefix(string(data[:min(len(data), len(sessionMagic))]), sessionMagic):
		return nil, errNotSessions
	case len(data) < len(sessionMagic)+crc32.Size:
		return nil, errChecksum
	}
	body, sum := data[:len(data)-crc32.Size], data[len(data)-crc32.Size:]
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(sum) {
		return nil, errChecksum
	}
	r.rest = body[len(sessionMagic):]
	if version := r.text(); r.bad {
		return nil, errNotSessions
	} else if version != runtime.Version() {
		return nil, errOtherGo
	}
	var all []*savedSession
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		e := new(savedSession)
		e.key = SessionKey{Host: r.text(), Port: r.text(), Trust: r.text(), Identity: r.text()}
		e.key.QUIC = r.byte() == 1
		e.stored = int64(r.uint64())
		// Copies, so that no session keeps the whole file in memory.
		e.ticket, e.state = bytes.Clone(r.bytes()), bytes.Clone(r.bytes())
		all = append(all, e)
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errNotSessions
	}
	return all, nil
}

// A sessionReader takes values off the front of rest. Once it is bad it gives
// zeros.
type sessionReader struct {
	rest []byte
	bad  bool
}

func (r *sessionReader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.rest)) {
		r.bad = true
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *sessionReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.take(uint64(n))
	return v
}

func (r *sessionReader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *sessionReader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *sessionReader) bytes() []byte { return r.take(r.uvarint()) }
func (r *sessionReader) text() string  { return string(r.bytes()) }

// size is about how much of the file e takes.
func (e *savedSession) size() int {
	return len(e.key.Host) + len(e.key.Port) + len(e.key.Trust) + len(e.key.Identity) + len(e.ticket) + len(e.state) + 32
}

// expired reports whether e is too old to be offered. crypto/tls does not say
// when a session ends, so the time of storing counts, and for the version the
// first two bytes of an encoding that is crypto/tls's own. If that changes
// sessions live shorter.
func (e *savedSession) expired(now time.Time) bool {
	age := now.Sub(time.Unix(0, e.stored))
	if age < -clockSkew || age > maxAgeTLS13 {
		return true
	}
	tls13 := len(e.state) > 2 && e.state[0] == 0x03 && e.state[1] == 0x04
	return !tls13 && age > maxAgeTLS12
}
