package rdap

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rdapq/rdapq/internal/safetext"
)

func TestClassify(t *testing.T) {
	tests := []struct{ body, class, message string }{
		{`{"objectClassName":"Domain"}`, "domain", ""},
		{`{"notices":[],"objectClassName":"ip network"}`, "ip network", ""},
		{"\xef\xbb\xbf{\"objectClassName\":\"domain\"}\n\n", "domain", ""},
		{"{\"a\":\"x\ty\",\"objectClassName\":\"domain\"}", "domain", ""},
		{`{"domainSearchResults":[]}`, "domainSearchResults", ""},
		{`{"errorCode":404}`, "error", ""},
		{`{"objectClassName":null,"errorCode":null,"notices":[]}`, "help", ""},
		{`{"rdapConformance":["rdap_level_0"]}`, "help", ""},
		{`{"rdapConformance":[],"startAddress":"192.0.2.0"}`, "ip network", ""},
		{`{"notices":[],"ldhName":"a.example"}`, "domain", ""},
		{`{"ldhName":"a.example","ipAddresses":{}}`, "nameserver", ""},
		{`{}`, "", "an empty object"},
		{`{"message":"hi"}`, "", `an object without objectClassName: {"message":"hi"}`},
		{"", "", "an empty body"},
		{" \r\n", "", "an empty body"},
		{"null", "", "JSON null: null"},
		{"[]", "", "a JSON array: []"},
		{`"ok"`, "", `a JSON string: "ok"`},
		{"42", "", "a JSON number: 42"},
		{"true", "", "JSON true or false: true"},
		{"Not found\n", "", "not JSON: Not found"},
		{"<html>\n <p>moved</p></html>", "", "an HTML page: <html> <p>moved</p></html>"},
		{"<?xml version='1.0'?><error/>", "", "markup: <?xml version='1.0'?><error/>"},
		{`{"objectClassName":"domain","ha`, "", `truncated JSON: it ends at byte 31: {"objectClassName":"domain","ha`},
		{"<\x1b[2J\u202e\u009b" + strings.Repeat("é", 200), "", "an HTML page: <[2J" + strings.Repeat("é", 75) + "…"},
	}
	for _, tt := range tests {
		class, err := Classify([]byte(tt.body))
		if class != tt.class {
			t.Errorf("%.60q: class %q, want %q", tt.body, class, tt.class)
		}
		if tt.message == "" {
			if err != nil {
				t.Errorf("%.60q: %v", tt.body, err)
			}
			continue
		}
		e, ok := errors.AsType[*FormatError](err)
		if !ok || e.Reason != tt.message {
			t.Errorf("%.60q: %v, want %s", tt.body, err, tt.message)
		}
	}
}

func TestCompact(t *testing.T) {
	tests := []struct {
		name, in, want string
		warnings       []string
	}{
		{"white space", " {\n \"b\" : [ 1.0 , 1e2,-0 ] ,\t\"a\":\"x y\" ,\"a\":null}\r\n", `{"b":[1.0,1e2,-0],"a":"x y","a":null}`, nil},
		{"byte-order mark", "\xef\xbb\xbf{}", `{}`, nil},
		{"escapes stay", `{"a":"\u0041\/\u001b\ud83d\ude00é"}`, `{"a":"\u0041\/\u001b\ud83d\ude00é"}`, nil},
		{"half a pair stays", `["\ud800"]`, `["\ud800"]`, nil},
		{"not UTF-8", "[\"a\xff\xfeb\"]", "[\"a\ufffd\ufffdb\"]", []string{"2 bytes that are not UTF-8 became U+FFFD"}},
		{"DEL, C1, direction, line", "[\"a\x7f\u009b\u202e\u2066\u200f\u2028\"]", `["a\u007f\u009b\u202e\u2066\u200f\u2028"]`, nil},
		{"line break in a string", "[\"a\nb\tc\"]", `["a\u000ab\u0009c"]`, []string{"2 control characters that are not allowed in JSON strings became escapes"}},
		{"quotes and backslashes", "[\"\\\\\",\"\\\"\x7f\"]", `["\\","\"\u007f"]`, nil},
		{"more after it", "{}\n<!-- x -->", `{}`, []string{"data after the JSON document was omitted"}},
	}
	for _, tt := range tests {
		got, warnings, err := Compact([]byte("x"), []byte(tt.in))
		if err != nil || string(got) != "x"+tt.want {
			t.Errorf("%s: %s, %v, want x%s", tt.name, got, err, tt.want)
		}
		if d := cmp.Diff(tt.warnings, warnings); d != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", tt.name, d)
		}
	}
	for _, in := range []string{"", "{", "<p>", `{"a":1,}`, "[\"\\\x7f\"]", "[\"\\\xff\"]", strings.Repeat("[", 101) + strings.Repeat("]", 101)} {
		got, warnings, err := Compact([]byte("x"), []byte(in))
		if _, ok := errors.AsType[*FormatError](err); !ok || string(got) != "x" || warnings != nil {
			t.Errorf("%.20q: %s, %q, %v", in, got, warnings, err)
		}
	}
}

// checkCompact checks the invariants that every output row relies on.
func checkCompact(t *testing.T, raw []byte) {
	t.Helper()
	out, warnings, err := Compact(nil, raw)
	if err != nil {
		return
	}
	if !json.Valid(out) {
		t.Fatalf("invalid JSON: %q", out)
	}
	if !utf8.Valid(out) || hasHidden(out) || bytes.ContainsAny(out, "\r\n\t") {
		t.Fatalf("not one printable line: %q", out)
	}
	again, warningsAgain, err := Compact(nil, out)
	if err != nil || !bytes.Equal(again, out) || warningsAgain != nil {
		t.Fatalf("not idempotent: %q, %q, %q, %v", out, again, warningsAgain, err)
	}
	if len(warnings) > 0 || !json.Valid(trimBOM(raw)) {
		return
	}
	var a, b any
	if json.Unmarshal(trimBOM(raw), &a) != nil || json.Unmarshal(out, &b) != nil {
		return // the body has a number that encoding/json finds too large
	}
	if !reflect.DeepEqual(a, b) { // cmp.Diff is too slow for values nested 50 levels deep
		t.Fatalf("changed: %q became %q", raw, out)
	}
}

func FuzzCompact(f *testing.F) {
	seed(f)
	f.Add([]byte("[\"a\x7f\u009b\u202e\",\"\xff\\\"\", 1e999,\"\\\x7f\"]"))
	f.Fuzz(checkCompact)
}

func BenchmarkCompact(b *testing.B) {
	raw := fixture(b, "registrar-redacted")
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		var err error
		if buf, _, err = Compact(buf[:0], raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkClassify(b *testing.B) {
	raw := benchAnswer(b)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Classify(raw); err != nil {
			b.Fatal(err)
		}
	}
}

// Rows and messages escape invisible characters; excerpts omit them.
func TestInvisibleCharacters(t *testing.T) {
	for _, r := range []rune{0x034f, 0x115f, 0x1160, 0x17b4, 0x2065, 0x3164, 0xfe0f, 0xffa0, 0xfff0, 0xfdd0, 0x1d173, 0xe0001} {
		s := "A" + string(r) + "B"
		row, _, err := Compact(nil, []byte(`{"handle":"`+s+`"}`))
		if want := `{"handle":"A` + string(appendEscape(nil, r)) + `B"}`; err != nil || string(row) != want {
			t.Errorf("%U: %s, %v, want %s", r, row, err, want)
		}
		if got := safetext.Visible(s); got == s {
			t.Errorf("%U: %q in a message", r, got)
		}
		if got := excerpt([]byte(s)); got != "AB" {
			t.Errorf("%U: %q in an excerpt", r, got)
		}
	}
	for _, s := range []string{"❤\ufe0f", "葛\U000e0100", "1\ufe0f\u20e3"} {
		row, _, err := Compact(nil, []byte(`{"handle":"`+s+`"}`))
		if want := `{"handle":"` + s + `"}`; err != nil || string(row) != want {
			t.Errorf("%+q: %+q, %v", s, row, err)
		}
		if got := safetext.Visible(s); got != s {
			t.Errorf("%+q: %+q in a message", s, got)
		}
	}
}
