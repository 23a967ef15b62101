package input

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// A Format is the format of an input.
type Format string

// Formats of an input.
const (
	Auto   Format = ""
	Text   Format = "text"   // one query per line; blank lines and lines that start with # are skipped
	CSV    Format = "csv"    // records of RFC 4180, with comma, semicolon or tab
	NDJSON Format = "ndjson" // one JSON object per line
)

// DefaultFields lists the members that may contain the query of an NDJSON record; the first
// member present counts.
var DefaultFields = []string{"query", "domain", "name", "ip"}

var formatOfSuffix = map[string]Format{
	".csv": CSV, ".tsv": CSV, ".tab": CSV,
	".ndjson": NDJSON, ".jsonl": NDJSON, ".json": NDJSON,
	".txt": Text, ".list": Text, ".lst": Text,
}

// detect determines the format from the options, else from the name of the file, else from its
// first line that is not blank.
func detect(o Options, first []byte) Format {
	switch {
	case o.Column != "":
		return CSV
	case o.Field != "":
		return NDJSON
	}
	name := strings.TrimSuffix(strings.ToLower(o.Name), ".gz")
	if f, ok := formatOfSuffix[filepath.Ext(name)]; ok {
		return f
	}
	first = bytes.TrimSpace(first)
	switch {
	case len(first) == 0 || first[0] == '#':
		return Text
	case first[0] == '{':
		return NDJSON
	case bytes.ContainsAny(first, ",;\t"): // queries contain no such characters
		return CSV
	}
	return Text
}

// sniffDelimiter returns the most frequent delimiter outside quotes or, with a column, the
// first delimiter that yields that column.
func sniffDelimiter(o Options, first []byte) byte {
	if name := strings.TrimSuffix(strings.ToLower(o.Name), ".gz"); strings.HasSuffix(name, ".tsv") || strings.HasSuffix(name, ".tab") {
		return '\t'
	}
	best, most := byte(','), 0
	for _, d := range []byte{',', ';', '\t'} {
		cells, _, err := parseRecord(nil, first, d, true)
		if o.Column != "" && err == nil && findColumn(cells, o.Column) >= 0 {
			return d
		}
		n, quoted := 0, false
		for _, c := range first {
			switch {
			case c == '"':
				quoted = !quoted
			case c == d && !quoted:
				n++
			}
		}
		if n > most {
			best, most = d, n
		}
	}
	return best
}

// headerWords lists words that occur in the names of columns with queries.
var headerWords = []string{
	"query", "queries", "domain", "domains", "name", "names", "host", "hosts", "hostname", "fqdn", "label",
	"ip", "address", "addresses", "prefix", "network", "cidr", "asn", "as", "autnum", "handle", "entity",
	"nameserver", "ns", "id", "url", "object", "target",
}

// isHeader reports whether the first cell of a table is the name of a column. Such a name
// contains one of headerWords and no character that occurs only in queries. A query mistaken
// for a header would be lost.
func isHeader(cell string) bool {
	if strings.ContainsAny(cell, ".:/") {
		return false
	}
	words := strings.FieldsFunc(strings.ToLower(cell), func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(headerWords, w) })
}

// findColumn returns the index of the column with exactly that name, else of a column whose
// name differs only in case and space, else -1.
func findColumn(header []string, name string) int {
	if i := slices.Index(header, name); i >= 0 {
		return i
	}
	return slices.IndexFunc(header, func(h string) bool {
		return strings.EqualFold(strings.TrimSpace(h), strings.TrimSpace(name))
	})
}

// A ColumnError reports that the header of a CSV input lacks the requested column.
type ColumnError struct {
	Column string
	Header []string // names of the existing columns
}

func (e *ColumnError) Error() string {
	return fmt.Sprintf("the input has no column %q", e.Column)
}
