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

// input is what all queries have in common.
func (o *options) input(as client.Type) client.Input {
	return client.Input{Type: as, Server: o.server}
}

// with returns a query like all others but for its line and text.
func with(in client.Input, line int64, text string) client.Input {
	in.Line, in.Text = line, text
	return in
}

// arguments yields the queries of the command line.
func arguments(args []string, like client.Input) iter.Seq2[client.Input, error] {
	return func(yield func(client.Input, error) bool) {
		for i, text := range args {
			if !yield(with(like, int64(i)+1, text), nil) {
				return
			}
		}
	}
}

// lines yields one query a line: blank lines and those that begin with # are
// skipped; CR LF and a byte-order mark at the start are fine.
func lines(r io.Reader, name string, like client.Input) iter.Seq2[client.Input, error] {
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
			if !blank && !strings.HasPrefix(text, "#") && !yield(with(like, n, text), nil) {
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
