package client_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
)

func TestExpand(t *testing.T) {
	s, a := newPair(t, rdaptest.Config{Searches: &rdaptest.Searches{Objects: directory(5), PageSize: 2}}, client.Config{Search: client.SearchConfig{MaxResults: 4}})
	expand := func(typ client.Type, text string) (r *client.Result, list []*client.Result) {
		q := mustParse(t, typ, text)
		q.Server = s.URL()
		r = a.lookup(t, q)
		for one := range r.Expand() {
			checkResult(t, one)
			list = append(list, one)
		}
		return r, list
	}
	names := func(list []*client.Result) (out []string) {
		for _, one := range list {
			out = append(out, string(one.Query.Type)+" "+one.Query.String())
		}
		return out
	}
	r, list := expand(client.TypeDomains, "exam*.example")
	if got := names(list); !slices.Equal(got, []string{"domain exam1.example", "domain exam2.example", "domain exam3.example", "domain exam4.example"}) {
		t.Errorf("%q", got)
	}
	for i, one := range list {
		if one.Verdict != client.VerdictRegistered || one.Summary().Name != one.Query.Name || one.URL != r.URL || !strings.HasPrefix(string(one.Raw), "{") || (i == 0) != (len(one.Warnings) == 1) {
			t.Errorf("%s: %s %q", describe(one), one.Raw, one.Warnings)
		}
	}
	if _, list = expand(client.TypeIPs, "name=*P"); !slices.Equal(names(list), []string{"ip 192.0.0.0/16", "ip 192.0.2.0/24"}) || list[0].Verdict != client.VerdictFound {
		t.Errorf("%q", names(list))
	}
	if _, list = expand(client.TypeAutnums, "name=BLOCK"); !slices.Equal(names(list), []string{"autnum AS64496"}) {
		t.Errorf("%q", names(list))
	}
	if _, list = expand(client.TypeEntities, "fn=Alice*"); !slices.Equal(names(list), []string{"entity ALICE-EX"}) {
		t.Errorf("%q", names(list))
	}
	// An empty search yields one result, and so does a query that is not a search.
	if r, list = expand(client.TypeDomains, "none*.example"); len(list) != 1 || list[0] != r {
		t.Errorf("%q", names(list))
	}
	if r, list = expand(client.TypeDomain, "exam1.example"); len(list) != 1 || list[0] != r {
		t.Errorf("%q", names(list))
	}
	s.On("/domains", rdaptest.Status(501))
	if r, list = expand(client.TypeDomains, "exam*.example"); len(list) != 1 || list[0] != r {
		t.Errorf("%q", names(list))
	}
	s.On("/domains", rdaptest.JSON(`{"domainSearchResults":[null,7,{"objectClassName":"domain"},{"objectClassName":"domain","handle":"H 1","ldhName":""}]}`))
	if _, list = expand(client.TypeDomains, "exam*.example"); len(list) != 2 || list[1].Query.Text != "H 1" {
		t.Errorf("%q", names(list))
	}
	s.On("/domains", rdaptest.JSON(`{"objectClassName":"domain","domainsearchresults":[{"objectClassName":"domain","ldhName":"exam1.example"}]}`))
	if _, list = expand(client.TypeDomains, "exam*.example"); len(list) != 1 || list[0].Query.Text != "exam1.example" {
		t.Errorf("%q", names(list))
	}
}
