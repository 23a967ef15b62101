package client_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/rdaptest"
	"github.com/rdapq/rdapq/rdap"
)

// Every request has the header fields of RFC 7480 sections 4.1 and 4.2, and of RFC 9110 section
// 12.5.4.
func TestRequestFields(t *testing.T) {
	for _, protocols := range []rdaptest.Protocols{rdaptest.H1Only, rdaptest.H2Only} {
		s, a := newPair(t, rdaptest.Config{Log: true, Protocols: protocols}, client.Config{Languages: []string{"de-AT", "en"}, UserAgent: "importer/3"})
		s.On("/domain/alpha.example", rdaptest.Redirect(302, "/elsewhere/domain/alpha.example"))
		for _, text := range []string{"alpha.example", "192.0.2.0/24", "AS64496"} {
			a.lookup(t, mustParse(t, "", text))
		}
		for _, entry := range s.Log() {
			if entry.Method != http.MethodGet {
				t.Errorf("%s %s", entry.Method, entry.URI)
			}
			for name, want := range map[string]string{
				"Accept": "application/rdap+json, application/json;q=0.9", "User-Agent": "importer/3", "Accept-Language": "de-AT, en;q=0.9",
			} {
				if got := http.Header(entry.Header).Get(name); got != want {
					t.Errorf("%s: %s %q, want %q", entry.URI, name, got, want)
				}
			}
			for _, name := range []string{"Authorization", "Cookie", "Referer", "Content-Type"} {
				if got, ok := entry.Header[name]; ok {
					t.Errorf("%s: %s %q", entry.URI, name, got)
				}
			}
		}
		if n := len(s.Log()); n != 4 {
			t.Errorf("%d requests", n)
		}
	}
}

// A correctly spelled member takes precedence over a member in another case (RFC 9083 section
// 1.2). Without a correctly spelled member, the other is read.
func TestMemberNamesInAnotherCase(t *testing.T) {
	rec, err := rdap.Read([]byte(`{"objectClassName":"domain","LDHNAME":"beta.example","ldhName":"alpha.example","Handle":"X","Ldhname":"gamma.example","STATUS":["active"],"Events":[{"eventAction":"registration","eventDate":"2020-01-01T00:00:00Z"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if rec.LDHName != "alpha.example" || rec.Handle != "X" || len(rec.Status) != 1 || len(rec.Events) != 1 {
		t.Errorf("%+v", rec)
	}
}

// Every member of an object may be absent (RFC 9083 section 5).
func TestEverythingMayBeAbsent(t *testing.T) {
	for _, class := range []string{rdap.ClassDomain, rdap.ClassIPNetwork, rdap.ClassAutnum, rdap.ClassEntity, rdap.ClassNameserver} {
		raw := []byte(`{"objectClassName":"` + class + `"}`)
		rec, err := rdap.Read(raw)
		if err != nil || rec.Class != class || len(rec.Problems) != 0 || rec.StartAutnum != nil || rec.SecureDNS != nil || rec.CIDRs != nil {
			t.Errorf("%s: %+v, %v", class, rec, err)
		}
		s, problems, err := rdap.Summarize(raw)
		if err != nil || len(problems) != 0 || s.Name+s.Handle+s.Start+s.End+s.Created+s.Expires+s.DNSSEC != "" || s.Statuses != nil {
			t.Errorf("%s: %+v, %v, %v", class, s, problems, err)
		}
	}
}

// rdapConformance is a hint, and is read only at the top level (RFC 9083 section 4.1). Only its
// identifiers distinguish ICANN's profiles of 2019 and 2024.
func TestConformanceIsAHint(t *testing.T) {
	for conformance, want := range map[string][]string{
		``:                                     nil,
		`"rdapConformance":null,`:              nil,
		`"rdapConformance":"rdap_level_0",`:    {"rdap_level_0"},
		`"rdapConformence":["rdap_level_0"],`:  nil,
		`"rdapConformance":["rdap_levl_0",7],`: {"rdap_levl_0", "7"},
		`"rdapConformance":["icann_rdap_response_profile_0","icann_rdap_technical_implementation_guide_1"],`: {"icann_rdap_response_profile_0", "icann_rdap_technical_implementation_guide_1"},
	} {
		s, a := newPair(t, rdaptest.Config{}, client.Config{})
		s.On("*", rdaptest.JSON(`{`+conformance+`"objectClassName":"domain","ldhName":"alpha.example","entities":[{"rdapConformance":["inner"]}]}`))
		r := a.lookup(t, mustParse(t, "", "alpha.example"))
		rec, err := r.Record()
		if err != nil || r.Verdict != client.VerdictRegistered || !slices.Equal(rec.Conformance, want) {
			t.Errorf("%s: %s, %q, %v; want %q", conformance, describe(r), rec.Conformance, err, want)
		}
	}
}

// Unknown values of IANA's open lists are passed on (RFC 9083 section 10.2).
func TestUnknownValuesPass(t *testing.T) {
	rec, err := rdap.Read([]byte(`{"objectClassName":"domain","status":["frozen solid"],
		"events":[{"eventAction":"enchantment","eventDate":"2020-01-01T00:00:00Z"}],"entities":[{"roles":["wizard"]}],
		"variants":[{"relation":["dreamt of"],"variantNames":[{"ldhName":"a.example"}]}],"remarks":[{"type":"object enchanted"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{rec.Status[0], string(rec.Statuses()[0]), rec.Events[0].Action, rec.Entities[0].Roles[0], rec.Variants[0].Relations[0], rec.Remarks[0].Type}
	if want := "frozen solid|frozen solid|enchantment|wizard|dreamt of|object enchanted"; strings.Join(got, "|") != want || len(rec.Problems) != 0 {
		t.Errorf("%q, problems %v", got, rec.Problems)
	}
}

// Members of secureDNS may be absent (RFC 9083 section 5.3); the summary then omits them.
func TestSecureDNSInParts(t *testing.T) {
	for secure, want := range map[string]rdap.Tri{
		`{}`:                             rdap.TriUnknown,
		`{"zoneSigned":true}`:            rdap.TriUnknown,
		`{"maxSigLife":604800}`:          rdap.TriUnknown,
		`{"delegationSigned":false}`:     rdap.TriNo,
		`{"delegationSigned":"true"}`:    rdap.TriYes,
		`{"dsData":[{"keyTag":1}]}`:      rdap.TriYes,
		`{"keyData":[{"flags":257}]}`:    rdap.TriYes,
		`{"dsData":[],"keyData":null}`:   rdap.TriUnknown,
		`{"dsData":{"digest":"AB"}}`:     rdap.TriYes,
		`{"delegationSigned":"perhaps"}`: rdap.TriUnknown,
	} {
		rec, err := rdap.Read([]byte(`{"objectClassName":"domain","secureDNS":` + secure + `}`))
		if err != nil || rec.SecureDNS.Signed() != want {
			t.Errorf("%s: %v, %v; want %v", secure, rec.SecureDNS.Signed(), err, want)
		}
	}
}
