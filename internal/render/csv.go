package render

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/rdapq/rdapq/client"
)

// csvHeader names the columns: those of a row, then those of a
// [client.Summary], then the time taken and the error.
var csvHeader = [...]string{
	"line", "query", "type", "verdict", "status", "server",
	"handle", "name", "unicode_name", "registrar", "registrar_id",
	"created", "updated", "expires", "statuses", "nameservers", "dnssec",
	"abuse_email", "abuse_phone", "start", "end", "cidrs", "holder", "country",
	"ms", "error",
}

// csvEncoder writes RFC 4180 lines, ended by LF. Lists in a cell are joined
// with "; ". Cells are [Safe], with spaces for line breaks and tabs, and those
// that a spreadsheet would run as a formula begin with an apostrophe: see
// [defuse].
type csvEncoder struct {
	w     *csv.Writer
	cells []string
	begun bool
}

func newCSVEncoder(w io.Writer) *csvEncoder {
	return &csvEncoder{w: csv.NewWriter(w), cells: make([]string, 0, len(csvHeader))}
}

func (e *csvEncoder) Encode(r *client.Result) error {
	if err := e.header(); err != nil {
		return err
	}
	s := r.Summary()
	e.cells = append(e.cells[:0],
		number(r.Line), cell(shownQuery(r.Query.Text)), cell(string(r.Query.Type)), cell(string(r.Verdict)),
		number(int64(r.Status)), cell(redactURL(r.Server)),
		cell(s.Handle), cell(s.Name), cell(s.UnicodeName), cell(s.Registrar), cell(s.RegistrarID),
		cell(s.Created), cell(s.Updated), cell(s.Expires), cell(join(s.Statuses)), cell(join(s.Nameservers)), cell(s.DNSSEC),
		cell(s.AbuseEmail), cell(s.AbusePhone), cell(s.Start), cell(s.End), cell(join(s.CIDRs)), cell(s.Holder), cell(s.Country),
		millis(r), cell(errorText(r.Err)),
	)
	return e.w.Write(e.cells)
}

// Flush writes the header too, so that a table without rows says what it is.
func (e *csvEncoder) Flush() error {
	if err := e.header(); err != nil {
		return err
	}
	e.w.Flush()
	return e.w.Error()
}

func (e *csvEncoder) Close() error { return e.Flush() }

func (e *csvEncoder) header() error {
	if e.begun {
		return nil
	}
	e.begun = true
	return e.w.Write(csvHeader[:])
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
		return e.Code
	}
	return e.Message
}

// cell makes text from outside fit for a table.
func cell(s string) string { return defuse(Safe(flat(s))) }

// flat puts s on one line: each run of white space with a line break or tab in
// it becomes one space.
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

// defuse puts an apostrophe before a cell that begins as a formula does: with
// "=", "+", "-" or "@", also in full width. That goes for telephone numbers
// ("+1.555"), which spreadsheets would add up; plain negative numbers stay.
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
