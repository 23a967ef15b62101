package input

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"sync/atomic"
)

// gzipMagic is what each part of a file of gzip begins with.
const gzipMagic = "\x1f\x8b"

// decompress returns what r holds, uncompressed if it begins as gzip does; then
// trailing says whether something else stood behind its end, once that was read.
func decompress(r io.Reader, name string) (in *bufio.Reader, trailing *atomic.Bool, err error) {
	in, trailing = bufio.NewReaderSize(r, maxRecord), new(atomic.Bool)
	if magic, _ := in.Peek(len(gzipMagic)); string(magic) != gzipMagic {
		return in, trailing, nil // what is wrong shows when it is read
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", name, err)
	}
	z.Multistream(false)
	return bufio.NewReaderSize(&members{in: in, z: z, trailing: trailing}, maxRecord), trailing, nil
}

// members reads the parts of a file of gzip one after another (RFC 1952 section
// 2.2). What follows the last one and is none, such as the zeros of a tape, does not
// count, as with gzip itself: all that was compressed has been checked by then.
type members struct {
	in       *bufio.Reader // z reads no further than it must
	z        *gzip.Reader
	trailing *atomic.Bool
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.z.Read(p)
		if n > 0 && err == io.EOF {
			err = nil // it is told again
		}
		if n > 0 || err != io.EOF || len(p) == 0 {
			return n, err
		}
		rest, err := m.in.Peek(len(gzipMagic))
		switch {
		case err != nil && err != io.EOF || len(rest) == 0:
			return 0, err
		case string(rest) != gzipMagic:
			m.trailing.Store(true)
			return 0, io.EOF
		}
		if err := m.z.Reset(m.in); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		m.z.Multistream(false)
	}
}
