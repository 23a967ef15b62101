package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/rdapq/rdapq/client"
)

// maxLine bounds an input line; no query is that long.
const maxLine = 64 << 10

// longText is how much is passed on of a line beyond that: too much to be a
// query of any type, so that nobody is asked for a part of it.
const longText = 2 << 10

// arguments yields the queries of the command line.
func arguments(args []string, as client.Type) iter.Seq2[client.Input, error] {
	return func(yield func(client.Input, error) bool) {
		for i, text := range args {
			if !yield(client.Input{Line: int64(i) + 1, Text: text, Type: as}, nil) {
				return
			}
		}
	}
}

// lines yields one query a line: blank lines and those that begin with # are
// skipped; CR LF and a byte-order mark at the start are fine.
func lines(r io.Reader, name string, as client.Type) iter.Seq2[client.Input, error] {
	return func(yield func(client.Input, error) bool) {
		in := bufio.NewReaderSize(r, maxLine)
		for n := int64(1); ; n++ {
			line, err := in.ReadSlice('\n')
			if n == 1 {
				line = bytes.TrimPrefix(line, []byte("\ufeff"))
			}
			text := string(bytes.TrimSpace(line))
			blank := text == ""
			for errors.Is(err, bufio.ErrBufferFull) {
				text = strings.ToValidUTF8(text[:min(len(text), longText)], "")
				line, err = in.ReadSlice('\n')
				blank = blank && len(bytes.TrimSpace(line)) == 0
			}
			if !blank && !strings.HasPrefix(text, "#") && !yield(client.Input{Line: n, Text: text, Type: as}, nil) {
				return
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(client.Input{Line: n}, fmt.Errorf("reading %s: %w", name, err))
				return
			}
		}
	}
}

// openInput opens the file of --file; "-" is standard input.
func (a *app) openInput(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.stdin), nil
	}
	f, err := os.Open(name)
	if err == nil {
		var info os.FileInfo
		if info, err = f.Stat(); err == nil && info.IsDir() {
			f.Close()
			err = &os.PathError{Op: "open", Path: name, Err: errors.New("is a directory")}
		}
	}
	if err != nil {
		return nil, noRunf("give a file with one query a line, or - for standard input", "cannot read the input: %w", err)
	}
	return f, nil
}
