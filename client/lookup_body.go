package client

import (
	"io"
	"slices"
)

// pieceSize is in how large pieces bodies of unknown length are read, in bytes. One
// is enough for almost all of them. A buffer that grows would be copied again and
// again, and take three times the body at its end; larger pieces would take much
// memory for bodies that are only a little longer than the last one.
const pieceSize = 64 << 10

// readAll reads a body of at most limit bytes. What was read before an error comes
// with it, but nothing of a body that is too large, nor of one of more than
// maxErrorBody: it is that of a success, which is of no use without its end.
func (c *Client) readAll(body io.Reader, limit int64) ([]byte, error) {
	pieces := [][]byte{c.pieces.Get().(*[pieceSize]byte)[:0]}
	// Pieces are used again: those of bodies that are too large would make the
	// heap several times what is in use.
	defer func() {
		for _, piece := range pieces {
			c.pieces.Put((*[pieceSize]byte)(piece[:pieceSize]))
		}
	}()
	for total := int64(0); ; {
		last := pieces[len(pieces)-1]
		if len(last) == cap(last) {
			last = c.pieces.Get().(*[pieceSize]byte)[:0]
			pieces = append(pieces, last)
		}
		n, err := body.Read(last[len(last):cap(last)])
		pieces[len(pieces)-1] = last[:len(last)+n]
		total += int64(n)
		switch {
		case total > limit:
			return nil, errTooLarge
		case err == io.EOF:
			return slices.Concat(pieces...), nil
		case err != nil && total > maxErrorBody:
			return nil, err
		case err != nil:
			return slices.Concat(pieces...), err
		}
	}
}
