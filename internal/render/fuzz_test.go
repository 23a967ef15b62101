package render

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/rdap"
)

// queryOfClass returns a query for a response of the class.
func queryOfClass(class string) client.Query {
	for _, q := range [...]struct{ class, typ, text string }{
		{rdap.ClassIPNetwork, "ip", "192.0.2.0/25"},
		{rdap.ClassAutnum, "autnum", "64505"},
		{rdap.ClassEntity, "entity", "X-1"},
		{rdap.ClassNameserver, "nameserver", "ns1.x.example"},
		{rdap.ClassHelp, "help", "help"},
	} {
		if q.class == class {
			if query, err := client.ParseAs(client.Type(q.typ), q.text); err == nil {
				return query
			}
		}
	}
	return client.Query{Text: "x.example", Type: client.TypeDomain, Name: "x.example"}
}

// FuzzAnswer formats arbitrary responses in every format.
func FuzzAnswer(f *testing.F) {
	for _, pattern := range []string{"testdata/bodies/*.json", "../../rdap/testdata/shapes/*"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(raw)
		}
	}
	f.Add([]byte("{\"objectClassName\":\"domain\",\"ldhName\":\"\u202e\x9b\",\"events\":[{\"eventAction\":\"expiration\",\"eventDate\":\"9999-12-31T23:59:59Z\"}]}"))
	expression, err := CompileJQ(`., .query, (.. | strings)`)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		class, _ := rdap.Classify(raw)
		r := &client.Result{Query: queryOfClass(class), Verdict: client.VerdictFound, Raw: raw, Time: noon}
		if r.Query.Type == client.TypeDomain {
			r.Verdict = client.VerdictRegistered
		}
		local := TextOptions{Now: noon, Width: 60, Languages: []string{"ja", "en"}, Times: TimesToTheSecond, Zone: time.FixedZone("X", -9000)}
		for _, o := range []TextOptions{{Now: noon}, {Verbose: true, Width: 40}, {Color: true, Width: 80}, local} {
			got := string(AppendText(nil, r, o))
			checkText(t, got, o.Color)
			if got == "" || !strings.HasSuffix(got, "\n") {
				t.Fatalf("text %q", got)
			}
		}
		checkTable(t, r)
		row := AppendRow(nil, r)
		checkRow(t, row)
		values, err := expression.appendValues(nil, row)
		if err != nil {
			t.Fatalf("%v of %s", err, row)
		}
		for line := range strings.Lines(string(values)) {
			checkSafe(t, strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", " "))
		}
		var parsed struct{ Summary rdap.Summary }
		if err := json.Unmarshal(row, &parsed); err != nil {
			t.Fatal(err)
		}
		if want := r.Summary(); !slices.Equal(parsed.Summary.Statuses, want.Statuses) || parsed.Summary.Name != want.Name {
			t.Fatalf("summary %+v in the row, %+v from the result", parsed.Summary, want)
		}
	})
}
