package render

import (
	"fmt"
	"io"

	"github.com/rdapq/rdapq/client"
)

// An Encoder writes results in one format. It gathers what it writes: call
// Flush when the reader should see it, and Close at the end, which ends the
// document and flushes; the writer itself stays open. Errors are those of the
// writer, unwrapped; after one, every call returns it again. An Encoder serves
// one goroutine at a time.
type Encoder interface {
	Encode(r *client.Result) error
	Flush() error
	Close() error
}

// Formats of [NewEncoder].
const (
	FormatText   = "text"   // for people
	FormatJSON   = "json"   // the server's object; a list of them for many queries
	FormatNDJSON = "ndjson" // one row a line: see [AppendRow]
	FormatCSV    = "csv"    // a header and one line a result
)

// Options of [NewEncoder]. The zero value suits a file.
type Options struct {
	Text     TextOptions
	Many     bool // JSON: more than one result may come, so write a list
	Pretty   bool // JSON: indent
	NoHeader bool // CSV: the rows continue a table that has its header
}

// NewEncoder returns the Encoder for one of the Format constants. The error
// names an unknown format.
func NewEncoder(format string, w io.Writer, o Options) (Encoder, error) {
	switch format {
	case FormatText:
		return newTextEncoder(w, o.Text), nil
	case FormatJSON:
		return &jsonEncoder{w: w, many: o.Many, pretty: o.Pretty}, nil
	case FormatNDJSON:
		return &ndjsonEncoder{w: w}, nil
	case FormatCSV:
		e := newCSVEncoder(w)
		e.begun = o.NoHeader
		return e, nil
	}
	return nil, fmt.Errorf("unknown format %q: use %s, %s, %s or %s", format, FormatText, FormatJSON, FormatNDJSON, FormatCSV)
}
