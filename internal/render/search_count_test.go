package render

import (
	"strings"
	"testing"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/pool"
)

// searchOf returns the result of a search of the given type.
func searchOf(t *testing.T, typ client.Type, text, body string, p *client.Paging) *client.Result {
	t.Helper()
	q, err := client.ParseAs(typ, text)
	if err != nil {
		t.Fatal(err)
	}
	return &client.Result{Line: 1, Query: q, Verdict: client.VerdictFound, Status: 200, Raw: []byte(body), Time: noon, Paging: p}
}

// TestNumberOfResults checks that each format shows the number of results, including 0.
func TestNumberOfResults(t *testing.T) {
	for _, tt := range []struct {
		paging      client.Paging
		words       string
		csv, ndjson string
	}{
		{client.Paging{Complete: true}, "0 results", ",0,\n", `"results":0,`},
		{client.Paging{Results: 1, Total: 1, Complete: true}, "1 result", ",1,1\n", `"results":1,"total":1,`},
		{client.Paging{Results: 200, Complete: true}, "200 results", ",200,\n", `"results":200,`},
		{client.Paging{Results: 50, Total: 3000}, "50 of 3000 results", ",50,3000\n", `"results":50,"total":3000,`},
		{client.Paging{Results: 50}, "the first 50 results", ",50,\n", `"results":50,`},
	} {
		r := searchOf(t, client.TypeDomains, "a*.example", `{"domainSearchResults":[]}`, &tt.paging)
		if got, want := encode(t, FormatCheck, Options{}, r), r.Query.Text+"\tfound\t"+tt.words+"\n"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		for _, types := range [][]client.Type{nil, {client.TypeDomains}, {client.TypeDomain, client.TypeDomains}} {
			if got := encode(t, FormatTable, Options{Types: types}, r); !strings.Contains(got, " "+tt.words+" ") {
				t.Errorf("table of %v, want %s:\n%s", types, tt.words, got)
			}
		}
		if got := encode(t, FormatCSV, Options{}, r); !strings.HasSuffix(got, tt.csv) || !strings.Contains(got, ",error,results,total\n") {
			t.Errorf("%s, want %s", got, tt.csv)
		}
		if got := encode(t, FormatNDJSON, Options{}, r); !strings.Contains(got, tt.ndjson) {
			t.Errorf("%s, want %s", got, tt.ndjson)
		}
	}
	lookup := searchOf(t, client.TypeDomain, "a.example", `{"objectClassName":"domain","ldhName":"a.example"}`, nil)
	for _, format := range []string{FormatCheck, FormatTable, FormatText} {
		if got := encode(t, format, Options{}, lookup); strings.Contains(got, "result") {
			t.Errorf("%s of a lookup: %s", format, got)
		}
	}
}

// TestResultsWithClass checks that text lists results in addition to any objectClassName.
func TestResultsWithClass(t *testing.T) {
	for _, tt := range []struct {
		typ                  client.Type
		query, member, class string // class is the class of one result
		result, want         string
	}{
		{client.TypeDomains, "a*.example", "domainSearchResults", "domain", `"ldhName":"a1.example"`, "a1.example"},
		{client.TypeEntities, "fn=A*", "entitySearchResults", "entity", `"handle":"A-1"`, "A-1"},
		{client.TypeNameservers, "ns*.example", "nameserverSearchResults", "nameserver", `"ldhName":"ns1.example"`, "ns1.example"},
	} {
		for _, class := range []string{tt.member, strings.ToLower(tt.member), strings.ToUpper(tt.member), tt.class, "searchResults", "collection"} {
			body := `{"objectClassName":"` + class + `","` + tt.member + `":[{"objectClassName":"` + tt.class + `",` + tt.result + `}]}`
			r := searchOf(t, tt.typ, tt.query, body, &client.Paging{Results: 1, Complete: true})
			if got := encode(t, FormatText, Options{}, r); !strings.Contains(got, ": found, 1 result\n") || !strings.Contains(got, "Results       "+tt.want+"\n") {
				t.Errorf("%s: %s", body, got)
			}
		}
	}
}

// TestNotFoundWithoutRDAP checks that row and summary report a 404 response that is not
// RDAP, and that the summary lists servers without any RDAP.
func TestNotFoundWithoutRDAP(t *testing.T) {
	var tally Tally
	add := func(server string, v client.Verdict, code client.Code, warnings ...client.Warning) *client.Result {
		r := searchOf(t, client.TypeDomain, "a.example", "", nil)
		r.Server, r.Verdict, r.Status, r.Attempts, r.Warnings = server, v, 404, 1, warnings
		if code != "" {
			r.Failure = &client.Error{Code: code, Message: string(code)}
		}
		tally.Add(r)
		return r
	}
	foreign := client.Warning{Code: client.WarnNotFoundWithoutRDAP, Message: "not_found_without_rdap: the response with status 404 is not RDAP"}
	r := add("https://half.example/", client.VerdictNotFound, client.CodeNotFound, foreign)
	add("https://half.example/", client.VerdictRegistered, "")
	add("https://half.example/", client.VerdictRejected, client.CodeNotRDAP)
	add("https://typo.example/wrong/", client.VerdictRejected, client.CodeNotRDAP)
	add("https://typo.example/wrong/", client.VerdictFailed, client.CodeTimeout)
	add("https://refuses.example/", client.VerdictRejected, client.CodeForbidden)
	if got := encode(t, FormatCheck, Options{}, r); got != "a.example\tnot_found\tnot_found_without_rdap\n" {
		t.Error(got)
	}
	if got := encode(t, FormatText, Options{}, r); !strings.Contains(got, "the response is not RDAP") {
		t.Error(got)
	}
	var b strings.Builder
	if err := WriteSummary(&b, Summary{Report: tally.Report(pool.Stats{}, 0)}); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	if !strings.Contains(got, "\n  warning   1 line not found according to responses that are not RDAP (not_found_without_rdap)\n") ||
		!strings.HasSuffix(got, "\nhint: typo.example/wrong: no response of this server was RDAP; check the base URL\n") || strings.Count(got, "hint: ") != 1 {
		t.Error(got)
	}
}
