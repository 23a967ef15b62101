package input

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// read returns each record as text, with line, query, extra data and error.
func read(t testing.TB, r io.Reader, o Options) []string {
	t.Helper()
	in, err := Open(r, o)
	if err != nil {
		return []string{"open: " + err.Error()}
	}
	return records(in)
}

func records(in *Reader) []string {
	var got []string
	for rec, err := range in.Records() {
		s := fmt.Sprintf("%d %s", rec.Line, rec.Text)
		if rec.Extra != nil {
			s += " " + string(rec.Extra)
		}
		if err != nil {
			s += " error: " + err.Error()
		}
		got = append(got, s)
	}
	return got
}

func TestReader(t *testing.T) {
	long := strings.Repeat("x", maxLine+1)
	huge := strings.Repeat("y", 3*maxRecord)
	for _, tt := range []struct {
		name  string
		o     Options
		input string
		want  []string
	}{
		{"nothing", Options{}, "", nil},
		{"nothing as CSV", Options{Column: "domain"}, "", nil},
		{"nothing as NDJSON", Options{Format: NDJSON}, "\n\n", nil},
		{"text", Options{}, "\xef\xbb\xbfa.example\r\n\n# no\n  b.example\t", []string{"1 a.example", "4 b.example"}},
		{"text in UTF-16", Options{}, "\xff\xfea\x00.\x00e\x00\r\x00\n\x00\xe9\x00.\x00e\x00", []string{"1 a.e", "2 é.e"}},
		{"text in UTF-16, big end first", Options{}, "\xfe\xff\x00a\x00.\x00e\x00\n", []string{"1 a.e"}},
		{"text in half of UTF-16", Options{}, "\xff\xfea\x00.\x00e", []string{"1 a.\ufffd"}},
		{"requested text", Options{Format: Text, Name: "x.csv"}, "a,b\n", []string{"1 a,b"}},
		{"text: too long", Options{}, "a\n" + long + "\nb\n", []string{"1 a", "2 " + long[:maxShown] + " error: line is longer than 65536 bytes", "3 b"}},
		{"text: far too long", Options{}, huge + "a.example\nb\n", []string{"1 " + huge[:maxShown] + " error: line is longer than 65536 bytes", "2 b"}},
		{"text: a query and much space", Options{}, "a.example" + strings.Repeat(" ", maxLine) + "b\n", []string{"1 a.example error: line is longer than 65536 bytes"}},
		{"text: blank and long", Options{}, strings.Repeat(" ", 3*maxRecord) + "\na\n", []string{"2 a"}},
		{"text: comment and long", Options{}, "#" + huge + "\na\n", []string{"2 a"}},

		{"csv without header", Options{Name: "x.csv"}, "a.example,1\nb.example,2\n", []string{`1 a.example {"column_2":"1"}`, `2 b.example {"column_2":"2"}`}},
		{"csv with header", Options{Name: "x.csv"}, "domain,owner\na.example,Ann\n", []string{`2 a.example {"owner":"Ann"}`}},
		{"csv by its looks", Options{}, "domain,owner\na.example,Ann\n", []string{`2 a.example {"owner":"Ann"}`}},
		{"csv: another column", Options{Column: "Site"}, "id;site;owner\n7;a.example;\"Ann; Bob\"\n", []string{`2 a.example {"id":"7","owner":"Ann; Bob"}`}},
		{"csv: tabs", Options{Name: "x.tsv"}, "Domain Name\tx\na.example\t,\n", []string{`2 a.example {"x":","}`}},
		{"csv: a name in the first line is not a header", Options{Name: "x.csv"}, "name.example,1\n", []string{`1 name.example {"column_2":"1"}`}},
		{"csv: quotes", Options{Name: "x.csv"}, "\"a.example\",\"say \"\"so\"\"\",\"two\r\nlines\"\r\nb.example,,\n", []string{`1 a.example {"column_2":"say \"so\"","column_3":"two\r\nlines"}`, `2 b.example {"column_2":"","column_3":""}`}},
		{"csv: blank rows", Options{Name: "x.csv"}, "\n,,\nname,n\n\na.example,1\n , \nb.example,2", []string{`5 a.example {"n":"1"}`, `7 b.example {"n":"2"}`}},
		{"csv: ragged", Options{Name: "x.csv"}, "name,n\na.example\nb.example,1,2\n,3\n", []string{"2 a.example", `3 b.example {"n":"1","column_3":"2"}`, `4  {"n":"3"}`}},
		{"csv: names twice", Options{Name: "x.csv"}, "name,n,n,\na.example,1,2,3\n", []string{`2 a.example {"n":"1","n_2":"2","column_4":"3"}`}},
		{"csv: one column", Options{Format: CSV}, "a.example\n", []string{"1 a.example"}},
		{"csv: unterminated quote", Options{Name: "x.csv"}, "a.example,1\n\"b.example,2\nc.example,3\n", []string{`1 a.example {"column_2":"1"}`, `2 "b.example,2 error: unterminated quote`, `3 c.example {"column_2":"3"}`}},
		{"csv: quote in a cell", Options{Name: "x.csv"}, "a\"b,1\nc.example,3\n", []string{`1 a"b,1 error: a cell that contains a quote must be quoted: "say ""so"""`, `2 c.example {"column_2":"3"}`}},
		{"csv: text after a quote", Options{Name: "x.csv"}, "\"a\"b,1\nc.example,3\n", []string{`1 "a"b,1 error: unexpected text after the closing quote of column 1`, `2 c.example {"column_2":"3"}`}},
		{"csv: too long", Options{Name: "x.csv"}, "a,\"" + huge + "\"\nb,1\n", []string{`1 a,"` + huge[:maxShown-3] + " error: record is longer than 1048576 bytes", `2 b {"column_2":"1"}`}},
		{"csv: not UTF-8", Options{Name: "x.csv"}, "a.example,caf\xe9\n", []string{`1 a.example {"column_2":"caf` + "\ufffd" + `"}`}},
		{"csv: no such column", Options{Column: "host"}, "id,site\n", []string{`open: the input has no column "host"`}},

		{"ndjson", Options{Name: "x.ndjson"}, `{"domain":"a.example"}` + "\n\n" + `{"id": 7, "query":"b.example", "tags":[1, {"x":"\u00e9"}]}`, []string{"1 a.example", `3 b.example {"id":7,"tags":[1,{"x":"\u00e9"}]}`}},
		{"ndjson by its looks", Options{}, "\n  {\"ip\":\"192.0.2.1\"}\n", []string{"2 192.0.2.1"}},
		{"ndjson: a field", Options{Field: "host"}, `{"query":"x","host":"a.example"}`, []string{`1 a.example {"query":"x"}`}},
		{"ndjson: a number", Options{Field: "asn"}, `{"asn":64500}`, []string{"1 64500"}},
		{"ndjson: no field", Options{Format: NDJSON}, `{"host":"a.example"}`, []string{`1 {"host":"a.example"} error: the object has no member "query", "domain", "name" or "ip"`}},
		{"ndjson: no text", Options{Format: NDJSON}, `{"query":null}` + "\n" + `{"query":["a"]}` + "\n" + `{"query":{}}`, []string{
			`1 {"query":null} error: member "query": expected a string, found null`,
			`2 {"query":["a"]} error: member "query": expected a string, found an array`,
			`3 {"query":{}} error: member "query": expected a string, found an object`,
		}},
		{"ndjson: broken", Options{Format: NDJSON}, `{"query":"a` + "\n" + `"a.example"` + "\n" + `{"query":"a.example"} {}` + "\n" + `{"query":"b.example"}`, []string{
			`1 {"query":"a error: truncated JSON`,
			`2 "a.example" error: not a JSON object`,
			`3 {"query":"a.example"} {} error: extra data after the JSON object`,
			"4 b.example",
		}},
		{"ndjson: too long", Options{Format: NDJSON}, `{"query":"` + huge + `"}` + "\n" + `{"query":"b.example"}`, []string{`1 {"query":"` + huge[:maxShown-10] + " error: record is longer than 1048576 bytes", "2 b.example"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, read(t, strings.NewReader(tt.input), tt.o)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.want, read(t, compressed(t, tt.input), tt.o)); diff != "" {
				t.Error("compressed:", diff)
			}
			if len(tt.input) < 1000 {
				if diff := cmp.Diff(tt.want, read(t, iotest.OneByteReader(strings.NewReader(tt.input)), tt.o)); diff != "" {
					t.Error("byte by byte:", diff)
				}
			}
			n, err := Count(t.Context(), strings.NewReader(tt.input), tt.o)
			if _, refused := errors.AsType[*ColumnError](err); !refused && (err != nil || n != int64(len(tt.want))) {
				t.Errorf("counted %d, %v", n, err)
			}
		})
	}
}

func compressed(t testing.TB, s string) io.Reader {
	t.Helper()
	var b bytes.Buffer
	// The input has two members, like a file that was appended to.
	for _, part := range []string{s[:len(s)/2], s[len(s)/2:]} {
		z := gzip.NewWriter(&b)
		if _, err := io.WriteString(z, part); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return &b
}

// TestColumns checks that Columns returns the header without the queries, with the
// names of Record.Extra.
func TestColumns(t *testing.T) {
	in, err := Open(strings.NewReader("id,domain,id\n"), Options{Column: "domain"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"id", "id_2"}, in.Columns()); diff != "" {
		t.Error(diff)
	}
	in, err = Open(strings.NewReader("a.example\n"), Options{})
	if err != nil || in.Columns() != nil {
		t.Error(in.Columns(), err)
	}
}

// TestTrailing checks that other data after compressed data is ignored and reported, and that
// truncated data is an error.
func TestTrailing(t *testing.T) {
	whole, err := io.ReadAll(compressed(t, "a.example\nb.example\n"))
	if err != nil {
		t.Fatal(err)
	}
	good := []string{"1 a.example", "2 b.example"}
	for name, tt := range map[string]struct {
		behind   string
		trailing bool
		want     []string
	}{
		"nothing":       {"", false, good},
		"zeros":         {strings.Repeat("\x00", 5000), true, good},
		"junk":          {"junk.example\n", true, good},
		"one byte":      {"\x1f", true, good},
		"half a header": {"\x1f\x8b\x08", false, append(slices.Clone(good), "3  error: reading : unexpected EOF")},
		"no method":     {"\x1f\x8b\x09\x00\x00\x00\x00\x00\x00\x00\x00", false, append(slices.Clone(good), "3  error: reading : gzip: invalid header")},
	} {
		for how, r := range map[string]io.Reader{
			"as a whole":   strings.NewReader(string(whole) + tt.behind),
			"byte by byte": iotest.OneByteReader(strings.NewReader(string(whole) + tt.behind)),
		} {
			in, err := Open(r, Options{})
			if err != nil {
				t.Fatal(name, how, err)
			}
			if diff := cmp.Diff(tt.want, records(in)); diff != "" || in.Trailing() != tt.trailing {
				t.Error(name, how, in.Trailing(), diff)
			}
		}
	}
}

// TestBrokenReader checks that complete records before a read error are yielded, and that a
// partial record is not.
func TestBrokenReader(t *testing.T) {
	broken := errors.New("it is broken")
	for _, tt := range []struct {
		o     Options
		input string
	}{
		{Options{Format: Text}, "a.example\nb.exam"},
		{Options{Format: CSV}, "a.example\nb.exam"},
		{Options{Format: NDJSON}, `{"query":"a.example"}` + "\n" + `{"query":"b.exam"}`},
	} {
		got := read(t, io.MultiReader(strings.NewReader(tt.input), iotest.ErrReader(broken)), tt.o)
		if diff := cmp.Diff([]string{"1 a.example", "2  error: reading : it is broken"}, got); diff != "" {
			t.Error(tt.o.Format, diff)
		}
	}
	whole, err := io.ReadAll(compressed(t, strings.Repeat("a.example\n", 10000)))
	if err != nil {
		t.Fatal(err)
	}
	got := read(t, bytes.NewReader(whole[:len(whole)-20]), Options{})
	if last := got[len(got)-1]; !strings.HasSuffix(last, "error: reading : unexpected EOF") {
		t.Error("truncated gzip:", last)
	}
}
