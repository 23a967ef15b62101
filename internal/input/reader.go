package input

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"sync/atomic"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// A Record is one query and what stood beside it.
type Record struct {
	// Line numbers the records from 1: the lines of text and NDJSON, the rows
	// of CSV, its header included, as a spreadsheet counts them. Blank lines
	// and comments count and are no records.
	Line  int64
	Text  string // the query, as written
	Extra []byte // the other columns or members as a JSON object on one line; nil without any
}

// A RecordError says why one record holds no query that could be read. The
// records after it are not touched by it.
type RecordError struct{ Problem string }

func (e *RecordError) Error() string { return e.Problem }

func malformed(format string, args ...any) error {
	return &RecordError{Problem: fmt.Sprintf(format, args...)}
}

// Options say how to read. The zero value reads text, or what the first bytes
// look like.
type Options struct {
	Format Format // Auto: by Column or Field, by Name, by the first bytes
	Name   string // of the file, which may tell the format and stands in errors
	Column string // CSV: the column with the queries, which the header must name; empty: the first one
	Field  string // NDJSON: the member with the query; empty: the first there is of DefaultFields
}

const (
	// maxLine bounds a line of text; no query is that long.
	maxLine = 64 << 10
	// maxShown is how much of a record that can't be read stands in its place.
	maxShown = 2 << 10
	// maxRecord bounds a record of CSV or NDJSON, in octets.
	maxRecord = 1 << 20
)

// A Reader reads the records of one input. Make it with [Open].
type Reader struct {
	format  Format
	in      *bufio.Reader
	name    string
	table   *table   // CSV
	fields  []string // NDJSON: where the query may stand
	bare    bool     // nobody wants the other columns
	records func(yield func(Record, error) bool)

	trailing *atomic.Bool // see Trailing
}

// Open finds out what r holds and returns a Reader of it. It reads the
// beginning: of CSV the header. Errors are those of r, and a [*ColumnError]
// when the header lacks the column asked for. An input without a byte is fine
// and has no records.
func Open(r io.Reader, o Options) (*Reader, error) { return open(r, o, false) }

func open(r io.Reader, o Options, bare bool) (*Reader, error) {
	in, trailing, err := decompress(r, o.Name)
	if err != nil {
		return nil, err
	}
	// Some systems write text so, and begin it with a mark which says that.
	if mark, err := in.Peek(2); err == nil && (mark[0] == 0xff && mark[1] == 0xfe || mark[0] == 0xfe && mark[1] == 0xff) {
		utf16 := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)
		in = bufio.NewReaderSize(transform.NewReader(in, utf16.NewDecoder()), maxRecord)
	}
	if mark, err := in.Peek(len(byteOrderMark)); err == nil && bytes.Equal(mark, byteOrderMark) {
		in.Discard(len(byteOrderMark))
	}
	rd := &Reader{in: in, name: o.Name, bare: bare, trailing: trailing}
	first, err := peekLine(in)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", o.Name, err)
	}
	if rd.format = o.Format; rd.format == Auto {
		rd.format = detect(o, first)
	}
	switch rd.format {
	case CSV:
		if rd.table, err = newTable(in, o, first); err != nil {
			return nil, err
		}
		rd.records = rd.rows
	case NDJSON:
		if rd.fields = DefaultFields; o.Field != "" {
			rd.fields = []string{o.Field}
		}
		rd.records = rd.objects
	default:
		rd.format = Text
		rd.records = rd.lines
	}
	return rd, nil
}

// Format returns the format of the input, never Auto.
func (r *Reader) Format() Format { return r.format }

// Columns returns the names of a CSV input's columns without that of the
// queries, as they stand in Record.Extra, and nil for other formats. Rows that
// are longer than the first have more.
func (r *Reader) Columns() []string {
	if r.table == nil {
		return nil
	}
	return r.table.extra()
}

// Doubt returns, of CSV whose first column was taken for want of
// [Options.Column], the name of that column and of another one which looks more
// as if it had the queries. Both are empty when there is none.
func (r *Reader) Doubt() (taken, likelier string) {
	if r.table == nil || r.table.likelier == "" {
		return "", ""
	}
	return r.table.name(r.table.column), r.table.likelier
}

// Trailing reports whether something stood behind the end of a compressed input
// that is not compressed, and was left out. It may be called at any time; that is
// known when the last record was read.
func (r *Reader) Trailing() bool { return r.trailing.Load() }

// Records yields the records in their order, once. With a [*RecordError] only
// Line holds, and sometimes a part of Text; after any other error, which is one
// of the reader's, nothing comes any more.
func (r *Reader) Records() iter.Seq2[Record, error] { return r.records }

// Count returns how many records an input has, those with an error included.
// It ends early with an error of r or of ctx.
func Count(ctx context.Context, r io.Reader, o Options) (int64, error) {
	rd, err := open(r, o, true)
	if err != nil {
		return 0, err
	}
	var n int64
	for _, err := range rd.Records() {
		if _, bad := err.(*RecordError); err != nil && !bad {
			return n, err
		}
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return n, ctx.Err()
		}
	}
	return n, nil
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// peekLine returns the first line that is not blank, without its end, or as
// much of it as the buffer holds. It reads no further than it must: the input
// may be a terminal. The lines stay unread.
func peekLine(in *bufio.Reader) ([]byte, error) {
	for want := 1; ; want = in.Buffered() + 1 {
		data, err := in.Peek(min(want, in.Size()))
		if more := in.Buffered(); more > len(data) {
			data, _ = in.Peek(more)
		}
		rest := data
		for len(rest) > 0 {
			line, after, whole := bytes.Cut(rest, []byte{'\n'})
			if !whole && err == nil && len(data) < in.Size() {
				break
			}
			if line = bytes.TrimRight(line, "\r"); len(bytes.TrimSpace(line)) > 0 {
				return line, nil
			}
			rest = after
		}
		switch {
		case err == io.EOF || len(data) == in.Size():
			return nil, nil
		case err != nil && len(data) > 0:
			return nil, nil // the records before it come first
		case err != nil:
			return nil, err
		}
	}
}
