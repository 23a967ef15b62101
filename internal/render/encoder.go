package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rdapq/rdapq/client"
)

// Formats of [NewEncoder].
const (
	FormatText   = "text"   // text for people
	FormatTable  = "table"  // a table for people: one line per result, in columns
	FormatCheck  = "check"  // the query, a tab, and the verdict
	FormatJSON   = "json"   // the server's object, or an array of objects for several queries
	FormatNDJSON = "ndjson" // one row per line; see [AppendRow]
	FormatCSV    = "csv"    // a header, then one line per result
	FormatRaw    = "raw"    // the response body as the server sent it
	FormatJQ     = "jq"     // the results of Options.JQ for NDJSON rows
)

// A format describes one of the output formats.
type format struct {
	name      string
	shape     func(Options) (shape, error) // returns the shape of the documents
	fields    bool                         // Options.Fields selects the content
	registrar bool                         // the format shows the registrar's record by default
}

// formats lists all formats: first those that users choose by name, and then the others.
var formats = []format{
	{name: FormatText, shape: func(o Options) (shape, error) { return textShape(o.Text), nil }, registrar: true},
	{name: FormatTable, shape: tableShape, fields: true},
	{name: FormatCheck, shape: func(Options) (shape, error) { return shape{row: appendCheck}, nil }},
	{name: FormatJSON, shape: func(o Options) (shape, error) { return jsonShape(o), nil }},
	{name: FormatNDJSON, shape: ndjsonShape, fields: true, registrar: true},
	{name: FormatCSV, shape: csvShape, fields: true},
	{name: FormatRaw, shape: func(o Options) (shape, error) { return rawShape(o), nil }},
	{name: FormatJQ, shape: jqShape, fields: true, registrar: true},
}

func formatNamed(name string) (f format, ok bool) {
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
	if i < 0 {
		return format{}, false
	}
	return formats[i], true
}

// HasFields reports whether Options.Fields selects the content of a format.
func HasFields(format string) bool {
	f, _ := formatNamed(format)
	return f.fields
}

// ShowsRegistrar reports whether a format shows the registrar's record by default.
func ShowsRegistrar(format string) bool {
	f, _ := formatNamed(format)
	return f.registrar
}

// Formats returns the names of the formats that users choose by name. Raw and JQ have
// flags of their own.
func Formats() []string {
	var names []string
	for _, f := range formats {
		if f.name != FormatRaw && f.name != FormatJQ {
			names = append(names, f.name)
		}
	}
	return names
}

// Options configures [NewEncoder]. The zero value is for writing to a file.
type Options struct {
	Text     TextOptions // options of text; Color and Width also apply to tables
	Many     bool        // for JSON: write an array, because several results may follow
	Pretty   bool        // for JSON: whether to indent
	Visible  bool        // for raw: escape control characters, for a terminal
	NoHeader bool        // for CSV and tables: omit the header, to continue an earlier output
	// for tables: types of the queries, which determine the columns; nil means unknown
	Types []client.Type
	// for NDJSON, CSV and tables: names of FieldNames to include; nil means the default fields
	Fields       []string
	Trace        bool     // for NDJSON: add "trace", the timings of the lookup
	InputColumns []string // for CSV: names in Result.Extra that become columns

	JQ     *JQ                               // for jq: the expression
	Failed func(r *client.Result, err error) // for jq: reports an expression that failed on a row; may be nil
}

// A shape describes how a format combines rows into a document.
type shape struct {
	header  string // text at the start, even without rows
	first   string // text before the first row
	between string // text before each further row
	last    string // text at the end, after rows
	none    string // text at the end if there are no rows
	row     func(dst []byte, r *client.Result) []byte
}

// An Encoder writes results in one format. It buffers output. Flush writes the buffer. Close
// ends the document and flushes, but does not close the writer. Errors are those of the writer,
// unwrapped; after an error every call returns the same error. One goroutine at a time may use
// an Encoder, except that Row may be called concurrently.
type Encoder struct {
	w      io.Writer
	shape  shape
	buf    []byte
	begun  bool // the header is written
	rows   bool // at least one row is written
	closed bool
	err    error
}

// blockSize is the size from which an Encoder writes its buffer.
const blockSize = 64 << 10

// NewEncoder returns the Encoder for one of the Format constants. It fails for an
// unknown format or field.
func NewEncoder(format string, w io.Writer, o Options) (*Encoder, error) {
	f, ok := formatNamed(format)
	if !ok {
		return nil, fmt.Errorf("unknown format %q: use one of %s", format, strings.Join(Formats(), ", "))
	}
	made, err := f.shape(o)
	if err != nil {
		return nil, err
	}
	return &Encoder{w: w, shape: made, begun: o.NoHeader}, nil
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

// Row formats r for a later Add and appends it to dst.
func (e *Encoder) Row(dst []byte, r *client.Result) []byte { return e.shape.row(dst, r) }

// Header returns the text before all rows: for CSV, the line with the column names.
func (e *Encoder) Header() string { return e.shape.header }

// Add writes a row that [Encoder.Row] returned.
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

// begin writes the text before a row.
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

// Flush writes the buffer. It writes the header even without rows, so that an empty table has a
// header.
func (e *Encoder) Flush() error {
	e.head()
	if e.err == nil && len(e.buf) > 0 {
		_, e.err = e.w.Write(e.buf)
		e.buf = e.buf[:0]
		if cap(e.buf) > 4*blockSize { // do not retain the memory of a huge response
			e.buf = nil
		}
	}
	return e.err
}

// Close ends the document and flushes. Further calls have no effect.
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

// appendCheck appends the query as written, a tab and the verdict. Depending on the result,
// more cells follow, each after a tab. If the response is about another object, "about " and
// that object follow; for a search, the number of results. The next cell warns if a response
// other than RDAP reports the object as not found. The last cell is "desync" if the server's
// responses did not match their requests.
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
