package rdaptest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// someObjects returns objects of every class.
func someObjects() []Object {
	alice := Contact{"ALICE-EX", "Alice Example", "alice@holders.example", "registrant"}
	return []Object{
		{Class: "domain", Name: "exam1.example", Created: "2020-01-01T00:00:00Z", Entity: alice, Nameservers: []string{"ns1.exam1.example"}, Addresses: []string{"192.0.2.1"}},
		{Class: "domain", Name: "exam2.example", Created: "2019-01-01T00:00:00Z"},
		{Class: "domain", Name: "exam3.example", Created: "2021-01-01T00:00:00Z"},
		{Class: "nameserver", Name: "ns1.exam1.example", Addresses: []string{"192.0.2.1"}},
		{Class: "entity", Entity: alice},
		{Class: "ip network", Name: "TOP", Prefix: "192.0.0.0/16"},
		{Class: "ip network", Name: "UP", Prefix: "192.0.2.0/24"},
		{Class: "ip network", Name: "SMALL", Prefix: "192.0.2.0/25", Status: "inactive"},
		{Class: "autnum", Name: "BLOCK", First: 64496, Last: 64511},
		{Class: "autnum", Name: "ONE", First: 64500, Last: 64500},
	}
}

// ask returns the status, the names of the results, and the response.
func ask(t *testing.T, s *Searches, path string) (int, []string, map[string]any) {
	t.Helper()
	path, query, _ := strings.Cut(path, "?")
	class, key, _ := strings.Cut(path, "/")
	a, ok := s.Answer(Question{Base: "https://rdap.example/", Class: class, Key: key, Query: query})
	if !ok {
		t.Fatalf("%s is not a search", path)
	}
	var all map[string]any
	if err := json.Unmarshal(a.Body, &all); err != nil {
		t.Fatal(err)
	}
	var names []string
	for member, value := range all {
		if strings.HasSuffix(member, "SearchResults") {
			for _, o := range value.([]any) {
				names = append(names, nameOf(o.(map[string]any)))
			}
		}
	}
	return a.Status, names, all
}

func nameOf(o map[string]any) string {
	for _, member := range []string{"ldhName", "name", "handle"} {
		if s, ok := o[member].(string); ok {
			return s
		}
	}
	return ""
}

func TestSearches(t *testing.T) {
	s := &Searches{Objects: someObjects()}
	for _, tt := range []struct {
		path   string
		status int
		want   []string
	}{
		{"domains?name=exam*.example", 200, []string{"exam1.example", "exam2.example", "exam3.example"}},
		{"domains?name=EXAM2.example", 200, []string{"exam2.example"}},
		{"domains?name=none*.example", 200, nil},
		{"domains?nsLdhName=ns1.exam1.example", 200, []string{"exam1.example"}},
		{"domains?nsIp=192.0.2.1", 200, []string{"exam1.example"}},
		{"domains?name=exam*.example&sort=registrationDate:d", 200, []string{"exam3.example", "exam1.example", "exam2.example"}},
		{"nameservers?ip=192.0.2.1", 200, []string{"ns1.exam1.example"}},
		{"entities?fn=Alice*", 200, []string{"ALICE-EX"}},
		{"ips?name=UP", 200, []string{"UP"}},
		{"autnums?handle=H-O*", 200, []string{"ONE"}},
		{"domains?what=1", 400, nil},
		{"domains/what?name=a", 501, nil},
		{"domains/reverse_search/entity?email=alice@holders.example&role=registrant", 200, []string{"exam1.example"}},
		{"domains/reverse_search/entity?email=alice@holders.example&role=technical", 200, nil},
		{"ips/rirSearch1/rdap-up/192.0.2.0/25", 200, []string{"UP"}},
		{"ips/rirSearch1/rdap-top/192.0.2.0/25", 200, []string{"TOP"}},
		{"ips/rirSearch1/rdap-up/192.0.0.0/16", 404, nil},
		{"ips/rirSearch1/rdap-down/192.0.0.0/16", 200, []string{"UP"}},
		{"ips/rirSearch1/rdap-bottom/192.0.0.0/16", 200, []string{"SMALL"}},
		{"ips/rirSearch1/rdap-bottom/192.0.0.0/16?status=active", 200, []string{"UP"}},
		{"ips/rirSearch1/up/192.0.2.0/25", 501, nil},
		{"autnums/rirSearch1/rdap-up/64500", 200, []string{"BLOCK"}},
	} {
		status, got, _ := ask(t, s, tt.path)
		if status != tt.status || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %d %q, want %d %q", tt.path, status, got, tt.status, tt.want)
		}
	}
	if _, ok := s.Answer(Question{Class: "domain", Key: "exam1.example"}); ok {
		t.Error("lookup treated as a search")
	}
	s.Alone = true
	if _, _, all := ask(t, s, "ips/rirSearch1/rdap-up/192.0.2.0/25"); all["name"] != "UP" || all["rdapConformance"] == nil {
		t.Errorf("%v", all)
	}
}

func TestSearchPages(t *testing.T) {
	s := &Searches{Objects: someObjects(), PageSize: 2}
	_, names, all := ask(t, s, "domains?name=exam*.example&count=true&fieldSet=id")
	meta := all["paging_metadata"].(map[string]any)
	if len(names) != 2 || meta["totalCount"] != 3.0 {
		t.Fatal(names, meta)
	}
	if o := all["domainSearchResults"].([]any)[0].(map[string]any); len(o) != 2 {
		t.Errorf("more than the id: %v", o)
	}
	next, err := url.Parse(meta["links"].([]any)[0].(map[string]any)["href"].(string))
	if err != nil {
		t.Fatal(err)
	}
	_, names, all = ask(t, s, "domains?"+next.RawQuery)
	if meta := all["paging_metadata"].(map[string]any); len(names) != 1 || meta["links"] != nil || meta["pageNumber"] != 2.0 {
		t.Fatal(names, meta)
	}

	// Features that are not announced are not available.
	s.Announce = []string{"rdap_level_0"}
	_, names, all = ask(t, s, "domains?name=exam*.example&count=true&fieldSet=id")
	if len(names) != 3 || all["paging_metadata"] != nil || all["subsetting_metadata"] != nil {
		t.Error(names, all)
	}
	if status, _, _ := ask(t, s, "domains/reverse_search/entity?fn=A"); status != 501 {
		t.Error(status)
	}
	if _, _, all := ask(t, s, "help"); all["reverse_search_properties"] != nil {
		t.Error(all)
	}
}

// TestServerSearches sends requests over HTTPS, where a path may have escapes.
func TestServerSearches(t *testing.T) {
	srv := Start(t, Config{Searches: &Searches{Objects: someObjects()}})
	c := srv.Client()
	defer c.CloseIdleConnections()
	for path, want := range map[string]int{
		"domains?name=exam*.example": 200, "rdap/ips/rirSearch1/rdap-up/192.0.2.0%2F25": 200, "domain/exam1.example": 200, "help": 200, "domains": 400,
	} {
		resp, err := c.Get(srv.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}

// A separate server finds the objects of all demo servers, and sends CORS headers (RFC
// 7480 section 5.6).
func TestSearchesAlone(t *testing.T) {
	s := Start(t, Config{Searches: DemoSearches()})
	for path, want := range map[string]string{
		"domains?name=courbu*": "courbu.re",
		"entities?fn=Ninth*":   "Ninth Gate Domains",
		"domain/courbu.re":     "COURBU.RE",
	} {
		resp, err := s.Client().Get(s.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: %d, %v, %.200s", path, resp.StatusCode, err, body)
		}
		if got := resp.Header.Get("Access-Control-Allow-Origin"); got != "*" {
			t.Errorf("%s: Access-Control-Allow-Origin %q", path, got)
		}
		if strings.Contains(string(body), "icann_rdap_response_profile") {
			t.Errorf("%s claims a profile that it does not follow", path)
		}
	}
}
