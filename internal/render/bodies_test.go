package render

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/pool"
	"github.com/rdapq/rdapq/rdap"
)

// A bodyExpected is the part of an expectation that formats show. Package rdap tests the rest.
type bodyExpected struct {
	Query      string         `json:"query"`
	Status     int            `json:"status"`
	Type       string         `json:"type"`
	Verdict    client.Verdict `json:"verdict"`
	Wider      string         `json:"wider"`
	Warned     []string       `json:"warned"`
	Unreadable string         `json:"unreadable"`
	Class      string         `json:"class"`
	Summary    rdap.Summary   `json:"summary"`
	Redacted   []string       `json:"redacted"`
	Truncated  []string       `json:"truncated"`
	Contacts   []string       `json:"contacts"`
	Hosts      []string       `json:"hosts"`
	Variants   []string       `json:"variants"`
	Held       []string       `json:"held"`
	Links      []string       `json:"links"`
	Origins    []uint32       `json:"origins"`
	Results    []string       `json:"results"`
	Title      string         `json:"title"`
}

// TestServedBodies serves every response collected from servers and formats it in every
// format.
func TestServedBodies(t *testing.T) {
	dir := os.Getenv("RDAPQ_SHARED")
	if dir == "" {
		t.Skip("RDAPQ_SHARED does not say where collected answers are")
	}
	serveFolder(t, filepath.Join(dir, "bodies"), "bodies.expect.json")
}

// TestServedShapes does the same with fictitious responses of the same shapes.
func TestServedShapes(t *testing.T) {
	serveFolder(t, filepath.Join("..", "..", "rdap", "testdata", "shapes"), "shapes.expect.json")
}

func serveFolder(t *testing.T, dir, expected string) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "rdap", "testdata", expected))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]bodyExpected
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	answers := make(map[string]rdaptest.FileAnswer)
	for name, want := range all {
		answers[name] = rdaptest.FileAnswer{Status: want.Status, Type: want.Type}
	}
	s := rdaptest.Start(t, rdaptest.Config{Handler: rdaptest.Dir(os.DirFS(dir), answers)})
	p, err := pool.New(pool.Config{TLS: &tls.Config{RootCAs: s.Pool()}, AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	for name, want := range all {
		t.Run(name, func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			r := lookUpAt(t, loopback{p, s.Addr()}, s.URL()+name+"/", want.Query)
			if r.Verdict != want.Verdict {
				t.Errorf("verdict %s (%v), want %s", r.Verdict, ErrorOf(r), want.Verdict)
			}
			if !bytes.Equal(r.Raw, body) {
				t.Errorf("raw is %q, want %q", r.Raw, body)
			}
			want.checkWarnings(t, messages(r.Warnings))
			want.checkRow(t, r, body)
			want.checkTables(t, r)
			want.checkText(t, r)
		})
	}
}

// A loopback sends requests only to the test's server, because responses contain links.
type loopback struct {
	*pool.Pool
	addr string
}

func (l loopback) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != l.addr {
		return nil, fmt.Errorf("a test must not ask %s", r.URL.Host)
	}
	return l.Pool.RoundTrip(r)
}

// lookUpAt looks up a query at a server. A query is a type and an object, or "url" and the rest
// of a URL.
func lookUpAt(t *testing.T, transport http.RoundTripper, base, query string) *client.Result {
	t.Helper()
	c, err := client.New(client.Config{Transport: transport, Attempts: 1, MaxWait: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	typ, object, _ := strings.Cut(query, " ")
	if typ == "url" {
		typ, object = object[:strings.IndexAny(object, "/?")], base+object
	}
	q, err := client.ParseAs(client.Type(typ), object)
	if err != nil {
		t.Fatal(err)
	}
	q.Server = base
	r, _ := c.Lookup(context.Background(), q)
	return r
}

func (want *bodyExpected) checkWarnings(t *testing.T, warnings []string) {
	t.Helper()
	var about []string
	for _, w := range warnings {
		if strings.HasPrefix(w, "the response is about ") || strings.HasPrefix(w, "queried ") {
			about = append(about, w)
		}
	}
	if d := cmp.Diff(want.Warned, about, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
	for _, entry := range want.Truncated {
		_, what, _ := strings.Cut(entry, ": ")
		if !slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(w, "the server reports: "+what+" (") }) {
			t.Errorf("no warning %q in %q", what, warnings)
		}
	}
	if len(want.Truncated) == 0 && slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(w, "the server reports: ") }) {
		t.Errorf("warnings %q about omitted data", warnings)
	}
}

// checkRow checks the NDJSON row, in which rdap must be the server's object, including unknown
// members.
func (want *bodyExpected) checkRow(t *testing.T, r *client.Result, body []byte) {
	t.Helper()
	row := AppendRow(nil, r)
	checkRow(t, row)
	var got struct {
		Verdict  client.Verdict
		Summary  rdap.Summary
		RDAP     json.RawMessage
		Warnings []string
	}
	if err := json.Unmarshal(row, &got); err != nil {
		t.Fatalf("%v in %s", err, row)
	}
	if d := cmp.Diff(want.Summary, got.Summary, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("summary (-want +got):\n%s", d)
	}
	for _, w := range r.Warnings {
		if !slices.Contains(got.Warnings, w.Message) {
			t.Errorf("the row lacks the warning %q", w)
		}
	}
	if want.Unreadable != "" { // the body is not an object
		if got.RDAP != nil {
			t.Errorf("rdap is %s", got.RDAP)
		}
		return
	}
	sent, kept := jsontext.Value(slices.Clone(body)), jsontext.Value(slices.Clone(got.RDAP))
	if err := sent.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	if err := kept.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(sent, kept) {
		t.Errorf("rdap is\n%s\nwant\n%s", kept, sent)
	}
}

// checkTables checks the formats with one line per result.
func (want *bodyExpected) checkTables(t *testing.T, r *client.Result) {
	t.Helper()
	checkTable(t, r)
	for _, format := range []string{FormatCSV, FormatTable, FormatJSON, FormatText, FormatNDJSON} {
		var out bytes.Buffer
		e, err := NewEncoder(format, &out, Options{Many: true, Pretty: true, Text: TextOptions{Now: noon, Width: 80}})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Encode(r); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		if err := e.Close(); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		if out.Len() == 0 {
			t.Errorf("%s: nothing", format)
		}
		switch format {
		case FormatCSV:
			rows, err := csv.NewReader(&out).ReadAll()
			if err != nil || len(rows) != 2 || len(rows[0]) != len(rows[1]) {
				t.Fatalf("%v: %q", err, rows)
			}
			for i, name := range rows[0] {
				if cell, ok := want.cell(name); ok && rows[1][i] != cell {
					t.Errorf("column %s is %q, want %q", name, rows[1][i], cell)
				}
			}
		case FormatJSON:
			if !json.Valid(out.Bytes()) {
				t.Errorf("not JSON: %s", out.Bytes())
			}
		case FormatTable:
			checkText(t, out.String(), false)
		}
	}
}

// cell returns the expected content of a CSV column.
func (want *bodyExpected) cell(name string) (string, bool) {
	s := &want.Summary
	list := func(l []string) string { return strings.Join(l, "; ") }
	for _, c := range [...]struct{ name, value string }{
		{"verdict", string(want.Verdict)},
		{"handle", s.Handle},
		{"name", s.Name},
		{"registrar", s.Registrar},
		{"registrar_id", s.RegistrarID},
		{"created", s.Created},
		{"updated", s.Updated},
		{"expires", s.Expires},
		{"statuses", list(s.Statuses)},
		{"nameservers", list(s.Nameservers)},
		{"dnssec", s.DNSSEC},
		{"abuse_email", s.AbuseEmail},
		{"start", s.Start},
		{"end", s.End},
		{"cidrs", list(s.CIDRs)},
		{"holder", s.Holder},
		{"country", s.Country},
	} {
		if c.name == name {
			return c.value, true
		}
	}
	return "", false
}

// checkText searches for the facts in the text for people.
func (want *bodyExpected) checkText(t *testing.T, r *client.Result) {
	t.Helper()
	for _, o := range []TextOptions{{Verbose: true, Now: noon}, {Width: 40}, {Color: true, Width: 80, Verbose: true}} {
		got := string(AppendText(nil, r, o))
		checkText(t, got, o.Color)
		for _, never := range []string{"0001-01-01", "<nil>", "%!", "Invalid"} {
			if strings.Contains(got, never) {
				t.Errorf("%q in\n%s", never, got)
			}
		}
	}
	got := string(AppendText(nil, r, TextOptions{Now: noon}))
	head, _, _ := strings.Cut(got, "\n")
	if !strings.Contains(head, ": "+verdictText(want.Verdict)) {
		t.Errorf("headline %q, want %s", head, want.Verdict)
	}
	if want.Wider != "" && !strings.HasSuffix(head, ", in "+want.Wider) || want.Wider == "" && strings.Contains(head, ", in ") {
		t.Errorf("headline %q, want %q in it", head, want.Wider)
	}
	if !r.Verdict.Answered() || ErrorOf(r) != nil {
		if !strings.Contains(got, want.Title) {
			t.Errorf("%q is not in\n%s", want.Title, got)
		}
		return
	}
	for _, fact := range want.shown() {
		if !strings.Contains(got, fact) {
			t.Errorf("%q is not in\n%s", fact, got)
		}
	}
}

// shown returns the strings that the text must contain.
func (want *bodyExpected) shown() []string {
	var out []string
	add := func(list ...string) {
		for _, s := range list {
			if s != "" {
				out = append(out, s)
			}
		}
	}
	s := &want.Summary
	add(s.Registrar, s.DNSSEC, s.AbuseEmail, s.AbusePhone, s.Holder)
	if want.Class != rdap.ClassEntity && s.RegistrarID != "" {
		add("(IANA " + s.RegistrarID + ")")
	}
	if want.Class != rdap.ClassDomain {
		add(s.Handle)
	}
	for _, date := range []string{s.Created, s.Updated, s.Expires} {
		if t, err := time.Parse(time.RFC3339, date); err == nil {
			add(t.UTC().Format(time.DateOnly))
		} else {
			add(date[:min(len(date), len(time.DateOnly))])
		}
	}
	add(s.Statuses...)
	add(s.Nameservers...)
	switch want.Class {
	case rdap.ClassIPNetwork:
		add(s.Start, s.End, s.Country)
		add(s.CIDRs...)
	case rdap.ClassAutnum:
		add("AS"+s.Start, "AS"+s.End, s.Country)
	}
	for _, name := range want.Redacted {
		if want.Results != nil {
			_, name, _ = strings.Cut(name, "]: ")
		}
		name, reason, _ := strings.Cut(strings.TrimSuffix(name, ")"), ": ")
		reason, _, _ = strings.Cut(reason, " (")
		if role, field, ok := strings.Cut(name, " "); ok && (strings.HasPrefix(role, "Registrant") || strings.HasPrefix(role, "Tech")) {
			name = field // the name stands next to the contact
		}
		add(name, "redacted")
		if want.Results == nil && !strings.Contains(reason, "(") {
			add(reason)
		}
	}
	for _, entry := range want.Truncated {
		_, what, _ := strings.Cut(entry, ": ")
		add("Incomplete", what)
	}
	for _, c := range want.Contacts {
		fields := strings.Split(c, " | ")
		roles := strings.Split(fields[0], "+")
		if strings.HasPrefix(c, "> ") || slices.Contains(roles, "registrar") || slices.Equal(roles, []string{"abuse"}) || len(fields) < 3 {
			continue
		}
		add(fields[2])
		if len(fields) > 5 {
			add(strings.Split(fields[5], ", ")...)
		}
	}
	for _, h := range want.Hosts {
		add(strings.Fields(h)...)
	}
	for _, v := range want.Variants {
		v, _, _ = strings.Cut(v, " (")
		for pair := range strings.FieldsSeq(v) {
			if _, unicode, ok := strings.Cut(pair, "="); ok {
				add(unicode)
			}
		}
	}
	for _, l := range want.Links {
		if feed, ok := strings.CutPrefix(l, "geofeed "); ok {
			add("Geofeed", feed)
		}
	}
	for _, n := range want.Origins {
		add(asNumber(n))
	}
	for _, o := range slices.Concat(want.Results, want.Held) {
		last := o[strings.LastIndexByte(o, ' ')+1:]
		first, _, _ := strings.Cut(last, "-") // lower bound of AS numbers
		add(strings.TrimSuffix(strings.ToLower(first), "."))
	}
	return out
}
