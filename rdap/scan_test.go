package rdap

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rdapq/rdapq/rdap/internal/jsonscan"
)

// checkScan compares the scan of raw with the result of jsontext.
func checkScan(t *testing.T, raw []byte) {
	t.Helper()
	s := scanOf(raw)
	valid := isValid(raw) && jsontext.Value(raw).Kind() == jsontext.KindBeginObject && !jsonscan.TooDeep(raw)
	if s.isValid != valid {
		t.Fatalf("valid: %v, by jsontext %v: %q", s.isValid, valid, raw)
	}
	if !valid {
		return
	}
	minified, err := jsontext.AppendFormat(nil, raw, lenient, jsontext.PreserveRawStrings(true))
	if !s.plain {
		minified, err = appendMinified(nil, raw), nil // jsontext replaces bytes that are not UTF-8
	}
	if trimmed := bytes.TrimSpace(raw); err != nil || s.minified != (len(minified) == len(trimmed)) {
		t.Fatalf("minified: %v, %q, by jsontext %q, %v", s.minified, raw, minified, err)
	}
	if s.plain == hasHidden(raw) {
		t.Fatalf("plain: %v: %q", s.plain, raw)
	}
}

// scanTexts returns edge cases of the JSON grammar.
func scanTexts() []string {
	var out []string
	values := []string{
		"", "0", "-0", "00", "01", "-", "+1", "1.", ".5", "1.5", "1.5e", "1e5", "1E+5", "1e-05", "1e+", "-1.0E1x", "1 2", "0x1",
		"true", "false", "null", "tru", "truex", "True", "nul", "fals", "t", "nulll",
		`""`, `"`, `"a`, `"\"`, `"\\"`, `"\\\"`, `"\\\""`, `"\u"`, `"\u12"`, `"\u12G4"`, `"\uG123"`, `"\u1G23"`, `"\u123G"`, `"\u12/4"`, `"\u12@4"`, `"\u12aF"`, `"\ud800"`, `"\udc00\ud800"`, `"\U0041"`,
		`"\x41"`, `"\b\f\n\r\t\/"`, `"\a"`, "\"a\nb\"", "\"\x00\"", "\"\x1f\"", "\"\x7f\"", "\"\x80\xff\"", "\"\xed\xa0\x80\"", "\"\u202e\"", "'a'",
		"[]", "[ ]", "[,]", "[1,]", "[1 2]", "[1,2]", "[1 , 2]", "[1}", "[", "[1", "[[[]]]", "[[[]]", "[]]",
		"{}", "{ }", "{,}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1 "b":2}`, `{a:1}`, `{1:2}`, `{"a":1]`, `{"a" : 1 , "a":2}`, "{null:1}",
		strings.Repeat("[", 99) + strings.Repeat("]", 99), strings.Repeat("[", 100) + strings.Repeat("]", 100),
		strings.Repeat(`{"a":`, 99) + "1" + strings.Repeat("}", 99), strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100),
		"\v", "\f1", "\u00a01", "1\x00", "/**/1",
	}
	for _, v := range values {
		out = append(out, v, `{"a":`+v+`}`, `{"a":[`+v+`,1]}`, ` {"a" :[1, `+v+"]}\r\n")
	}
	// Put the end of each string at each offset within eight bytes.
	for n := range 20 {
		pad := strings.Repeat("x", n)
		for _, end := range []string{`"`, `\"`, `\\"`, `\n"`, `\u00e9"`, `\q"`, "\n\"", "é\"", "\x7f\"", "\xff\"", "", `\`, `\u00`} {
			out = append(out, `{"a":"`+pad+end+`}`, `{"a":"`+pad+end+`,"`+pad+end+`:0}`, `{"a":"`+pad+end)
		}
	}
	return append(out, " ", "\xef\xbb\xbf{}", "{} {}", "{}x", "{}\n\n", "{}\x00", "\x00{}")
}

func TestScan(t *testing.T) {
	for _, text := range scanTexts() {
		checkScan(t, []byte(text))
	}
}

func FuzzScan(f *testing.F) {
	seed(f)
	for _, text := range scanTexts() {
		f.Add([]byte(text))
	}
	f.Fuzz(checkScan)
}
