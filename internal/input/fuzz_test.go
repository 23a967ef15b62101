package input

import (
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// check reads the input as a whole and byte by byte. Both must yield the same records, with
// ascending numbers. Extra data must be valid JSON on one line.
func check(t *testing.T, input string, o Options) {
	got := read(t, strings.NewReader(input), o)
	if diff := cmp.Diff(got, read(t, iotest.OneByteReader(strings.NewReader(input)), o)); diff != "" {
		t.Error("byte by byte:", diff)
	}
	in, err := Open(strings.NewReader(input), o)
	if err != nil {
		return
	}
	line := int64(0)
	for rec, err := range in.Records() {
		if rec.Line <= line {
			t.Errorf("line %d after line %d", rec.Line, line)
		}
		line = rec.Line
		if rec.Extra != nil && (!json.Valid(rec.Extra) || rec.Extra[0] != '{' || strings.ContainsAny(string(rec.Extra), "\r\n")) {
			t.Errorf("line %d: %q", line, rec.Extra)
		}
		if _, bad := err.(*RecordError); err != nil && !bad {
			t.Errorf("line %d: %v", line, err)
		}
	}
	if lines := int64(strings.Count(input, "\n")) + 1; line > lines {
		t.Errorf("record %d of %d lines", line, lines)
	}
}

func FuzzText(f *testing.F) {
	f.Add("a.example\r\n# no\n\n b.example")
	f.Fuzz(func(t *testing.T, s string) { check(t, s, Options{Format: Text}) })
}

func FuzzNDJSON(f *testing.F) {
	f.Add(`{"query":"a","x":[1,{}]}` + "\n{")
	f.Fuzz(func(t *testing.T, s string) { check(t, s, Options{Format: NDJSON}) })
}

func FuzzAuto(f *testing.F) {
	f.Add("domain;n\na.example;1\n", "")
	f.Add("\x1f\x8b\x08", "x")
	f.Fuzz(func(t *testing.T, s, column string) {
		if len(s) > 1 && s[0] == 0x1f {
			read(t, strings.NewReader(s), Options{}) // errors may depend on the block size
			return
		}
		check(t, s, Options{Column: column})
	})
}

func FuzzCSV(f *testing.F) {
	f.Add("a,\"b \"\"c\"\"\n\"\r\nd,e\n")
	f.Add("a\"b,c\n\"d\n")
	f.Fuzz(func(t *testing.T, s string) {
		check(t, s, Options{Format: CSV})
		var cells []string
		rest := []byte(s)
		r := csv.NewReader(strings.NewReader(s))
		r.FieldsPerRecord = -1
		for len(rest) > 0 {
			var n int
			var err error
			cells, n, err = parseRecord(cells[:0], rest, ',', true)
			if err == nil && len(cells) == 1 && cells[0] == "" && rest[0] != '"' {
				rest = rest[n:] // encoding/csv skips blank lines
				continue
			}
			want, wantErr := r.Read()
			if (err != nil) != (wantErr != nil) {
				t.Fatalf("%q: %v, encoding/csv says %v", rest, err, wantErr)
			}
			if err != nil {
				return // the two readers continue at different offsets
			}
			for i := range cells { // encoding/csv drops the CR of line ends within quotes
				cells[i] = strings.ReplaceAll(cells[i], "\r\n", "\n")
			}
			if diff := cmp.Diff(want, cells); diff != "" {
				t.Fatalf("%q: %s", rest, diff)
			}
			rest = rest[n:]
		}
	})
}
