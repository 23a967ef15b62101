package render

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
)

// ran encodes a result with an expression.
func ran(t *testing.T, expression string, r *client.Result) (out string, failed []string) {
	t.Helper()
	q, err := CompileJQ(expression)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	e, err := NewEncoder(FormatJQ, &b, Options{JQ: q, Failed: func(_ *client.Result, err error) { failed = append(failed, err.Error()) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Encode(r); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), failed
}

func TestJQ(t *testing.T) {
	r := answered(t, "alpha.example", client.TypeDomain, "")
	r.Raw = []byte(`{"objectClassName":"domain","ldhName":"ALPHA.example","big":9007199254740993,"huge":123456789012345678901234567890,"exp":1e3,"neg":-0.5,"s":"a\u0000\u001b[2J\nb\tc\u202e\ud83d\ude00"}`)
	for _, tt := range []struct{ expression, want, failure string }{
		{".query, .status", "alpha.example\n200\n", ""},
		{".rdap.big, .rdap.huge", "9007199254740993\n123456789012345678901234567890\n", ""},
		{".rdap.big * 2 - 1", "18014398509481985\n", ""},
		{".rdap | [.big, .huge, .neg]", "[9007199254740993,123456789012345678901234567890,-0.5]\n", ""},
		{".rdap.s", "a\\x00\\x1b[2J\\x0ab\tc\\u202e😀\n", ""},
		{".rdap | {s}", `{"s":"a\u0000\u001b[2J\nb\tc\u202e😀"}` + "\n", ""},
		{`[.query, .rdap.s] | @tsv`, "alpha.example\ta\\0\\x1b[2J\\nb\\tc\\u202e😀\n", ""},
		{"empty", "", ""},
		{`""`, "\n", ""},
		{".none", "null\n", ""},
		{"1, error(\"no\\u001b\"), 2", "1\n", "error: no\x1b"},
		{".query.x", "", "expected an object but got: string"},
		{"1, halt, 2", "1\n", ""},
		{"[limit(3; repeat(1))]", "[1,1,1]\n", ""},
		{"$ENV | length", "0\n", ""},
		{"env.PATH", "null\n", ""},
		{"now | type", "number\n", ""},
		{"infinite, nan", "1.7976931348623157e+308\nnull\n", ""},
	} {
		got, failed := ran(t, tt.expression, r)
		if got != tt.want || (tt.failure == "") != (len(failed) == 0) || len(failed) > 1 || !strings.Contains(strings.Join(failed, ""), tt.failure) {
			t.Errorf("%s: %q, failures %q; want %q, %q", tt.expression, got, failed, tt.want, tt.failure)
		}
	}
	for _, bad := range []string{"", ".[", "nosuch", "input", "inputs", "$x", "include \"x\"; .", "import \"x\" as x; .", "\x1b"} {
		q, err := CompileJQ(bad)
		if bad == "" { // an empty expression means "."
			continue
		}
		if err == nil || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%q: %v, %v", bad, q, err)
		}
	}
	if _, err := NewEncoder(FormatJQ, new(bytes.Buffer), Options{}); err == nil {
		t.Error("no expression")
	}
	if _, err := NewEncoder(FormatJQ, new(bytes.Buffer), Options{Fields: []string{"nosuch"}}); err == nil {
		t.Error("no such field")
	}
}

// TestJQIsBounded checks the limits for expressions that never end.
func TestJQIsBounded(t *testing.T) {
	for expression, want := range map[string]string{
		"def f: f; f":     "no result within 100 ms",
		"last(repeat(1))": "no result within 100 ms",
		"repeat(1)":       "more than 1,000 bytes from one row",
	} {
		q, err := CompileJQ(expression)
		if err != nil {
			t.Fatal(err)
		}
		q.time, q.size = 100*time.Millisecond, 1000
		if want[0] == 'm' {
			q.time = time.Minute
		}
		out, err := q.appendValues(nil, []byte("{}"))
		if err == nil || err.Error() != want || len(out) > 1010 {
			t.Errorf("%s: %d bytes, %v; want %s", expression, len(out), err, want)
		}
	}
}

// TestJQIsShared uses one expression for concurrent rows.
func TestJQIsShared(t *testing.T) {
	q, err := CompileJQ(`[.line, (.query | ascii_upcase)] | @csv`)
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEncoder(FormatJQ, new(bytes.Buffer), Options{JQ: q})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			r := client.Result{Line: 7, Query: client.Query{Text: "a.example"}}
			for range 100 {
				if got := string(e.Row(nil, &r)); got != "7,\"A.EXAMPLE\"\n" {
					t.Errorf("%q", got)
					return
				}
			}
		})
	}
	wait.Wait()
}

func TestRaw(t *testing.T) {
	const body = "{\"a\":\r\n\t1}\x1b\xff\r"
	for _, tt := range []struct {
		name string
		o    Options
		raw  []string
		want string
	}{
		{"one", Options{}, []string{body}, body},
		{"two", Options{Many: true}, []string{body, "x\n", "", "y"}, body + "\nx\ny\n"},
		{"none", Options{}, []string{""}, ""},
		{"visible", Options{Visible: true}, []string{body}, "{\"a\":\n\t1}\\x1b\\xff\n"},
		{"visible, many", Options{Visible: true, Many: true}, []string{"a\rb\n", "c"}, "a\\x0db\nc\n"},
	} {
		var b bytes.Buffer
		e, err := NewEncoder(FormatRaw, &b, tt.o)
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range tt.raw {
			if err := e.Encode(&client.Result{Raw: []byte(raw)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Close(); err != nil || b.String() != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.name, b.String(), err, tt.want)
		}
	}
	// The result has all pages of a search, on separate lines.
	r := &client.Result{Raw: []byte("{1}"), Paging: &client.Paging{Pages: []client.Page{{Raw: []byte("{2}\n")}, {Raw: []byte("{3}")}}}}
	var b bytes.Buffer
	e, err := NewEncoder(FormatRaw, &b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Encode(r); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil || b.String() != "{1}\n{2}\n{3}" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
