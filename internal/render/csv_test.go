package render

import (
	"bytes"
	"encoding/csv"
	"slices"
	"testing"

	"github.com/rdapq/rdapq/client"
)

func TestCSVGolden(t *testing.T) {
	all := fixtures(t)
	var out bytes.Buffer
	e, err := NewEncoder(FormatCSV, &out, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"domain-thin", "domain-thick", "network-v4", "autnum-block", "not-found", "no-service", "invalid"} {
		if err := e.Encode(all[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	golden(t, "rows.csv", out.Bytes())
}

func TestCSVHeader(t *testing.T) {
	want := []string{
		"line", "query", "type", "verdict", "status", "server", "handle", "name", "unicode_name",
		"registrar", "registrar_id", "created", "updated", "expires", "statuses", "nameservers", "dnssec",
		"abuse_email", "abuse_phone", "start", "end", "cidrs", "holder", "country", "ms", "error", "results", "total",
	}
	for _, noHeader := range []bool{false, true} {
		var out bytes.Buffer
		e, err := NewEncoder(FormatCSV, &out, Options{NoHeader: noHeader})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second Close must write nothing
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := csv.NewReader(&out).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if noHeader {
			if len(rows) != 0 {
				t.Errorf("a header where none was wanted: %q", rows)
			}
			continue
		}
		if len(rows) != 1 || !slices.Equal(rows[0], want) {
			t.Errorf("got %q", rows)
		}
	}
}

func TestCell(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "Example, Inc.", "Example, Inc."},
		{"formula", `=HYPERLINK("https://x")`, `'=HYPERLINK("https://x")`},
		{"command", "@SUM(A1)", "'@SUM(A1)"},
		{"plus", "+1+1", "'+1+1"},
		{"phone", "+1.5555551212", "'+1.5555551212"},
		{"minus", "-1+1", "'-1+1"},
		{"negative number", "-12.5", "-12.5"},
		{"not a number", "-inf", "'-inf"},
		{"dash", "-", "'-"},
		{"full width", "＝1+1", "'＝1+1"},
		{"behind a tab", "\t=1+1", "'=1+1"},
		{"behind a line break", "\r\n=1+1", "'=1+1"},
		{"date", "2024-03-01", "2024-03-01"},
		{"line breaks", "a\r\nb\n\nc\td", "a b c d"},
		{"odd line breaks", "a\u2028b\u0085c\vd", "a b c d"},
		{"at both ends", "\na\n", "a"},
		{"control", "a\x1b[2Jb", `a\x1b[2Jb`},
		{"empty", "", ""},
		{"inside", "a=1", "a=1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := cell(tt.in); got != tt.want {
				t.Errorf("cell(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestErrorText(t *testing.T) {
	for want, e := range map[string]*client.Error{"": nil, "timeout": {Code: "timeout"}, "no answer": {Code: "timeout", Message: "no answer"}} {
		if got := errorText(e); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
