package input

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"sync/atomic"
)

// gzipMagic starts each member of a gzip file.
const gzipMagic = "\x1f\x8b"

// decompress returns r, decompressed if r is gzip. After the end of the compressed data,
// trailing reports whether other data follows.
func decompress(r io.Reader, name string) (in *bufio.Reader, trailing *atomic.Bool, err error) {
	in, trailing = bufio.NewReaderSize(r, maxRecord), new(atomic.Bool)
	if magic, _ := in.Peek(len(gzipMagic)); string(magic) != gzipMagic {
		return in, trailing, nil // a later Read returns the error, if any
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", name, err)
	}
	z.Multistream(false)
	return bufio.NewReaderSize(&members{in: in, z: z, trailing: trailing}, maxRecord), trailing, nil
}

// members reads the consecutive members of a gzip file (RFC 1952 section 2.2). Like gzip, it
// ignores other data after the last member, such as the zeros of a tape, because all compressed
// data was verified before.
type members struct {
	in       *bufio.Reader // source of z, which does not read ahead
	z        *gzip.Reader
	trailing *atomic.Bool
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.z.Read(p)
		if n > 0 && err == io.EOF {
			err = nil // the next call returns the error
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
