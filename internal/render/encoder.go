package render

import (
	"fmt"
	"io"

	"github.com/rdapq/rdapq/client"
)

// Formats of [NewEncoder].
const (
	FormatText   = "text"   // for people
	FormatTable  = "table"  // for people too: a line a result, in columns
	FormatCheck  = "check"  // the query, a tab, and the verdict
	FormatJSON   = "json"   // the server's object; a list of them for many queries
	FormatNDJSON = "ndjson" // one row a line: see [AppendRow]
	FormatCSV    = "csv"    // a header and one line a result
	FormatRaw    = "raw"    // the bytes that the server sent
	FormatJQ     = "jq"     // what Options.JQ makes of the rows of NDJSON
)

// Options of [NewEncoder]. The zero value suits a file.
type Options struct {
	Text         TextOptions   // also Color and Width of tables
	Many         bool          // JSON: more than one result may come, so write a list
	Pretty       bool          // JSON: indent
	Visible      bool          // raw: control characters become visible escapes, for a terminal
	NoHeader     bool          // CSV and tables: the rows continue one that has its header
	Types        []client.Type // tables: the types of the queries, which decide the columns; nil: not known
	Fields       []string      // NDJSON, CSV and tables: what a row has, by the names of FieldNames; nil: what it usually has
	Trace        bool          // NDJSON: rows have "trace" as well, what the lookup waited for
	InputColumns []string      // CSV: what Result.Extra has, each a column

	JQ     *JQ                               // jq: the expression
	Failed func(r *client.Result, err error) // jq: told why the expression failed on a row; nil: nobody is
}

// A shape is how a format makes a document of rows.
type shape struct {
	header  string // at the start, rows or not
	first   string // before the first row
	between string // before all others
	last    string // at the end, after rows
	none    string // at the end without a row
	row     func(dst []byte, r *client.Result) []byte
}

// An Encoder writes results in one format. It gathers what it writes: call
// Flush when the reader should see it, and Close at the end, which ends the
// document and flushes; the writer itself stays open. Errors are those of the
// writer, unwrapped; after one, every call returns it again. An Encoder serves
// one goroutine at a time, but Row any number.
type Encoder struct {
	w      io.Writer
	shape  shape
	buf    []byte
	begun  bool // the header is written
	rows   bool // so is a row
	closed bool
	err    error
}

// blockSize is how much an encoder gathers before it writes.
const blockSize = 64 << 10

// NewEncoder returns the Encoder for one of the Format constants. The error
// names an unknown format or field.
func NewEncoder(format string, w io.Writer, o Options) (*Encoder, error) {
	e := &Encoder{w: w, begun: o.NoHeader}
	var err error
	switch format {
	case FormatText:
		e.shape = textShape(o.Text)
	case FormatJSON:
		e.shape = jsonShape(o)
	case FormatNDJSON:
		e.shape, err = ndjsonShape(o)
	case FormatCSV:
		e.shape, err = csvShape(o)
	case FormatTable:
		e.shape, err = tableShape(o)
	case FormatCheck:
		e.shape = shape{row: appendCheck}
	case FormatRaw:
		e.shape = rawShape(o)
	case FormatJQ:
		e.shape, err = jqShape(o)
	default:
		err = fmt.Errorf("unknown format %q: use %s, %s, %s, %s, %s or %s", format,
			FormatText, FormatTable, FormatCheck, FormatJSON, FormatNDJSON, FormatCSV)
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Encode adds the row of r.
func (e *Encoder) Encode(r *client.Result) error {
	if e.err != nil {
		return e.err
	}
	e.begin()
	e.buf = e.shape.row(e.buf, r)
	return e.full()
}

// Row appends the row of r as [Encoder.Add] takes it, for who keeps rows before
// they are written.
func (e *Encoder) Row(dst []byte, r *client.Result) []byte { return e.shape.row(dst, r) }

// Header returns what comes before all rows: in CSV the line with the names of
// the columns.
func (e *Encoder) Header() string { return e.shape.header }

// Add adds a row that [Encoder.Row] made.
func (e *Encoder) Add(row []byte) error {
	if e.err != nil {
		return e.err
	}
	e.begin()
	e.buf = append(e.buf, row...)
	return e.full()
}

// head writes the header.
func (e *Encoder) head() {
	if !e.begun {
		e.begun = true
		e.buf = append(e.buf, e.shape.header...)
	}
}

// begin writes what comes before a row.
func (e *Encoder) begin() {
	e.head()
	if e.rows {
		e.buf = append(e.buf, e.shape.between...)
	} else {
		e.buf = append(e.buf, e.shape.first...)
	}
	e.rows = true
}

func (e *Encoder) full() error {
	if len(e.buf) >= blockSize {
		return e.Flush()
	}
	return nil
}

// Flush writes what was gathered, and the header in any case, so that a table
// without rows says what it is.
func (e *Encoder) Flush() error {
	e.head()
	if e.err == nil && len(e.buf) > 0 {
		_, e.err = e.w.Write(e.buf)
		e.buf = e.buf[:0]
		if cap(e.buf) > 4*blockSize { // one huge answer must not be held for good
			e.buf = nil
		}
	}
	return e.err
}

// Close ends the document and flushes. Closing twice ends it once.
func (e *Encoder) Close() error {
	if !e.closed {
		e.closed = true
		e.head()
		if e.rows {
			e.buf = append(e.buf, e.shape.last...)
		} else {
			e.buf = append(e.buf, e.shape.none...)
		}
	}
	return e.Flush()
}

// appendCheck appends the query as it was written, a tab, and the verdict; then, if the
// answer is about another object, a tab, "about " and what it is about; if a search was
// answered, a tab and the number of results; if the response to an object that was not
// found is not RDAP, a tab and the word of that warning; and a tab and "desync" if
// responses of the server did not belong to their requests.
func appendCheck(dst []byte, r *client.Result) []byte {
	dst = append(dst, Safe(flat(ShownQuery(r.Query.Text)))...)
	dst = append(dst, '\t')
	dst = append(dst, r.Verdict...)
	if r.Other != "" {
		dst = append(dst, "\tabout "...)
		dst = append(dst, Safe(flat(r.Other))...)
	}
	if found := searchCount(r); found != "" {
		dst = append(append(dst, '\t'), found...)
	}
	if r.IsNotFoundWithoutRDAP() {
		dst = append(dst, "\tnot_found_without_rdap"...)
	}
	if r.Desync {
		dst = append(dst, "\tdesync"...)
	}
	return append(dst, '\n')
}
