package render

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/weburl"
)

// csvHeader names the columns: first those of a row, then those of a [rdap.Summary], the
// duration, and the error. For searches, the number of results and the server's total follow.
var csvHeader = func() []string {
	names := []string{"line", "query", "type", "verdict", "status", "server"}
	for _, f := range summaryFields {
		names = append(names, f.Name)
	}
	return append(names, "ms", "error", "results", "total")
}()

// csvShape returns the shape of CSV output: lines of RFC 4180 that end with LF. The error
// column also reports a response about another object. Lists within a cell are joined with ";
// ". Cells are [Safe] and have spaces instead of line breaks and tabs. Cells that a spreadsheet
// would evaluate as a formula start with an apostrophe; see [defuse]. The columns of the input
// come last, with inputPrefix before their names.
func csvShape(o Options) (shape, error) {
	names := csvHeader
	row := appendCSV
	if o.Fields != nil {
		fields, err := lookUp(o.Fields)
		if err != nil {
			return shape{}, err
		}
		names = o.Fields
		row = func(dst []byte, r *client.Result) []byte {
			v := view{r: r}
			for _, f := range fields {
				dst = appendCell(dst, f.value(&v).text())
			}
			return dst
		}
	}
	var header []byte
	for _, name := range names {
		header = appendCell(header, name)
	}
	if o.Fields != nil {
		return csvRows(header, row), nil
	}
	for _, name := range o.InputColumns {
		header = appendCell(header, inputColumn(name))
	}
	if o.InputColumns == nil {
		return csvRows(header, row), nil
	}
	return csvRows(header, func(dst []byte, r *client.Result) []byte {
		dst = row(dst, r)
		cells := inputCells(r.Extra, o.InputColumns)
		for _, c := range cells {
			dst = appendCell(dst, cell(c))
		}
		return dst
	}), nil
}

// csvRows returns the shape for rows in which a comma ends each cell.
func csvRows(header []byte, row func(dst []byte, r *client.Result) []byte) shape {
	endLine := func(dst []byte) []byte {
		dst[len(dst)-1] = '\n'
		return dst
	}
	return shape{header: string(endLine(header)), row: func(dst []byte, r *client.Result) []byte { return endLine(row(dst, r)) }}
}

// appendCSV appends the cells of csvHeader.
func appendCSV(dst []byte, r *client.Result) []byte {
	s := r.Summary()
	var results, total string
	if p := r.Paging; p != nil {
		results, total = strconv.Itoa(p.Results), number(int64(p.Total))
	}
	cells := func(texts ...string) {
		for _, c := range texts {
			dst = appendCell(dst, c)
		}
	}
	cells(number(r.Line), cell(ShownQuery(r.Query.Text)), cell(string(r.Query.Type)), cell(string(r.Verdict)),
		number(int64(r.Status)), cell(weburl.Redact(r.Server)))
	for i := range summaryFields {
		if f := &summaryFields[i]; f.Text != nil {
			cells(cell(*f.Text(&s)))
		} else {
			cells(cell(join(*f.List(&s))))
		}
	}
	cells(millis(r), cell(firstOf(errorText(ErrorOf(r)), otherObjectNote(r), desyncNote(r))), results, total)
	return dst
}

// appendCell appends a cell and a comma. It quotes cells where CSV requires quotes. It also
// quotes cells that readers may misinterpret, because they begin with a space or equal the end
// mark of some databases.
func appendCell(dst []byte, c string) []byte {
	quoted := c == `\.` || strings.ContainsAny(c, ",\"\r\n")
	if first, _ := utf8.DecodeRuneInString(c); !quoted && !unicode.IsSpace(first) {
		return append(append(dst, c...), ',')
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(c, `"`, `""`)...)
	return append(dst, '"', ',')
}

func join(list []string) string { return strings.Join(list, "; ") }

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func millis(r *client.Result) string {
	if r.Elapsed <= 0 {
		return ""
	}
	return string(appendMillis(nil, r.Elapsed))
}

func errorText(e *client.Error) string {
	switch {
	case e == nil:
		return ""
	case e.Message == "":
		return string(e.Code)
	}
	return e.Message
}

// cell makes untrusted text safe for a table.
func cell(s string) string { return defuse(Safe(flat(s))) }

// flat puts s on one line: each run of white space that contains a line break or tab
// becomes one space.
func flat(s string) string {
	if strings.IndexFunc(s, isBreak) < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for s != "" {
		i := strings.IndexFunc(s, isBreak)
		if i < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(strings.TrimRightFunc(s[:i], unicode.IsSpace))
		s = strings.TrimLeftFunc(s[i:], unicode.IsSpace)
		if b.Len() > 0 && s != "" {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func isBreak(r rune) bool {
	return '\t' <= r && r <= '\r' || r == 0x85 || r == 0x2028 || r == 0x2029
}

// defuse puts an apostrophe before a cell that starts like a formula: with "=", "+", "-" or
// "@", also in full width. Telephone numbers ("+1.555") get an apostrophe, because spreadsheets
// would evaluate them. Plain negative numbers get none.
func defuse(s string) string {
	if s == "" {
		return s
	}
	switch s[0] {
	case '=', '+', '@':
		return "'" + s
	case '-':
		if _, err := strconv.ParseFloat(s, 64); err == nil && strings.Trim(s, "-.0123456789") == "" {
			return s
		}
		return "'" + s
	case 0xef:
		for _, sign := range [...]string{"＝", "＋", "－", "＠"} {
			if strings.HasPrefix(s, sign) {
				return "'" + s
			}
		}
	}
	return s
}
