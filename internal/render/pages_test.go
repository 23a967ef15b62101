package render

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/client"
)

// paged0 returns a search that has all pages except the last.
func paged0() *client.Result {
	page := func(names ...string) []byte {
		var objects []string
		for _, name := range names {
			objects = append(objects, `{"objectClassName":"domain", "ldhName":"`+name+`"}`)
		}
		return []byte(`{"rdapConformance":["rdap_level_0"],` + "\n" + `"domainSearchResults":[` + strings.Join(objects, ",") + `]}`)
	}
	return &client.Result{
		Query: client.Query{Text: "name=exam*.example", Type: client.TypeDomains, Search: &client.Search{Params: []client.Param{{Name: "name", Value: "exam*.example"}}}}, Verdict: client.VerdictFound,
		URL: "https://rdap.example/domains?name=exam*.example", Raw: page("exam1.example", "exam2.example"), Time: noon,
		Paging: &client.Paging{
			Pages:   []client.Page{{Number: 2, Raw: page("exam3.example", "exam4\x1b[2J.example")}, {Number: 3, Raw: []byte("<html>")}, {Number: 4, Raw: page("exam5.example")}},
			Results: 5, Total: 9, Stopped: "page 5 could not be read: no answer", Next: "https://rdap.example/domains?cursor=x&api_key=secret",
		},
	}
}

func TestPagesInRows(t *testing.T) {
	var row struct {
		RDAP   map[string]any   `json:"rdap"`
		More   []map[string]any `json:"more_pages"`
		Paging map[string]any   `json:"paging"`
	}
	line := string(AppendRow(nil, paged0()))
	if err := json.Unmarshal([]byte(line), &row); err != nil || strings.Count(line, "\n") != 1 {
		t.Fatal(err, line)
	}
	if len(row.RDAP["domainSearchResults"].([]any)) != 2 || len(row.More) != 3 || row.More[1] != nil || row.More[2]["domainSearchResults"] == nil {
		t.Errorf("%v", row)
	}
	if p := row.Paging; p["results"] != 5.0 || p["total"] != 9.0 || p["pages"] != 4.0 || p["complete"] != false || p["next"] != "https://rdap.example/domains?cursor=x&api_key=REDACTED" || p["stopped"] == nil {
		t.Errorf("%v", p)
	}
	if line := encode(t, FormatNDJSON, Options{Fields: []string{"paging.results", "paging.complete", "more_pages"}}, paged0()); !strings.HasPrefix(line, `{"paging.results":5,"paging.complete":false,"more_pages":[{"rdap`) {
		t.Error(line)
	}

	// A search without results shows 0; lookups show no count.
	r := paged0()
	r.Paging = &client.Paging{Complete: true}
	if line := string(AppendRow(nil, r)); !strings.Contains(line, `"paging":{"results":0,"pages":1,"complete":true}`) || strings.Contains(line, "more_pages") {
		t.Error(line)
	}
	r.Paging = nil
	if line := string(AppendRow(nil, r)); strings.Contains(line, "paging") {
		t.Error(line)
	}
}

// TestPagesAsJSON checks that each page is a document, in an array or concatenated.
func TestPagesAsJSON(t *testing.T) {
	r := paged0()
	r.Paging.Pages = r.Paging.Pages[:1]
	dec := json.NewDecoder(strings.NewReader(encode(t, FormatJSON, Options{}, r)))
	for range 2 {
		var page map[string]any
		if err := dec.Decode(&page); err != nil || len(page["domainSearchResults"].([]any)) != 2 {
			t.Fatal(err, page)
		}
	}
	if dec.More() {
		t.Error("more than two documents")
	}
	var all []map[string]any
	if err := json.Unmarshal([]byte(encode(t, FormatJSON, Options{Many: true, Pretty: true}, r, r)), &all); err != nil || len(all) != 4 {
		t.Error(err, len(all))
	}
}

func TestPagesAsText(t *testing.T) {
	got := string(AppendText(nil, paged0(), TextOptions{}))
	for _, want := range []string{
		"domains name=exam*.example: found, 5 of 9 results\n", "exam1.example\n", "exam3.example\n", `exam4\x1b[2j.example`, "page 3 is unreadable", "exam5.example\n",
		"Incomplete    more results exist (page 5 could not be read: no answer)\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
	r := paged0()
	r.Paging.Pages, r.Paging.Total = nil, 0
	if got := string(AppendText(nil, r, TextOptions{})); !strings.Contains(got, "found, the first 2 results\n") {
		t.Error(got)
	}
	r.Raw, r.Paging = []byte(`{"domainSearchResults":[]}`), &client.Paging{Complete: true}
	if got := string(AppendText(nil, r, TextOptions{})); !strings.Contains(got, "found, 0 results\n") || strings.Contains(got, "Incomplete") {
		t.Error(got)
	}
}

func TestHelpText(t *testing.T) {
	r := &client.Result{
		Query: client.Query{Text: "help", Type: client.TypeHelp}, Verdict: client.VerdictFound, Server: "https://rdap.example/", Time: noon,
		Raw: []byte(`{"rdapConformance":["rdap_level_0","paging","sorting_level_0","rirSearch1","reverse_search","icann_rdap_response_profile_1","own_0"],
			"reverse_search_properties":[
				{"searchableResourceType":"domains","relatedResourceType":"entity","property":"fn"},
				{"searchableResourceType":"ips","relatedResourceType":"entity","property":"handle"},
				{"searchableResourceType":"domains","relatedResourceType":"entity","property":"em\u001bail"}],
			"farv1_openidcConfiguration":{"sessionClientSupported":true,"tokenClientSupported":false,"openidcProviders":[{"iss":"https://idp.example","name":"Example IDP"}]},
			"notices":[{"title":"Terms","description":["Be gentle."],"links":[{"href":"https://registry.example/terms","rel":"terms-of-service"}]}]}`),
	}
	got := string(AppendText(nil, r, TextOptions{}))
	for _, want := range []string{
		"help of https://rdap.example/: found\n", "Supports      paging, with result counts", "sorted results", "relation search", `reverse search: domains by entity fn, em\x1bail (-t domains entity:fn=…)`,
		"reverse search: ips by entity handle", "login by OpenID Connect, with sessions (Example IDP)", "Profiles      ICANN's response profile of 2024\n",
		"Notice        Terms\n", "https://registry.example/terms", "own_0",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "tokens") {
		t.Error(got)
	}
}
