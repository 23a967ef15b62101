package pool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"runtime"
	"strings"
	"sync"
)

// The file consists of a magic line, the Go version, the number of sessions, the sessions, and
// a checksum. The magic line ends in the version of the format. A length precedes each text or
// byte string.
//
// The server's certificates, which the sessions of one key share, make up most of a session. So
// the state of a session may refer to a range of bytes in the state of the first session of its
// key.
const (
	sessionFormat = "rdapq TLS sessions "
	sessionMagic  = sessionFormat + "2\n"
)

// Limits in bytes.
const (
	maxSessionSize = 128 << 10
	maxSessionFile = 32 << 20
)

var (
	errNotSessionFile = errors.New("not a TLS session file")
	errChecksum       = errors.New("the file is damaged")
	errOtherFormat    = errors.New("sessions in the format of another version")
	errOtherGo        = errors.New("sessions of another Go version")
)

// castagnoli returns the table of the checksum. It builds the table on first use, which takes a
// quarter of a millisecond.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// appendSessions encodes the sessions of a table, up to the maximum file size.
func appendSessions(b []byte, table *sessionTable) []byte {
	b = append(b, sessionMagic...)
	b = appendText(b, runtime.Version())
	var sessions []byte
	room, n := maxSessionFile-len(b)-binary.MaxVarintLen64-crc32.Size, 0
	var first *savedSession // first session of the key
	var base []byte         // state of first
	for e := range table.each() {
		state := e.encoded()
		if len(state) == 0 {
			continue
		}
		if first == nil || first.key != e.key {
			first, base = e, nil
		}
		end := len(sessions)
		if sessions = appendSession(sessions, e, base, state); len(sessions) > room {
			sessions = sessions[:end]
			break
		}
		if n++; first == e {
			base = state
		}
	}
	b = binary.AppendUvarint(b, uint64(n))
	return appendChecksum(append(b, sessions...))
}

// appendSession encodes e. base is the state of the first session of the key, or nil if e is
// that session.
func appendSession(b []byte, e *savedSession, base, state []byte) []byte {
	if base == nil {
		b = append(b, 1)
		b = appendText(b, e.key.Host)
		b = appendText(b, e.key.Port)
		b = appendText(b, e.key.Trust)
		b = appendText(b, e.key.Identity)
		quic := byte(0)
		if e.key.QUIC {
			quic = 1
		}
		b = append(b, quic)
	} else {
		b = append(b, 0)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(e.stored))
	b = binary.AppendUvarint(b, uint64(e.version))
	b = appendText(b, e.ticket)
	from, to := sameRun(base, state)
	b = binary.AppendUvarint(b, uint64(from))
	b = binary.AppendUvarint(b, uint64(to))
	b = appendText(b, state[:from])
	return appendText(b, state[to:])
}

// sameRun returns the bounds of the longest run of equal bytes at equal offsets.
func sameRun(a, b []byte) (from, to int) {
	start := 0
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			start = i + 1
		} else if i+1-start > to-from {
			from, to = start, i+1
		}
	}
	return from, to
}

func appendChecksum(b []byte) []byte {
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli()))
}

func appendText[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// parseSessions decodes what appendSessions encoded.
func parseSessions(data []byte) ([]*savedSession, error) {
	r := sessionReader{rest: data}
	switch head := string(data[:min(len(data), len(sessionMagic))]); {
	case !strings.HasPrefix(head, sessionFormat):
		return nil, errNotSessionFile
	case head != sessionMagic:
		return nil, errOtherFormat
	case len(data) < len(sessionMagic)+crc32.Size:
		return nil, errChecksum
	}
	body, sum := data[:len(data)-crc32.Size], data[len(data)-crc32.Size:]
	if crc32.Checksum(body, castagnoli()) != binary.BigEndian.Uint32(sum) {
		return nil, errChecksum
	}
	r.rest = body[len(sessionMagic):]
	if version := r.text(); r.bad {
		return nil, errNotSessionFile
	} else if version != runtime.Version() {
		return nil, errOtherGo
	}
	var all []*savedSession
	var first *savedSession // first session of the key
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		e := r.session(first)
		if first == nil || e.key != first.key {
			first = e
		}
		all = append(all, e)
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errNotSessionFile
	}
	return all, nil
}

// session decodes a session. first is the first session of the last key, or nil.
func (r *sessionReader) session(first *savedSession) *savedSession {
	e := &savedSession{saved: true}
	var base []byte
	switch begins := r.byte() == 1; {
	case begins:
		e.key = SessionKey{Host: r.text(), Port: r.text(), Trust: r.text(), Identity: r.text()}
		e.key.QUIC = r.byte() == 1
	case first == nil:
		r.bad = true
		return e
	default:
		e.key, base = first.key, first.state[0]
	}
	e.stored, e.version = int64(r.uint64()), uint16(r.uvarint())
	// Copy the bytes, so that no session keeps the whole file in memory.
	e.ticket = bytes.Clone(r.bytes())
	from, to := r.uvarint(), r.uvarint()
	head, tail := bytes.Clone(r.bytes()), bytes.Clone(r.bytes())
	if from > to || to > uint64(len(base)) || uint64(len(head)) != from {
		r.bad = true
		return e
	}
	if e.state = [3][]byte{head, base[from:to], tail}; base == nil {
		e.state = [3][]byte{tail}
	}
	return e
}

// A sessionReader decodes values from the front of rest. After an error (bad) it
// returns zero values.
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
