package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdapq/rdapq/client"
)

// encode formats results.
func encode(t testing.TB, format string, o Options, results ...*client.Result) string {
	t.Helper()
	var out bytes.Buffer
	e, err := NewEncoder(format, &out, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if err := e.Add(e.Row(nil, r)); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestFieldsMatchRows checks that fields and row members are the same.
func TestFieldsMatchRows(t *testing.T) {
	for name, r := range fixtures(t) {
		r.Extra = []byte(`{"id":"7"}`)
		row := make(map[string]any)
		if err := json.Unmarshal(AppendRow(nil, r), &row); err != nil {
			t.Fatal(err)
		}
		want := make(map[string]any)
		for _, within := range []string{"", "summary", "conn", "error"} {
			from, prefix := row, ""
			if within != "" {
				from, _ = row[within].(map[string]any)
				prefix = within + "."
			}
			if within == "summary" {
				prefix = ""
			}
			for k, v := range from {
				want[prefix+k] = v
			}
		}
		if want["final_url"] == nil {
			want["final_url"] = want["url"] // rows omit an equal final_url
		}
		if list, ok := want["warnings"].([]any); ok && len(list) > len(r.Warnings) {
			want["warnings"] = list[:len(r.Warnings):len(r.Warnings)] // rows add warnings about the body
		}
		got := make(map[string]any)
		if err := json.Unmarshal([]byte(encode(t, FormatNDJSON, Options{Fields: FieldNames()}, r)), &got); err != nil {
			t.Fatal(name, err)
		}
		delete(got, "trace") // the trace is optional in rows
		for k, v := range want {
			if v == nil {
				delete(want, k)
			}
			if list, ok := v.([]any); ok && len(list) == 0 {
				delete(want, k)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestFieldNamesDiffer checks that no field name is listed twice.
func TestFieldNamesDiffer(t *testing.T) {
	names := FieldNames()
	slices.Sort(names)
	if once := slices.Compact(slices.Clone(names)); len(once) != len(names) {
		t.Errorf("%d names, and %d of them differ: %q", len(names), len(once), names)
	}
}

func TestFields(t *testing.T) {
	r := fixtures(t)["domain-thin"]
	r.Line = 3
	r.Extra = []byte(`{"id": 7, "a.b": "x", "note":"=1+1"}`)
	r.Raw = []byte(`{"objectClassName":"domain","ldhName":"a.example","events":[{"eventAction":"registration"}],"status":["active","locked"]}`)
	fields := []string{"verdict", "line", "statuses", "rdap.ldhName", "rdap.events.0.eventAction", "rdap.events.1", "rdap.events", "input.id", "input.a.b", "input.note", "conn.protocol", "summary.name", "error"}
	got := encode(t, FormatNDJSON, Options{Fields: fields}, r)
	want := `{"verdict":"registered","line":3,"statuses":["active","locked"],"rdap.ldhName":"a.example","rdap.events.0.eventAction":"registration",` +
		`"rdap.events":[{"eventAction":"registration"}],"input.id":7,"input.a.b":"x","input.note":"=1+1","conn.protocol":"h2","summary.name":"a.example"}` + "\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	rows, err := csv.NewReader(strings.NewReader(encode(t, FormatCSV, Options{Fields: fields}, r))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	wantRows := [][]string{fields, {"registered", "3", "active; locked", "a.example", "registration", "", `[{"eventAction":"registration"}]`, "7", "x", "'=1+1", "h2", "a.example", ""}}
	if diff := cmp.Diff(wantRows, rows); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"available", "", "rdap.", "conn.x", "summary.line", "line.x"} {
		for _, format := range []string{FormatNDJSON, FormatCSV, FormatTable} {
			_, err := NewEncoder(format, nil, Options{Fields: []string{"line", bad}})
			if unknown, ok := errors.AsType[*FieldError](err); !ok || unknown.Name != bad {
				t.Errorf("%s: %q: %v", format, bad, err)
			}
		}
	}
}

// TestInputColumns checks that the columns of the input appear next to the result.
func TestInputColumns(t *testing.T) {
	r := fixtures(t)["domain-thin"]
	r.Extra = []byte("{\"id\":\"7\",\"note\":\"=cmd|x \u202e\",\"n\":[1, 2],\"no\":null}")
	rows, err := csv.NewReader(strings.NewReader(encode(t, FormatCSV, Options{InputColumns: []string{"note", "missing", "n", "no", WholeInput}}, r))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	n := len(csvHeader)
	if diff := cmp.Diff([]string{"input_note", "input_missing", "input_n", "input_no", "input"}, rows[0][n:]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{`'=cmd|x \u202e`, "", "[1, 2]", "", `{"id":"7","note":"=cmd|x \u202e","n":[1,2],"no":null}`}, rows[1][n:]); diff != "" {
		t.Error(diff)
	}
	if row := encode(t, FormatNDJSON, Options{}, r); !strings.Contains(row, `"input":{"id":"7","note":"=cmd|x \u202e","n":[1,2],"no":null},"summary"`) {
		t.Error(row)
	}
	for _, extra := range []string{"", "[]", "{", "7", "{\"a\":1}\n{}"} {
		r.Extra = []byte(extra)
		if row := encode(t, FormatNDJSON, Options{}, r); strings.Count(row, "\n") != 1 || !json.Valid([]byte(row)) {
			t.Errorf("%q: %s", extra, row)
		}
	}
}

func TestCheckFormat(t *testing.T) {
	all := fixtures(t)
	got := encode(t, FormatCheck, Options{}, all["domain-thin"], all["not-found"], &client.Result{Query: client.Query{Text: "a\tb\x1b"}, Verdict: client.VerdictInvalid})
	if want := all["domain-thin"].Query.Text + "\tregistered\n" + all["not-found"].Query.Text + "\tnot_found\n" + `a b\x1b` + "\tinvalid\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTable(t *testing.T) {
	all := fixtures(t)
	results := []*client.Result{all["domain-thin"], all["domain-thick"], all["not-found"], all["invalid"]}
	for _, width := range []int{30, 40, 60, 80, 100, 200} {
		got := encode(t, FormatTable, Options{Text: TextOptions{Width: width}}, results...)
		for l := range strings.Lines(got) {
			if w := columns(strings.TrimSuffix(l, "\n")); w > width {
				t.Errorf("width %d: %d columns: %s", width, w, l)
			}
		}
	}
	for width, want := range map[int]string{
		40: "query                       verdict\n", 50: "query                     verdict       expires\n",
		60: "query             verdict       expires     registrar\n",
		80: "query               verdict       expires     registrar         server\n",
	} {
		if got, _, _ := strings.Cut(encode(t, FormatTable, Options{Types: []client.Type{client.TypeDomain}, Text: TextOptions{Width: width}}, results...), "\n"); got+"\n" != want {
			t.Errorf("width %d: %q", width, got)
		}
	}
	got := encode(t, FormatTable, Options{Fields: []string{"line", "query", "verdict"}, Text: TextOptions{Width: 36}},
		&client.Result{Line: 1, Query: client.Query{Text: "a.example"}, Verdict: client.VerdictRegistered},
		&client.Result{Line: 22, Query: client.Query{Text: "例え例え例え例え.example"}, Verdict: client.VerdictNotFound},
		&client.Result{Line: 333, Query: client.Query{Text: "a\x1b[2J\nb"}, Verdict: client.VerdictFailed})
	want := "line      query         verdict\n" +
		"1         a.example     registered\n" +
		"22        例え例え例…   not_found\n" +
		"333       a\\x1b[2J b    failed\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// Without a terminal, no cell is cut.
	long := strings.Repeat("a", 70)
	if got := encode(t, FormatTable, Options{}, &client.Result{Query: client.Query{Text: long}, Verdict: client.VerdictFound}); !strings.Contains(got, "\n"+long+"  found") {
		t.Error(got)
	}
}

// TestFieldsOfTheRegistrar checks the field registrar, and paths into the registrar's
// result.
func TestFieldsOfTheRegistrar(t *testing.T) {
	all := fixtures(t)
	r := *all["domain-thin"]
	r.Registrar = all["domain-thick"]
	got := encode(t, FormatNDJSON, Options{Fields: []string{"registrar", "registrar.verdict", "registrar.rdap.objectClassName", "related.up"}}, &r)
	if want := `{"registrar":"Example Registrar, Inc.","registrar.verdict":"registered","registrar.rdap.objectClassName":"domain"}` + "\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// Paths into the registrar's summary omit "summary", and lists remain lists.
	s := r.Registrar.Summary()
	got = encode(t, FormatCSV, Options{Fields: []string{"registrar.handle", "registrar.nameservers", "registrar.conn.protocol"}}, &r)
	if want := "registrar.handle,registrar.nameservers,registrar.conn.protocol\n" + s.Handle + "," + strings.Join(s.Nameservers, "; ") + ",http/1.1\n"; got != want || s.Handle == "" {
		t.Errorf("%q, want %q", got, want)
	}
	if got := encode(t, FormatCSV, Options{Fields: []string{"registrar.handle", "line"}}, all["domain-thick"]); got != "registrar.handle,line\n,1\n" {
		t.Errorf("without a registrar: %q", got)
	}
	for _, bad := range []string{"registrar.", "registrar.expirse", "registrar.x.y"} {
		if err := CheckFields([]string{bad}); err == nil {
			t.Errorf("%s is a field", bad)
		}
	}
}
