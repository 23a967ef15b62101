package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/client"
)

// hostile has texts that must not affect a terminal, a line or a spreadsheet.
var hostile = map[string]string{
	"clear screen":  "\x1b[2J",
	"title":         "\x1b]0;owned\x07",
	"C1":            "\u009b31m",
	"raw C1":        "\x9b31m",
	"line":          "\r\nINJECTED: registered\r\n",
	"overwrite":     "\rINJECTED",
	"bidi":          "\u202egnp.\u202c\u2066\u2069\u200e\u200f\u061c",
	"DEL and NUL":   "\x7f\x00\x08\x08\x08",
	"separators":    "\u2028INJECTED\u2029\u0085",
	"zero width":    "\u200b\u200c\u200d\u2060\ufeff",
	"tags":          "\U000e0041\U000e007f",
	"blank letters": "\u115f\u1160\u3164\uffa0\u17b4\u034f",
	"unassigned":    "\u2065\ufff0\U000e0fff\ufdd0",
	"selectors":     "\ufe0f\U000e0100\u180b",
	"broken UTF-8":  "\xff\xc3(\xf0\x9f",
	"quotes":        "\"},\n{\"x\":\"",
	"two in one":    "\x1b\u202e\xff",
	"csv":           "\",\n\"=1+1",
	"beside a word": "a\x1b b\u202e c",
}

// poison returns r with bad added to each of its strings, including those of the body.
func poison(t *testing.T, r *client.Result, bad string, raw bool) *client.Result {
	t.Helper()
	out := *r
	poisonStrings(reflect.ValueOf(&out).Elem(), bad)
	out.Verdict = r.Verdict // this text is generated, and determines the layout
	out.Query.Type = r.Query.Type
	for _, e := range []**client.Error{&out.Refusal, &out.Failure} {
		if *e == nil {
			continue
		}
		c := **e
		poisonStrings(reflect.ValueOf(&c).Elem(), bad)
		*e = &c
	}
	out.Header = map[string][]string{"Server" + bad: {bad}}
	var doc any
	if json.Unmarshal(r.Raw, &doc) == nil {
		const placeholder = "@@@"
		body, err := json.Marshal(poisonJSON(doc, placeholder))
		if err != nil {
			t.Fatal(err)
		}
		replacement := []byte(bad) // the text is verbatim, and possibly invalid JSON
		if !raw {
			if replacement, err = json.Marshal(bad); err != nil {
				t.Fatal(err)
			}
			replacement = replacement[1 : len(replacement)-1]
		}
		out.Raw = bytes.ReplaceAll(body, []byte(placeholder), replacement)
	} else if len(r.Raw) > 0 {
		out.Raw = append([]byte(bad), r.Raw...)
	}
	return &out
}

func poisonStrings(v reflect.Value, bad string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(v.String() + bad)
		}
	case reflect.Struct:
		if v.Type().PkgPath() == "time" || v.Type().PkgPath() == "net/netip" {
			return
		}
		for i := range v.NumField() {
			poisonStrings(v.Field(i), bad)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.String {
			v.Set(reflect.ValueOf(append([]string{bad}, v.Interface().([]string)...)))
		}
	}
}

func poisonJSON(v any, bad string) any {
	switch v := v.(type) {
	case string:
		return v + bad
	case []any:
		out := make([]any, len(v))
		for i := range v {
			if s, ok := v[i].(string); ok && i == 0 && s == "vcard" || ok && i < 3 && len(v) > 3 {
				out[i] = v[i] // these elements are the frame of a jCard, which must stay readable
				continue
			}
			out[i] = poisonJSON(v[i], bad)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v)+1)
		for k := range v {
			switch k {
			case "objectClassName", "eventAction", "roles":
				out[k] = v[k]
			default:
				out[k] = poisonJSON(v[k], bad)
			}
		}
		out["x"+bad] = bad
		return out
	}
	return v
}

func TestHostileTextIsEscaped(t *testing.T) {
	for name, clean := range fixtures(t) {
		for what, bad := range hostile {
			t.Run(name+"/"+what, func(t *testing.T) {
				for _, raw := range []bool{false, true} {
					r := poison(t, clean, bad, raw)
					for _, o := range []TextOptions{{}, {Verbose: true, Width: 60}, {Color: true}} {
						o.Now = noon
						checkText(t, string(AppendText(nil, r, o)), o.Color)
					}
					r.Extra = extra(t, bad)
					checkTable(t, r)
					for _, width := range []int{0, 60} {
						checkText(t, encode(t, FormatTable, Options{Text: TextOptions{Width: width}}, r), false)
					}
					name, verdict, _ := strings.Cut(encode(t, FormatCheck, Options{}, r), "\t")
					checkText(t, name+strings.Replace(verdict, "\tabout ", "", 1), false)
					if what != "zero width" && what != "tags" { // these texts are harmless in a line of JSON
						checkRow(t, AppendRow(nil, r))
						checkRow(t, []byte(encode(t, FormatNDJSON, Options{Fields: append(FieldNames(), "rdap.x"+bad, "input.x"+bad)}, r)))
					}
					for l := range strings.Lines(string(AppendJSON(nil, r, true))) {
						checkSafe(t, strings.TrimSuffix(l, "\n"))
					}
					if !json.Valid(AppendJSON(nil, r, true)) {
						t.Errorf("not JSON: %s", AppendJSON(nil, r, true))
					}
				}
			})
		}
	}
}

// extra returns hostile columns to accompany the queries.
func extra(t *testing.T, bad string) []byte {
	t.Helper()
	out, err := json.Marshal(map[string]string{"x" + bad: bad, "note": bad})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func checkText(t *testing.T, got string, colour bool) {
	t.Helper()
	if colour {
		got = stripColour(got)
	}
	for l := range strings.Lines(got) {
		checkSafe(t, strings.TrimSuffix(l, "\n"))
		if strings.HasPrefix(l, "INJECTED") {
			t.Errorf("a server wrote a line of its own:\n%s", got)
		}
	}
}

func checkTable(t *testing.T, r *client.Result) {
	t.Helper()
	var out bytes.Buffer
	e, err := NewEncoder(FormatCSV, &out, Options{InputColumns: []string{"note", WholeInput}})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Encode(r); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Errorf("%d lines, want 2: %q", n, out.String())
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, error %v", len(rows), err)
	}
	for _, c := range rows[1] {
		checkSafe(t, c)
		// defuse does not change negative numbers
		negative := c != "" && c[0] == '-' && strings.Trim(c, "-.0123456789") == ""
		if c != "" && strings.ContainsRune("=+-@", rune(c[0])) && !negative {
			t.Errorf("a cell that is a formula: %q", c)
		}
	}
}

func TestReceiptIsSafe(t *testing.T) {
	for _, bad := range hostile {
		var tally Tally
		tally.Add(&client.Result{Server: "https://h/" + bad, Verdict: client.VerdictFound, Attempts: 1})
		var out bytes.Buffer
		if err := WriteReceipt(&out, tally.Report(stats, 0), 0); err != nil {
			t.Fatal(err)
		}
		checkText(t, out.String(), false)
	}
}
