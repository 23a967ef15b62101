package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A table describes a CSV input before its first record.
type table struct {
	delimiter    byte
	names        []string // names of all columns; defaults without a header
	column       int      // column of the queries
	likelierName string   // another column whose name suggests queries; may be empty
	records      int64    // number of records of the header, including blank lines before it
}

// newTable reads the header if there is one. first is the first line.
func newTable(in *bufio.Reader, o Options, first []byte) (*table, error) {
	t := &table{delimiter: sniffDelimiter(o, first)}
	cells, err := t.peek(in)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", o.Name, err)
	}
	if o.Column != "" {
		if t.column = findColumn(cells, o.Column); t.column < 0 && len(cells) > 0 {
			return nil, &ColumnError{Column: o.Column, Header: cells}
		}
		t.column = max(t.column, 0) // the input may be empty
	}
	if len(cells) > 0 && (o.Column != "" || isHeader(cells[0])) {
		t.skipHeader(in)
		t.names = uniqueNames(cells)
		if o.Column == "" {
			t.likelierName = likelierColumn(cells)
		}
		return t, nil
	}
	for i := range cells {
		t.names = append(t.names, defaultName(i))
	}
	return t, nil
}

// peek returns the cells of the first record without consuming them. It returns none if the
// record is invalid, an error that rows reports.
func (t *table) peek(in *bufio.Reader) ([]string, error) {
	for {
		cells, n, err := peekRecord(nil, in, t.delimiter)
		if err != nil || !blank(cells) {
			if _, bad := err.(*RecordError); bad || err == io.EOF {
				err = nil
			}
			return cells, err
		}
		in.Discard(n)
		t.records++
	}
}

// skipHeader consumes the header that peek returned.
func (t *table) skipHeader(in *bufio.Reader) {
	_, n, _ := peekRecord(nil, in, t.delimiter) // cannot fail, because peek read the same record
	in.Discard(n)
	t.records++
}

// likelierColumn returns the name of a column with a usual name for queries, unless it
// is the first column.
func likelierColumn(header []string) string {
	for _, name := range DefaultFields {
		switch i := findColumn(header, name); {
		case i == 0:
			return ""
		case i > 0:
			return header[i]
		}
	}
	return ""
}

func (t *table) extra() []string {
	var names []string
	for i, name := range t.names {
		if i != t.column {
			names = append(names, name)
		}
	}
	return names
}

func (t *table) name(i int) string {
	if i < len(t.names) {
		return t.names[i]
	}
	return defaultName(i)
}

func defaultName(i int) string { return "column_" + strconv.Itoa(i+1) }

// uniqueNames returns names for columns that are unique and not empty.
func uniqueNames(header []string) []string {
	seen := make(map[string]bool, len(header))
	names := make([]string, len(header))
	for i, h := range header {
		name := strings.TrimSpace(h)
		if name == "" {
			name = defaultName(i)
		}
		for n, base := 2, name; seen[name]; n++ {
			name = base + "_" + strconv.Itoa(n)
		}
		seen[name] = true
		names[i] = name
	}
	return names
}

// rows yields the queries of a CSV input.
func (r *Reader) rows(yield func(Record, error) bool) {
	t := r.table
	var cells []string
	for n := t.records + 1; ; n++ {
		var used int
		var err error
		cells, used, err = peekRecord(cells, r.in, t.delimiter)
		if _, bad := err.(*RecordError); err != nil && !bad {
			r.fail(n, err, yield)
			return
		}
		switch {
		case err != nil:
			text := skipLine(r.in)
			if !yield(Record{Line: n, Text: text}, err) {
				return
			}
		case blank(cells):
			r.in.Discard(used)
		default:
			rec := t.record(cells, r.queriesOnly)
			rec.Line = n
			r.in.Discard(used)
			if !yield(rec, nil) {
				return
			}
		}
	}
}

func (t *table) record(cells []string, bare bool) Record {
	var rec Record
	if t.column < len(cells) {
		rec.Text = strings.TrimSpace(cells[t.column])
	}
	if bare || len(cells) < 2 && t.column == 0 {
		return rec
	}
	for i, c := range cells {
		if i == t.column {
			continue
		}
		if rec.Extra == nil {
			rec.Extra = append(rec.Extra, '{')
		} else {
			rec.Extra = append(rec.Extra, ',')
		}
		rec.Extra = appendString(rec.Extra, t.name(i))
		rec.Extra = append(rec.Extra, ':')
		rec.Extra = appendString(rec.Extra, c)
	}
	if rec.Extra != nil {
		rec.Extra = append(rec.Extra, '}')
	}
	return rec
}

// blank reports whether a row has only empty cells, as the last rows of many spreadsheets have.
func blank(cells []string) bool {
	for _, c := range cells {
		if strings.TrimSpace(c) != "" {
			return false
		}
	}
	return true
}

// skipLine consumes a line of any length and returns its beginning.
func skipLine(in *bufio.Reader) string {
	line, err := in.ReadSlice('\n')
	text := excerpt(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = in.ReadSlice('\n')
	}
	return text
}

// peekRecord parses the next record into cells without consuming input, and returns the
// record's length in bytes. It reads no more input than necessary.
//
// After a [*RecordError] only the first line of the record is skipped. An unterminated quote
// thus invalidates one record and not the rest of the input.
func peekRecord(cells []string, in *bufio.Reader, delimiter byte) ([]string, int, error) {
	for want := 1; ; {
		data, err := in.Peek(want)
		if more := in.Buffered(); more > len(data) {
			data, _ = in.Peek(more)
		}
		if len(data) == 0 {
			return nil, 0, err
		}
		if err != nil && err != io.EOF {
			return nil, 0, err
		}
		out, n, bad := parseRecord(cells[:0], data, delimiter, err == io.EOF)
		switch {
		case bad == nil:
			return out, n, nil
		case bad != errMore:
			return nil, 0, bad
		case len(data) == in.Size():
			return nil, 0, recordError("record is longer than %d bytes", in.Size())
		}
		want = len(data) + 1 // require at least one more byte
	}
}

// errMore reports that the record continues after the data.
var errMore = errors.New("need more data")

// parseRecord appends the cells of the first record of data (RFC 4180; LF also ends a line) and
// returns its length in bytes. final states that data is the end of the input.
func parseRecord(cells []string, data []byte, delimiter byte, final bool) (_ []string, n int, err error) {
	for rest := data; ; {
		var cell string
		var used int
		if len(rest) > 0 && rest[0] == '"' {
			cell, used, err = quotedCell(rest[1:], final)
			used++
		} else {
			cell, used, err = plainCell(rest, delimiter, final)
		}
		if err != nil {
			return cells, 0, err
		}
		cells = append(cells, cell)
		rest = rest[used:]
		if len(rest) == 0 {
			if !final {
				return cells, 0, errMore
			}
			return cells, len(data), nil
		}
		switch {
		case rest[0] == delimiter:
			rest = rest[1:]
		case rest[0] == '\n':
			return cells, len(data) - len(rest) + 1, nil
		case rest[0] == '\r' && len(rest) > 1 && rest[1] == '\n':
			return cells, len(data) - len(rest) + 2, nil
		case rest[0] == '\r' && len(rest) == 1 && final:
			return cells, len(data), nil
		case rest[0] == '\r' && len(rest) == 1:
			return cells, 0, errMore
		default:
			return cells, 0, recordError("unexpected text after the closing quote of column %d", len(cells))
		}
	}
}

// plainCell reads an unquoted cell up to the delimiter or line end.
func plainCell(data []byte, delimiter byte, final bool) (cell string, n int, err error) {
	end := len(data)
	whole := final
	for i, c := range data {
		if c == delimiter || c == '\n' {
			end, whole = i, true
			if c == '\n' && i > 0 && data[i-1] == '\r' {
				end--
			}
			break
		}
	}
	if bytes.IndexByte(data[:end], '"') >= 0 {
		return "", 0, recordError(`a cell that contains a quote must be quoted: "say ""so"""`)
	}
	if !whole {
		return "", 0, errMore
	}
	if end == len(data) && end > 0 && data[end-1] == '\r' {
		end--
	}
	return string(data[:end]), end, nil
}

// quotedCell reads a cell after its opening quote, up to and including the closing quote.
func quotedCell(data []byte, final bool) (cell string, n int, err error) {
	var b []byte
	for {
		i := bytes.IndexByte(data[n:], '"')
		if i < 0 {
			if final {
				return "", 0, recordError("unterminated quote")
			}
			return "", 0, errMore
		}
		part := data[n : n+i]
		n += i + 1
		switch {
		case n < len(data) && data[n] == '"':
			b = append(append(b, part...), '"')
			n++
		case n == len(data) && !final:
			return "", 0, errMore
		case b == nil:
			return string(part), n, nil
		default:
			return string(append(b, part...)), n, nil
		}
	}
}
