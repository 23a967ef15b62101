package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// lines yields the queries of a text.
func (r *Reader) lines(yield func(Record, error) bool) {
	for n := int64(1); ; n++ {
		line, err := r.in.ReadSlice('\n')
		rec := Record{Line: n}
		var bad error
		blank := len(bytes.TrimSpace(line)) == 0
		if len(line) <= maxLine {
			rec.Text = string(bytes.TrimSpace(line))
		} else {
			rec.Text, bad = beginning(line), malformed("line is longer than %d bytes", maxLine)
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = r.in.ReadSlice('\n')
			blank = blank && len(bytes.TrimSpace(line)) == 0
		}
		if err != nil && err != io.EOF {
			r.fail(n, err, yield) // nobody is asked for half a line
			return
		}
		if !blank && !strings.HasPrefix(rec.Text, "#") && !yield(rec, bad) {
			return
		}
		if err == io.EOF {
			return
		}
	}
}

// beginning returns the first words of a record that is too long or broken, to
// tell it by.
func beginning(line []byte) string {
	line = bytes.TrimSpace(line[:min(len(line), maxLine)])
	return strings.ToValidUTF8(string(line[:min(len(line), maxShown)]), "")
}

// fail yields an error of the reader in place of record n, if it is one.
func (r *Reader) fail(n int64, err error, yield func(Record, error) bool) {
	if err != io.EOF {
		yield(Record{Line: n}, fmt.Errorf("reading %s: %w", r.name, err))
	}
}
