package wire

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"iter"
)

// initialSalt is the salt of QUIC version 1 (RFC 9001, 5.2). Any observer can derive the keys
// of Initial packets.
var initialSalt = []byte{
	0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17,
	0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a,
}

// openInitial decrypts an Initial packet of a connection whose client first wrote to the
// connection ID original. label is "client in" or "server in", depending on the sender. The
// packet number begins at offset.
func openInitial(original, label string, packet []byte, offset int) (payload []byte, ok bool) {
	const sampleAt, sampleSize = 4, 16
	if len(packet) < offset+sampleAt+sampleSize {
		return nil, false
	}
	key, iv, mask := initialKeys(original, label)
	if key == nil {
		return nil, false
	}
	// RFC 9001, 5.4: the header is masked with a sample of the ciphertext.
	packet = bytes.Clone(packet)
	var m [aes.BlockSize]byte
	mask.Encrypt(m[:], packet[offset+sampleAt:])
	packet[0] ^= m[0] & 0x0f
	size := int(packet[0]&3) + 1
	var number uint64
	for i := range size {
		packet[offset+i] ^= m[1+i]
		number = number<<8 | uint64(packet[offset+i])
	}
	nonce := bytes.Clone(iv)
	for i := range 8 {
		nonce[len(nonce)-8+i] ^= byte(number >> (56 - 8*i))
	}
	payload, err := key.Open(nil, nonce, packet[offset+size:], packet[:offset+size])
	return payload, err == nil
}

func initialKeys(original, label string) (key cipher.AEAD, iv []byte, mask cipher.Block) {
	fail := func() (cipher.AEAD, []byte, cipher.Block) { return nil, nil, nil }
	initial, err := hkdf.Extract(sha256.New, []byte(original), initialSalt)
	if err != nil {
		return fail()
	}
	secret, err := expandLabel(initial, label, sha256.Size)
	if err != nil {
		return fail()
	}
	var parts [3][]byte
	for i, part := range []struct {
		label string
		size  int
	}{{"quic key", 16}, {"quic iv", 12}, {"quic hp", 16}} {
		if parts[i], err = expandLabel(secret, part.label, part.size); err != nil {
			return fail()
		}
	}
	block, err := aes.NewCipher(parts[0])
	if err != nil {
		return fail()
	}
	if key, err = cipher.NewGCM(block); err != nil {
		return fail()
	}
	if mask, err = aes.NewCipher(parts[2]); err != nil {
		return fail()
	}
	return key, parts[1], mask
}

// expandLabel implements HKDF-Expand-Label of RFC 8446, 7.1, with an empty context.
func expandLabel(secret []byte, label string, size int) ([]byte, error) {
	label = "tls13 " + label
	info := binary.BigEndian.AppendUint16(nil, uint16(size))
	info = append(append(append(info, byte(len(label))), label...), 0)
	return hkdf.Expand(sha256.New, secret, string(info), size)
}

// A cryptoStream assembles the handshake messages of Initial packets.
type cryptoStream struct {
	pieces map[int][]byte // pieces by offset
}

// maxCrypto limits the size of a stream. A ServerHello is much smaller.
const maxCrypto = 16 << 10

// frames extracts the CRYPTO frames from a packet's payload. It skips other frames, or ends at
// them (RFC 9000, 12.4).
func (s *cryptoStream) frames(b []byte) {
	const padding, ping, ack, ackECN, crypto = 0, 1, 2, 3, 6
	next := func() (v int, ok bool) {
		v, n := varint(b)
		b = b[n:]
		return v, n > 0
	}
	for len(b) > 0 {
		kind := b[0]
		b = b[1:]
		switch kind {
		case padding, ping:
		case ack, ackECN:
			var ranges int
			fields := 4 // the fields: largest, delay, ranges, first range
			for i := 0; i < fields; i++ {
				v, ok := next()
				if !ok {
					return
				}
				if i == 2 {
					ranges = min(v, len(b))
					fields += 2 * ranges
					if kind == ackECN {
						fields += 3
					}
				}
			}
		case crypto:
			offset, ok := next()
			if !ok {
				return
			}
			size, ok := next()
			if !ok || size > len(b) || offset+size > maxCrypto {
				return
			}
			if s.pieces == nil {
				s.pieces = make(map[int][]byte)
			}
			if size > len(s.pieces[offset]) {
				s.pieces[offset] = bytes.Clone(b[:size])
			}
			b = b[size:]
		default:
			return
		}
	}
}

// messages yields the complete messages at the stream's beginning.
func (s *cryptoStream) messages() iter.Seq[[]byte] {
	var stream []byte
	for {
		had := len(stream)
		for offset, piece := range s.pieces {
			if offset <= len(stream) && offset+len(piece) > len(stream) {
				stream = append(stream, piece[len(stream)-offset:]...)
			}
		}
		if len(stream) == had {
			break
		}
	}
	return func(yield func([]byte) bool) {
		for len(stream) >= 4 {
			size := messageSize(stream)
			if len(stream) < size || !yield(stream[:size]) {
				return
			}
			stream = stream[size:]
		}
	}
}
