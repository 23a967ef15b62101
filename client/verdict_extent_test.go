package client

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdapq/rdapq/rdap"
)

func TestCompareExtent(t *testing.T) {
	const all4 = `{"startAddress":"0.0.0.0","endAddress":"255.255.255.255"}`
	tests := []struct {
		typ         Type
		asked, body string
		want        []string
	}{
		{TypeIP, "192.0.2.7", `{"startAddress":"192.0.2.0","endAddress":"192.0.2.255"}`, nil},
		{TypeIP, "192.0.2.0/24", `{"startAddress":"192.0.2.0","endAddress":"192.0.2.255"}`, nil},
		{TypeIP, "192.0.2.0/24", `{"startAddress":"192.0.0.0/32","endAddress":"192.0.3.255/32"}`, nil},
		{TypeIP, "192.0.2.0/23", `{"startAddress":"192.0.2.0","endAddress":"192.0.2.255"}`, []string{"the response is about 192.0.2.0/24, which covers only a part of 192.0.2.0/23"}},
		{TypeIP, "192.0.2.0/24", `{"startAddress":"192.0.2.9","endAddress":"192.0.3.2"}`, []string{"the response is about 192.0.2.9 – 192.0.3.2, which covers only a part of 192.0.2.0/24"}},
		{TypeIP, "192.0.2.7", `{"startAddress":"198.51.100.0","endAddress":"198.51.100.255"}`, []string{"queried 192.0.2.7, but the response is about 198.51.100.0/24"}},
		{TypeIP, "192.0.2.7", `{"startAddress":"2001:db8::","endAddress":"2001:db8::ff"}`, []string{"queried 192.0.2.7, but the response is about 2001:db8::/120"}},
		{TypeIP, "192.0.2.7", all4, []string{"the response is about 0.0.0.0/0, which is all of IPv4"}},
		{TypeIP, "0.0.0.0/0", all4, nil},
		{TypeIP, "2001:db8::1", `{"startAddress":"::","endAddress":"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}`, []string{"the response is about ::/0, which is all of IPv6"}},
		{TypeIP, "192.0.2.7", `{"startAddress":"192.0.2.0"}`, nil},
		{TypeIP, "192.0.2.7", `{"startAddress":"x","endAddress":"y"}`, nil},
		{TypeAutnum, "64505", `{"startAutnum":64496,"endAutnum":64511}`, []string{"the response is about AS64496 – AS64511, a block that contains AS64505"}},
		{TypeAutnum, "64505", `{"startAutnum":64505,"endAutnum":64505}`, nil},
		{TypeAutnum, "64505", `{"startAutnum":64506,"endAutnum":64506}`, []string{"queried AS64505, but the response is about AS64506"}},
		{TypeAutnum, "64505", `{"startAutnum":64500,"endAutnum":null}`, nil},
	}
	for _, tt := range tests {
		q, err := ParseAs(tt.typ, tt.asked)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rdap.Parse([]byte(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		r := &Result{Query: q}
		r.compareExtent(resp)
		if d := cmp.Diff(tt.want, messages(r.Warnings), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.asked, tt.body, d)
		}
	}
}

func TestWarnTruncations(t *testing.T) {
	const cut = `"remarks":[{"type":"object truncated due to authorization"}]`
	tests := []struct {
		body string
		want []string
	}{
		{
			`{"objectClassName":"domain","ldhName":"a.example","notices":[null,{"type":"Result set truncated due to \u001b[2J load"},
			 {"title":"the due to note"}],"entities":[{` + cut + `},{"entities":[null,{` + cut + `}]},{"remarks":[{"type":"OBJECT TRUNCATED DUE TO AUTHORIZATION"}]}]}`,
			[]string{
				`the server reports: Result set truncated due to \u001b[2J load (notices[1])`,
				"the server reports: object truncated due to authorization (entities[0].remarks[0] and 2 more)",
			},
		},
		{`{"objectClassName":"domain","remarks":[{"description":["object truncated due to authorization"]}]}`, nil},
		{`{"objectClassName":"domain","type":"object truncated due to authorization"}`, nil},
		{`{"objectClassName":"domain","a":[{"type":"object truncated due to authorization"}]}`, nil},
		{ // if there is no type, words in the title count
			`{"objectClassName":"domain","remarks":[{"title":"object truncated due to authorization","description":[]}]}`,
			[]string{"the server reports: object truncated due to authorization (remarks[0])"},
		},
		{
			`{"objectClassName":"domain","remarks":[{"title":"object truncated due to authorization","type":"object redacted due to authorization"}]}`,
			[]string{"the server reports: object redacted due to authorization (remarks[0])"},
		},
		{ // one notice instead of a list
			`{"objectClassName":"domain","\u006eotices":{},"notices":{"type":"response truncated due to authorization"}}`,
			[]string{"the server reports: response truncated due to authorization (notices)"},
		},
	}
	for _, tt := range tests {
		resp, err := rdap.Parse([]byte(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		var r Result
		r.warnTruncations(resp)
		if d := cmp.Diff(tt.want, messages(r.Warnings)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.body, d)
		}
	}
}

// A network sent as a single prefix is not mistaken for a single address in the prefix.
func TestExtentOfPrefix(t *testing.T) {
	for _, address := range []string{"2001:db8::1", "2001:db8:1::/48", "2001:db8::/32"} {
		q, err := ParseAs(TypeIP, address)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rdap.Parse([]byte(`{"objectClassName":"ip network","startAddress":"2001:db8::/32","endAddress":"2001:db8::/32"}`))
		if err != nil {
			t.Fatal(err)
		}
		r := &Result{Query: q}
		if r.compareExtent(resp); len(r.Warnings) > 0 {
			t.Errorf("%s: %q", address, r.Warnings)
		}
	}
}

func messages(warnings []Warning) (list []string) {
	for _, w := range warnings {
		list = append(list, w.Message)
	}
	return list
}
