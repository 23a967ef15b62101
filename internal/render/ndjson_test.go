package render

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/pool"
	"github.com/rdapq/rdapq/rdap"
)

func TestRowGolden(t *testing.T) {
	all := fixtures(t)
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []byte
	for i, name := range names {
		all[name].Line = int64(i + 1)
		out = AppendRow(out, all[name])
	}
	golden(t, "rows.ndjson", out)
}

// members returns the names of an object's members in order.
func members(t *testing.T, row []byte) []string {
	t.Helper()
	// an escape may be half of a surrogate pair
	dec := jsontext.NewDecoder(bytes.NewReader(row), jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadToken(); err != nil {
		t.Fatalf("%v in %s", err, row)
	}
	var names []string
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name.String())
		if err := dec.SkipValue(); err != nil {
			t.Fatalf("%v in %s", err, row)
		}
	}
	return names
}

func TestRowOrder(t *testing.T) {
	r := fixtures(t)["domain-thin"]
	r.FinalURL = "https://elsewhere.example/domain/alpha.example"
	r.Warnings = []client.Warning{{Message: "odd"}}
	r.Failure = &client.Error{Code: "timeout", Message: "m", Hint: "h"}
	row := AppendRow(nil, r)
	want := []string{
		"line", "query", "type", "verdict", "status", "server", "source", "url", "final_url",
		"time", "attempts", "ms", "conn", "summary", "rdap", "warnings", "error",
	}
	if got := members(t, row); !slices.Equal(got, want) {
		t.Errorf("members %q, want %q", got, want)
	}
	var parsed map[string]json.RawMessage
	if err := json.Unmarshal(row, &parsed); err != nil {
		t.Fatal(err)
	}
	for member, want := range map[string]string{
		"time":  `"2024-03-01T12:00:00.000Z"`,
		"ms":    `91.3`,
		"conn":  `{"id":1,"reused":true,"protocol":"h2","tls":"1.3","resumed":false,"early_data":false}`,
		"error": `{"code":"timeout","message":"m","hint":"h"}`,
	} {
		if got := string(parsed[member]); got != want {
			t.Errorf("%s is %s, want %s", member, got, want)
		}
	}
	wantSummary := []string{
		"handle", "name", "registrar", "registrar_id", "created", "updated", "expires", "statuses",
		"nameservers", "dnssec", "abuse_email", "abuse_phone",
	}
	if got := members(t, parsed["summary"]); !slices.Equal(got, wantSummary) {
		t.Errorf("members of summary %q, want %q", got, wantSummary)
	}
}

// TestSummaryMatchesJSONTags checks that the hand-written encoding of a summary matches its
// JSON tags.
func TestSummaryMatchesJSONTags(t *testing.T) {
	s := rdap.Summary{
		Handle: "h", Name: "n", UnicodeName: "ü", Registrar: "r", RegistrarID: "1", Created: "c", Updated: "u", Expires: "e",
		Statuses: []string{"a", "b"}, Nameservers: []string{"x"}, DNSSEC: "signed", AbuseEmail: "m", AbusePhone: "p",
		Start: "1", End: "2", CIDRs: []string{"192.0.2.0/24"}, Holder: "o", Country: "NL",
	}
	for _, s := range []rdap.Summary{s, {}} {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendSummary(nil, &s); !bytes.Equal(got, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestRowOfZeroResult(t *testing.T) {
	if got := string(AppendRow(nil, &client.Result{})); got != "{}\n" {
		t.Errorf("got %q", got)
	}
	plain := &client.Result{Verdict: client.VerdictFound, Conn: pool.Trace{ConnID: 3, Protocol: "http/1.1"}}
	if got, want := string(AppendRow(nil, plain)), `{"verdict":"found","conn":{"id":3,"reused":false,"protocol":"http/1.1","resumed":false,"early_data":false}}`+"\n"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRowIncludesObject(t *testing.T) {
	raw := "\xef\xbb\xbf{\n  \"objectClassName\": \"domain\",\n  \"x_unknown\": {\"b\": 1.50, \"a\": 1e400, \"a\": [ ] },\n \"ldhName\": \"\\u0041\\/b\" }\n\n"
	row := AppendRow(nil, &client.Result{Verdict: client.VerdictRegistered, Raw: []byte(raw)})
	want := `"rdap":{"objectClassName":"domain","x_unknown":{"b":1.50,"a":1e400,"a":[]},"ldhName":"\u0041\/b"}`
	if !strings.Contains(string(row), want) {
		t.Errorf("%s\nis not in\n%s", want, row)
	}
}

func TestRowOfHostileBodies(t *testing.T) {
	bodies := map[string]struct {
		raw  string
		rdap bool
	}{
		"html":                  {"<html>\x1b[2J</html>", false},
		"empty":                 {"", false},
		"array":                 {`[{"objectClassName":"domain"}]`, false},
		"string":                {`"domain"`, false},
		"cut off":               {`{"objectClassName":"domain","ldhName":"al`, false},
		"NULs":                  {"\x00\x00\x00", false},
		"deep":                  {`{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, false},
		"line breaks in string": {"{\"objectClassName\":\"domain\",\"ldhName\":\"a\r\nb\tc\"}", true},
		"broken UTF-8":          {"{\"objectClassName\":\"domain\",\"ldhName\":\"\xff\xc3(\xed\xa0\x80\"}", true},
		"lone surrogate":        {`{"objectClassName":"domain","ldhName":"\ud800"}`, true},
		"C1 and bidi":           {"{\"objectClassName\":\"domain\",\"ldhName\":\"\u009b\u202e\u2028\u0085\x7f\",\"\u202e\":1}", true},
		"escapes":               {`{"objectClassName":"domain","ldhName":"\u001b[2J\n"}`, true},
		"two documents":         {`{"objectClassName":"domain"}{"x":1}`, true},
		"white space":           {"{\"objectClassName\":\"domain\"}\r\n\r\n", true},
		"empty object":          {"{}", true},
	}
	for name, tt := range bodies {
		t.Run(name, func(t *testing.T) {
			for _, v := range []client.Verdict{client.VerdictRegistered, client.VerdictFailed} {
				row := AppendRow(nil, &client.Result{Verdict: v, Raw: []byte(tt.raw)})
				checkRow(t, row)
				if got := slices.Contains(members(t, row), "rdap"); got != tt.rdap {
					t.Errorf("rdap present: %v, want %v in %s", got, tt.rdap, row)
				}
			}
		})
	}
}

// checkRow fails unless row is one line of valid and safe JSON.
func checkRow(t *testing.T, row []byte) {
	t.Helper()
	line, ok := bytes.CutSuffix(row, []byte("\n"))
	if !ok || bytes.ContainsAny(line, "\r\n") {
		t.Fatalf("not one line: %q", row)
	}
	if !json.Valid(line) {
		t.Fatalf("not JSON: %q", row)
	}
	checkSafe(t, string(line))
}

func FuzzRow(f *testing.F) {
	for name := range fixtures(f) {
		r := fixtures(f)[name]
		f.Add(r.Raw, r.Query.Text)
	}
	f.Add([]byte("{\"a\":\"\x1b\u202e\xff\\"), "\xff\u202e\x00")
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		r := &client.Result{Verdict: client.VerdictFound, Query: client.Query{Text: text}, Raw: raw, Warnings: []client.Warning{{Message: text}}}
		row := AppendRow(nil, r)
		line := bytes.TrimSuffix(row, []byte("\n"))
		if bytes.ContainsAny(line, "\n\r") || !jsontext.Value(line).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
			t.Fatalf("not a row: %q", row)
		}
		for _, format := range []string{FormatText, FormatCSV, FormatJSON} {
			var out bytes.Buffer
			e, err := NewEncoder(format, &out, Options{Pretty: true, Text: TextOptions{Verbose: true}})
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Encode(r); err != nil {
				t.Fatal(err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			for l := range strings.Lines(out.String()) {
				checkSafe(t, strings.TrimSuffix(l, "\n"))
			}
		}
	})
}

func TestRowHidesKeys(t *testing.T) {
	r := &client.Result{
		Query:    client.Query{Text: "https://user:hunter2@rdap.example/domain/a.example"},
		Server:   "https://user:hunter2@rdap.example/",
		URL:      "https://user:hunter2@rdap.example/domain/a@b.example?api_key=hunter2&count=true#x",
		FinalURL: "https://rdap.example/domain/a@b.example?token=hunter2",
	}
	row := string(AppendRow(nil, r))
	text := string(AppendText(nil, r, TextOptions{Verbose: true}))
	if strings.Contains(row, "hunter2") || strings.Contains(text, "hunter2") {
		t.Errorf("a key is shown:\n%s%s", row, text)
	}
	want := `"url":"https://rdap.example/domain/a@b.example?api_key=REDACTED&count=true#x"`
	if !strings.Contains(row, want) {
		t.Errorf("%s\nis not in\n%s", want, row)
	}
}

// fourKB returns a response of typical size.
func fourKB(b *testing.B) *client.Result {
	r := fixtures(b)["domain-thin"]
	var whole map[string]any
	if err := json.Unmarshal(r.Raw, &whole); err != nil {
		b.Fatal(err)
	}
	for i := 0; ; i++ {
		raw, err := json.MarshalIndent(whole, "", " ")
		if err != nil {
			b.Fatal(err)
		}
		if r.Raw = raw; len(raw) >= 4<<10 {
			return r
		}
		whole[fmt.Sprintf("x_extension_%d", i)] = "some text that a registry has to say"
	}
}

func BenchmarkAppendRow(b *testing.B) {
	r := fourKB(b)
	r.Conn = pool.Trace{ConnID: 1, Protocol: "h2", TLS: tls.VersionTLS13}
	b.SetBytes(int64(len(r.Raw)))
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		buf = AppendRow(buf[:0], r)
	}
}

func BenchmarkCSVRow(b *testing.B) {
	r := fourKB(b)
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		buf = appendCSV(buf[:0], r)
	}
}

func BenchmarkTally(b *testing.B) {
	r := fixtures(b)["domain-thin"]
	var t Tally
	b.ReportAllocs()
	for b.Loop() {
		r.Elapsed += time.Microsecond
		t.Add(r)
	}
}

// TestSharedResponse checks that every format that shows the source of a response reports
// sharing with another line.
func TestSharedResponse(t *testing.T) {
	r := &client.Result{
		Line: 7, Query: client.Query{Text: "a.example", Type: client.TypeDomain}, Verdict: client.VerdictNotFound,
		Status: 404, Server: "https://rdap.example/", URL: "https://rdap.example/domain/a.example",
		Refusal: &client.Error{Code: client.CodeNotFound, Message: "not found"}, Shared: true, SharedLine: 3,
	}
	if row := string(AppendRow(nil, r)); !strings.HasSuffix(row, `,"shared":3}`+"\n") {
		t.Errorf("row: %s", row)
	}
	for _, format := range []string{FormatCSV, FormatTable, FormatNDJSON} {
		var b bytes.Buffer
		e, err := NewEncoder(format, &b, Options{Fields: []string{"line", "shared"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(e.Encode(r), e.Close()); err != nil || !strings.Contains(b.String(), "3") {
			t.Errorf("%s: %q, %v", format, b.String(), err)
		}
	}
	shown := connection(r)
	if len(shown) == 0 || shown[len(shown)-1].text != "shared with line 3" {
		t.Errorf("text: %v", shown)
	}
}
