package input

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync/atomic"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// A Record is one query with its additional data.
type Record struct {
	// Line is the number of the record from 1. It counts the lines of text and NDJSON, and the
	// rows of CSV including the header, as a spreadsheet does. Blank lines and comments count,
	// although they are no records.
	Line  int64
	Text  string // query as written
	Extra []byte // other columns or members as a JSON object on one line; nil if there are none
}

// A RecordError reports why a record has no readable query. Later records are not
// affected.
type RecordError struct{ Problem string }

func (e *RecordError) Error() string { return e.Problem }

func recordError(format string, args ...any) error {
	return &RecordError{Problem: fmt.Sprintf(format, args...)}
}

// Options configures a Reader. The zero value detects the format from the first bytes.
type Options struct {
	Format Format // format; Auto means determined by Column or Field, Name, or the first bytes
	Name   string // name of the file, for detection and errors
	Column string // for CSV: column with the queries, which must be in the header; empty means the first column
	Field  string // for NDJSON: member with the query; empty means the first of DefaultFields that is present
}

const (
	// maxLine limits a line of text, in bytes. No query is that long.
	maxLine = 64 << 10
	// maxShown limits the excerpt of an invalid record, in bytes.
	maxShown = 2 << 10
	// maxRecord limits a record of CSV or NDJSON, in bytes.
	maxRecord = 1 << 20
)

// A Reader reads the records of one input. Use [Open] to make one.
type Reader struct {
	format      Format
	in          *bufio.Reader
	name        string
	table       *table   // table of a CSV input
	fields      []string // for NDJSON: members that may contain the query
	queriesOnly bool     // whether to omit the other columns
	records     func(yield func(Record, error) bool)

	trailing *atomic.Bool // see Trailing
}

// Open detects the format of r and returns a Reader. It reads the beginning of the input, which
// for CSV includes the header. It returns errors of r, and a [*ColumnError] if the header lacks
// the requested column. An empty input is valid and has no records.
func Open(r io.Reader, o Options) (*Reader, error) { return open(r, o, false) }

func open(r io.Reader, o Options, bare bool) (*Reader, error) {
	in, trailing, err := decompress(r, o.Name)
	if err != nil {
		return nil, err
	}
	// Some systems write UTF-16 with a byte-order mark.
	if mark, err := in.Peek(2); err == nil && (mark[0] == 0xff && mark[1] == 0xfe || mark[0] == 0xfe && mark[1] == 0xff) {
		utf16 := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)
		in = bufio.NewReaderSize(transform.NewReader(in, utf16.NewDecoder()), maxRecord)
	}
	if mark, err := in.Peek(len(byteOrderMark)); err == nil && bytes.Equal(mark, byteOrderMark) {
		in.Discard(len(byteOrderMark))
	}
	rd := &Reader{in: in, name: o.Name, queriesOnly: bare, trailing: trailing}
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

// Columns returns the names of the columns other than the queries' own, as in Record.Extra. It
// returns nil for formats other than CSV. Rows longer than the first row have more columns.
func (r *Reader) Columns() []string {
	if r.table == nil {
		return nil
	}
	return r.table.extra()
}

// LikelierColumn is for CSV without [Options.Column]. It returns the name of the first column,
// which is used, and the name of another column that suggests queries. Both are empty if there
// is no such column.
func (r *Reader) LikelierColumn() (taken, likelier string) {
	if r.table == nil || r.table.likelierName == "" {
		return "", ""
	}
	return r.table.name(r.table.column), r.table.likelierName
}

// Trailing reports whether other data after the compressed data was ignored. It may be called
// at any time, but is final only after the last record.
func (r *Reader) Trailing() bool { return r.trailing.Load() }

// Records yields the records in order, once. If the error is a [*RecordError], only Line is
// valid, and sometimes a part of Text. Any other error comes from the underlying reader and
// ends the sequence.
func (r *Reader) Records() iter.Seq2[Record, error] { return r.records }

// Count returns the number of records, including invalid records. It stops at an error of r or
// ctx.
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

// peekLine returns the first line that is not blank, without its end, or its beginning if it
// exceeds the buffer. It reads no further than necessary, because the input may be a terminal,
// and consumes nothing.
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
			return nil, nil // yield the records before the error first
		case err != nil:
			return nil, err
		}
	}
}

// lines yields the queries of a text input.
func (r *Reader) lines(yield func(Record, error) bool) {
	for n := int64(1); ; n++ {
		line, err := r.in.ReadSlice('\n')
		rec := Record{Line: n}
		var bad error
		blank := len(bytes.TrimSpace(line)) == 0
		if len(line) <= maxLine {
			rec.Text = string(bytes.TrimSpace(line))
		} else {
			rec.Text, bad = excerpt(line), recordError("line is longer than %d bytes", maxLine)
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = r.in.ReadSlice('\n')
			blank = blank && len(bytes.TrimSpace(line)) == 0
		}
		if err != nil && err != io.EOF {
			r.fail(n, err, yield) // do not query a partial line
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

// excerpt returns the beginning of an invalid record, which helps to identify the record.
func excerpt(line []byte) string {
	line = bytes.TrimSpace(line[:min(len(line), maxLine)])
	return strings.ToValidUTF8(string(line[:min(len(line), maxShown)]), "")
}

// fail yields an error of the underlying reader at record n, unless it is io.EOF.
func (r *Reader) fail(n int64, err error, yield func(Record, error) bool) {
	if err != io.EOF {
		yield(Record{Line: n}, fmt.Errorf("reading %s: %w", r.name, err))
	}
}
