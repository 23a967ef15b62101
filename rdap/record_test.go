package rdap

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdapq/rdapq/internal/dnsname"
	"github.com/rdapq/rdapq/internal/testrun"
)

var equateRecords = cmp.Options{
	cmpopts.IgnoreTypes(Card{}),
	cmpopts.IgnoreUnexported(Entity{}),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
}

func read(t *testing.T, name string) *Record {
	t.Helper()
	rec, err := Read(fixture(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestReadDomain(t *testing.T) {
	got := read(t, "idn-variants")
	keyChanged := time.Date(2012, 7, 23, 5, 15, 47, 0, time.UTC)
	want := &Record{
		Class:   ClassDomain,
		LDHName: "xn--fo-5ja.example", UnicodeName: "fóo.example",
		Common: Common{
			Handle: "V1", Status: []string{"locked", "transfer prohibited"},
			Events: []Event{
				{Action: "registration", Raw: "1990-12-31T23:59:59Z", Time: time.Date(1990, 12, 31, 23, 59, 59, 0, time.UTC)},
				{Action: "transfer", Actor: "someone@example.net", Raw: "1991-12-31T23:59:59Z", Time: time.Date(1991, 12, 31, 23, 59, 59, 0, time.UTC)},
			},
		},
		Variants: []Variant{
			{Relations: []string{"registered", "conjoined"}, Names: []VariantName{
				{"xn--fo-cka.example", "fõo.example"}, {"xn--fo-fka.example", "föo.example"},
			}},
			{Relations: []string{"unregistered"}, IDNTable: ".EXAMPLE Swedish", Names: []VariantName{{"xn--fo-8ja.example", "fôo.example"}}},
		},
		Nameservers: []Nameserver{{LDHName: "ns1.xn--fo-5ja.example", UnicodeName: "ns1.fóo.example"}},
		SecureDNS: &SecureDNS{
			ZoneSigned: TriYes, DelegationSigned: TriYes, MaxSigLife: new(uint32(604800)),
			Keys: []KeyData{{
				Flags: new(uint32(257)), Protocol: new(uint32(3)), Algorithm: new(uint32(8)), PublicKey: "AwEAAa6e",
				Events: []Event{{Action: "last changed", Raw: "2012-07-23T05:15:47Z", Time: keyChanged}},
			}},
		},
	}
	if d := cmp.Diff(want, got, equateRecords); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestReadRedacted(t *testing.T) {
	got := read(t, "registrar-redacted")
	want := []Redaction{
		{
			Name: "Registrant Name", Reason: "Server policy", Method: "emptyValue", PathLang: "jsonpath",
			PostPath: "$.entities[?(@.roles[0]=='registrant')].vcardArray[1][?(@[0]=='fn')][3]",
		},
		{
			Name: "Registrant Phone", Reason: "Server policy", Method: "removal", PathLang: "jsonpath",
			PrePath: "$.entities[?(@.roles[0]=='registrant')].vcardArray[1][?(@[1].type=='voice')]",
		},
		{Name: "Registrant Email", Reason: "Client request", Method: "replacementValue", PathLang: "jsonpath", PrePath: "$.a", ReplacementPath: "$.b"},
	}
	if d := cmp.Diff(want, got.Redacted); d != "" {
		t.Errorf("redacted (-want +got):\n%s", d)
	}
	ns := got.Nameservers[0]
	if ns.LDHName != "ns1.harbour.example." || dnsname.Display(ns.LDHName) != "ns1.harbour.example" ||
		!cmp.Equal(ns.V4, []string{"192.0.2.53"}) || !cmp.Equal(ns.V6, []string{"2001:db8::53"}) {
		t.Errorf("nameserver %+v", ns)
	}
	if e := got.Events[0]; e.Raw != "2001-09-15T04:00:00.000+0000" || !e.Time.Equal(time.Date(2001, 9, 15, 4, 0, 0, 0, time.UTC)) {
		t.Errorf("event %+v", e)
	}
	if got.Lang != "en-GB" || got.Port43 != "whois.lighthouse.example" || len(got.Notices) != 3 || got.Notices[0].Links[0].Href != "https://registry.example/terms" {
		t.Errorf("lang %q, port43 %q, notices %v", got.Lang, got.Port43, got.Notices)
	}
	wantProblems := []string{
		"events[0].eventDate: date is not in RFC 3339 format",
		"nameservers[0].ipAddresses.v6: expected an array, found a single value",
	}
	if d := cmp.Diff(wantProblems, problemLines(got.Problems)); d != "" {
		t.Errorf("problems (-want +got):\n%s", d)
	}
}

func TestReadThin(t *testing.T) {
	got := read(t, "registry-thin")
	if got.LDHName != "HARBOUR.EXAMPLE" {
		t.Errorf("ldhName %q is not as sent", got.LDHName)
	}
	var related []string
	for _, l := range got.Links {
		if l.HasRel("RELATED") && l.Type == "application/rdap+json" {
			related = append(related, l.Href)
		}
	}
	if !cmp.Equal(related, []string{"https://rdap.lighthouse.example/domain/HARBOUR.EXAMPLE"}) {
		t.Errorf("related links %q", related)
	}
	ds := got.SecureDNS.DS
	if len(ds) != 1 || ds[0].KeyTag == nil || *ds[0].KeyTag != 0 || *ds[0].Algorithm != 13 {
		t.Errorf("a key tag of 0 is missing: %+v", ds)
	}
	if len(got.Entities) != 1 || len(got.Entities[0].Entities) != 1 || !got.Entities[0].Entities[0].HasRole("ABUSE") {
		t.Errorf("entities %+v", got.Entities)
	}
	if len(got.Problems) != 0 || len(got.Conformance) != 3 {
		t.Errorf("problems %v, conformance %v", got.Problems, got.Conformance)
	}
}

func TestReadNetwork(t *testing.T) {
	got := read(t, "ripe-network")
	if got.Class != ClassIPNetwork || got.StartAddress != "198.51.100.0" || got.EndAddress != "198.51.100.255" || got.IPVersion != "v4" ||
		got.Name != "POLDER-NET" || got.Type != "ASSIGNED PA" || got.Country != "NL" || got.ParentHandle != "198.51.0.0 - 198.51.255.255" {
		t.Errorf("network %+v", got)
	}
	if l := got.Links[1]; !l.HasRel("rdap-active") || !l.HasRel("rdap-up") || l.HasRel("rdap") {
		t.Errorf("two relations in one rel: %+v", l)
	}
	if got.Links[2].Href != "https://www.ripe.example/db terms.pdf" {
		t.Errorf("href %q is not as sent", got.Links[2].Href)
	}
	afrinic := read(t, "afrinic-network")
	for _, e := range afrinic.Events {
		if e.Raw != "" || !e.Time.IsZero() {
			t.Errorf("a date without an input: %+v", e)
		}
	}
	if h := afrinic.Notices[0].Links[0].Hreflang; !cmp.Equal(h, []string{"en"}) {
		t.Errorf("hreflang %q", h)
	}
}

func TestReadReverse(t *testing.T) {
	got := read(t, "reverse")
	n := got.Network
	if n == nil || n.Class != ClassIPNetwork || n.Handle != "NET-RX" || len(n.CIDRs) != 1 || n.CIDRs[0] != netip.MustParsePrefix("192.0.2.0/24") {
		t.Errorf("network %+v", n)
	}
}

func TestReadAutnum(t *testing.T) {
	got := read(t, "autnum-block")
	if got.StartAutnum == nil || *got.StartAutnum != 64496 || got.EndAutnum == nil || *got.EndAutnum != 64511 {
		t.Errorf("block %v to %v", got.StartAutnum, got.EndAutnum)
	}
	none, err := Read([]byte(`{"objectClassName":"autnum","startAutnum":null,"endAutnum":1.5}`))
	if err != nil || none.StartAutnum != nil || none.EndAutnum != nil || len(none.Problems) != 1 {
		t.Errorf("numbers without an input: %+v, %v", none, err)
	}
}

func TestReadEntity(t *testing.T) {
	got := read(t, "entity")
	if got.Class != ClassEntity || !cmp.Equal(got.Roles, []string{"registrar"}) ||
		!cmp.Equal(got.PublicIDs, []PublicID{{"IANA Registrar ID", "9994"}}) ||
		len(got.AsEventActor) != 1 || len(got.Autnums) != 1 || *got.Autnums[0].StartAutnum != 64500 {
		t.Errorf("entity %+v", got)
	}
	if n := got.Networks; len(n) != 1 || n[0].CIDRs[0].String() != "192.0.2.0/25" {
		t.Errorf("networks %+v", n)
	}
	if c := got.Contact(); c.Name != "Lighthouse Names Ltd." {
		t.Errorf("contact %+v", c)
	}
}

func TestReadSearchHelpError(t *testing.T) {
	search := read(t, "domain-search")
	if search.Class != ClassDomainSearch || len(search.Results) != 2 ||
		search.Results[0].LDHName != "ex1.example" || search.Results[1].UnicodeName != "bücher.example" || search.Results[1].Class != ClassDomain ||
		search.Notices[0].Type != "result set truncated due to authorization" {
		t.Errorf("search %+v", search)
	}
	if d := cmp.Diff([]string{"domainSearchResults[1]: null in an array"}, problemLines(search.Problems)); d != "" {
		t.Errorf("problems (-want +got):\n%s", d)
	}
	help := read(t, "help")
	if help.Class != ClassHelp || len(help.Notices) != 1 || len(help.Notices[0].Description) != 2 || len(help.Problems) != 0 {
		t.Errorf("help %+v", help)
	}
	e := read(t, "error")
	if e.Class != ClassError || e.ErrorCode != 404 || e.Title != "Not Found" ||
		!cmp.Equal(e.Description, []string{"Name: alpha.example", "Reserved by the registry"}) ||
		len(e.Notices) != 1 || !cmp.Equal(e.Notices[0].Description, []string{"By use you agree."}) {
		t.Errorf("error %+v", e)
	}
	p, err := Read([]byte(`{"type":"about:blank","title":"Not Implemented","status":501,"detail":"no entities here"}`))
	if err != nil || p.Class != ClassError || p.ErrorCode != 501 || p.Title != "Not Implemented" || !cmp.Equal(p.Description, []string{"no entities here"}) {
		t.Errorf("RFC 9457 problem %+v, %v", p, err)
	}
}

func TestReadErrors(t *testing.T) {
	deep := `{"objectClassName":"domain","x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`
	tests := []struct{ body, message string }{
		{"", "an empty body"},
		{"  \n", "an empty body"},
		{"null", "expected an object, found null"},
		{"[]", "expected an object, found an array"},
		{`"ok"`, "expected an object, found a string"},
		{"<html>", "invalid JSON at byte 0"},
		{`{"errorCode":404,"ti`, "truncated JSON: it ends at byte 20"},
		{`{"a":1,}`, "invalid JSON at byte 6"},
		{deep, "JSON is nested more than 100 levels deep"},
		{strings.Repeat(`{"entities":[`, 50_000), "JSON is nested more than 100 levels deep"},
	}
	for _, tt := range tests {
		rec, err := Read([]byte(tt.body))
		e, ok := errors.AsType[*FormatError](err)
		if !ok || rec != nil || e.Reason != tt.message {
			t.Errorf("%.40q: %v, %v", tt.body, rec, err)
		}
		if _, _, err := Summarize([]byte(tt.body)); err == nil {
			t.Errorf("%.40q: summarized", tt.body)
		}
	}
	fits := strings.Replace(deep, "[", "", 1)
	fits = strings.Replace(fits, "]", "", 1)
	if _, err := Read([]byte(fits)); err != nil {
		t.Errorf("100 deep: %v", err)
	}
}

// A small response that decodes to a large record is read up to the limit, and a problem
// reports the place where reading stopped.
func TestReadBounded(t *testing.T) {
	testrun.SkipWithRaceDetector(t)
	const many = 200_000
	for member, item := range map[string]string{
		"entities": "{}", "nameservers": "{}", "links": "{}", "events": "{}", "notices": "{}", "remarks": "{}", "publicIds": `{"type":"x"}`,
		"status": `""`, "variants": "{}", "redacted": "{}", "networks": "{}", "autnums": "{}", "domainSearchResults": "{}",
		"rdapConformance": `""`, "arin_originas0_originautnums": "1",
	} {
		raw := []byte(`{"objectClassName":"domain","ldhName":"a.example","handle":"before","` + member + `":[` + item +
			strings.Repeat(","+item, many) + `],"port43":"whois.example"}`)
		rec, err := Read(raw)
		if err != nil {
			t.Fatal(err)
		}
		var cut []string
		for _, p := range rec.Problems {
			if p.Discarded && strings.Contains(p.Message, "record too large") {
				cut = append(cut, p.Path)
			}
		}
		if len(cut) != 1 || !strings.HasPrefix(cut[0], member+"[") {
			t.Errorf("%s: problems %v", member, rec.Problems[:min(len(rec.Problems), 3)])
		}
		if rec.Handle != "before" || rec.Port43 != "whois.example" || rec.Class != ClassDomain {
			t.Errorf("%s: %q, %q, %q: members beside the array are missing", member, rec.Handle, rec.Port43, rec.Class)
		}
		if s, _, err := Summarize(raw); err != nil || s.Name != "a.example" {
			t.Errorf("%s: summary %+v, %v", member, s, err)
		}
	}
	// The largest usual page of search results is below the limit.
	one := `{"objectClassName":"domain","ldhName":"a.example","status":["active"],"events":[{"eventAction":"registration","eventDate":"2020-01-01T00:00:00Z"}],` +
		`"nameservers":[{"ldhName":"ns1.a.example"},{"ldhName":"ns2.a.example"}],"entities":[{"roles":["registrar"]},{"roles":["registrant"]}],"links":[{"href":"/a"}]}`
	rec, err := Read([]byte(`{"domainSearchResults":[` + one + strings.Repeat(","+one, 999) + `]}`))
	if err != nil || len(rec.Results) != 1000 || len(rec.Results[999].Entities) != 2 || len(rec.Problems) > 0 {
		t.Errorf("%v, %d results, problems %v", err, len(rec.Results), rec.Problems)
	}
}

func TestRangePrefixes(t *testing.T) {
	tests := []struct{ first, last, want string }{
		{"192.0.2.0", "192.0.2.255", "192.0.2.0/24"},
		{"192.0.2.1", "192.0.2.1", "192.0.2.1/32"},
		{"192.0.2.1", "192.0.2.6", "192.0.2.1/32 192.0.2.2/31 192.0.2.4/31 192.0.2.6/32"},
		{"0.0.0.0", "255.255.255.255", "0.0.0.0/0"},
		{"255.255.255.254", "255.255.255.255", "255.255.255.254/31"},
		{"2001:db8::", "2001:db8:2:ffff:ffff:ffff:ffff:ffff", "2001:db8::/47 2001:db8:2::/48"},
		{"::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::/0"},
		{"192.0.2.2", "192.0.2.1", ""},
		{"192.0.2.2", "2001:db8::", ""},
		{"fe80::1%a", "fe80::2%a", ""},
	}
	for _, tt := range tests {
		var got []string
		for _, p := range RangePrefixes(netip.MustParseAddr(tt.first), netip.MustParseAddr(tt.last)) {
			got = append(got, p.String())
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s - %s: %s, want %s", tt.first, tt.last, s, tt.want)
		}
	}
}

// The unambiguous part of a range is read, and a warning reports the rest.
func TestAddressRange(t *testing.T) {
	for _, tt := range []struct{ start, end, first, last, cidrs, problems string }{
		{
			"074.125.000.000", "074.125.255.255", "74.125.0.0", "74.125.255.255", "74.125.0.0/16",
			"startAddress: address has leading zeros; read as decimal|endAddress: address has leading zeros; read as decimal",
		},
		{
			"2001:db8::/32", "2001:db8::/32", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8::/32",
			"startAddress: expected an address, found a prefix|endAddress: expected an address, found a prefix",
		},
		{"192.0.2.0/24", "", "192.0.2.0", "192.0.2.255", "192.0.2.0/24", "startAddress: expected an address, found a prefix"},
		{
			"192.0.2.0/24", "192.0.2.255/24", "192.0.2.0", "192.0.2.255", "192.0.2.0/24",
			"startAddress: expected an address, found a prefix|endAddress: expected an address, found a prefix",
		},
		{" 192.0.2.0 ", "192.0.2.255", "192.0.2.0", "192.0.2.255", "192.0.2.0/24", ""},
		{
			"192.0.2.7/32", "192.0.2.7/32", "192.0.2.7", "192.0.2.7", "192.0.2.7/32",
			"startAddress: expected an address, found a prefix|endAddress: expected an address, found a prefix",
		},
		{"192.0.2.0", "", "192.0.2.0", "", "", ""},
		// The range is ambiguous: a network with host bits, a prefix or an address, octal or
		// decimal numbers.
		{
			"192.0.2.9/24", "192.0.2.9/24", "192.0.2.9", "192.0.2.9", "",
			"startAddress: expected an address, found a prefix|endAddress: expected an address, found a prefix|: startAddress and endAddress do not form a range (lost)",
		},
		{
			"192.0.2.0/24", "192.0.2.0", "192.0.2.0", "192.0.2.0", "",
			"startAddress: expected an address, found a prefix|: startAddress and endAddress do not form a range (lost)",
		},
		{"010.0.0.0", "010.0.0.255", "", "", "", ": startAddress and endAddress are not both IP addresses (lost)"},
		{"n/a", "n/a", "", "", "", ": startAddress and endAddress are not both IP addresses (lost)"},
		{"192.0.2.0/x", "192.0.2.255", "", "192.0.2.255", "", ": startAddress and endAddress are not both IP addresses (lost)"},
		{"300.001.002.003", "300.001.002.003", "", "", "", ": startAddress and endAddress are not both IP addresses (lost)"},
	} {
		raw := []byte(`{"objectClassName":"ip network","startAddress":"` + tt.start + `","endAddress":"` + tt.end + `"}`)
		rec, err := Read(raw)
		if err != nil {
			t.Fatal(err)
		}
		var problems []string
		for _, p := range rec.Problems {
			line := p.Path + ": " + p.Message
			if p.Discarded {
				line += " (lost)"
			}
			problems = append(problems, line)
		}
		if got := strings.Join(problems, "|"); got != tt.problems {
			t.Errorf("%s - %s: problems %s, want %s", tt.start, tt.end, got, tt.problems)
		}
		s, _, err := Summarize(raw)
		if got := strings.Join(s.CIDRs, " "); err != nil || s.Start != tt.first || s.End != tt.last || got != tt.cidrs {
			t.Errorf("%s - %s: %q to %q, %s, want %q to %q, %s", tt.start, tt.end, s.Start, s.End, got, tt.first, tt.last, tt.cidrs)
		}
	}
}

// A nested object that is abbreviated on purpose is not a failure.
func TestInBrief(t *testing.T) {
	const remark = `"remarks":[{"title":"Incomplete Data","type":"object truncated due to unexplainable reasons","description":["%"]}]`
	brief := strings.Replace(remark, "%", "Summary data only. For complete data, send a specific query for the object.", 1)
	broken := strings.Replace(remark, "%", "The database is down.", 1)
	within := func(notice string) string { return `{"objectClassName":"domain","entities":[{` + notice + `}]}` }
	says := func(text string) string { return within(strings.Replace(remark, "%", text, 1)) }
	for body, warned := range map[string]bool{
		says("SUMMARY DATA ONLY"):                                                  false,
		says(`Résumé: summary data only`):                                          false,
		says(`\u0053ummary data only`):                                             false,
		says("YyYqQ FOR complete data, SEND a specific QUERY"):                     false,
		within(strings.Replace(broken, "Incomplete Data", "Summary data only", 1)): false,
		says("data only. Summary"):                                                 true,
		says("query"):                                                              true,
		within(strings.Replace(broken, `[{`, `[{"x":"summary data only",`, 1)):     true,
		`{"objectClassName":"domain","nameservers":[{` + brief + `}],"entities":[{` + brief + `,"entities":[{` + brief + `}]}]}`: false,
		`{"objectClassName":"entity","networks":[{` + brief + `}]}`:                                                              false,
		`{"domainSearchResults":[{` + brief + `}]}`:                                                                              false,
		`{"objectClassName":"domain",` + brief + `}`:                                                                             true,
		`{"objectClassName":"domain","entities":[{` + broken + `}]}`:                                                             true,
	} {
		r, err := Parse([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if list := r.Truncations(); (len(list) > 0) != warned {
			t.Errorf("%s: truncations %v", body, list)
		}
		rec := r.Record()
		if len(rec.Truncations) == 0 {
			t.Fatalf("%s: %+v", body, rec)
		}
		for _, tr := range rec.Truncations {
			if tr.InBrief == warned {
				t.Errorf("%s: %+v", body, tr)
			}
		}
	}
}

// Notices of omitted data, which most responses have in many entities, cause no allocation.
func TestTruncationsDoNotAllocate(t *testing.T) {
	testrun.SkipWithRaceDetector(t) // the race detector empties pools at random
	const entity = `,{"remarks":[{"title":"REDACTED FOR PRIVACY","type":"object redacted due to authorization","description":["Some data was removed."]}]}`
	allocs := func(entities int) float64 {
		raw := []byte(`{"objectClassName":"domain","entities":[{}` + strings.Repeat(entity, entities) + `]}`)
		return testing.AllocsPerRun(20, func() {
			if s := scanOf(raw); len(s.truncations) != 1 || s.truncations[0].more != entities-1 {
				t.Fatalf("%+v", s)
			}
		})
	}
	if one, ten := allocs(1), allocs(10); ten > one {
		t.Errorf("%v allocations for ten notices, %v for one", ten, one)
	}
}

// A record without addresses does not cause a search for a range.
func TestNoRangeDoesNotAllocate(t *testing.T) {
	r := new(reader)
	if n := testing.AllocsPerRun(20, func() { r.fillCIDRs(&Record{}, nil, true) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestStatusForms(t *testing.T) {
	tests := []struct{ in, rdap, epp string }{
		{"clientTransferProhibited", "client transfer prohibited", "clientTransferProhibited"},
		{"client transfer prohibited", "client transfer prohibited", "clientTransferProhibited"},
		{"Client Transfer Prohibited", "client transfer prohibited", "clientTransferProhibited"},
		{"autoRenewPeriod", "auto renew period", "autoRenewPeriod"},
		{"serverHold", "server hold", "serverHold"},
		{"ok", "active", "ok"},
		{"active", "active", "ok"},
		{"linked", "associated", "linked"},
		{"inactive", "inactive", "inactive"},
		{"CLIENT_TRANSFER_PROHIBITED", "client transfer prohibited", "clientTransferProhibited"},
		{"Client-Transfer-Prohibited", "client transfer prohibited", "clientTransferProhibited"},
		{"ClientTransferProhibited", "client transfer prohibited", "clientTransferProhibited"},
		{"clientTransferProhibited https://icann.org/epp#clientTransferProhibited", "client transfer prohibited", "clientTransferProhibited"},
		{"OK", "active", "ok"},
		{"on-hold", "on-hold", "on-hold"},
		{"redemptionPeriod", "redemption period", "redemptionPeriod"},
		{"Redemption Period https://icann.org/epp#redemptionPeriod", "redemption period", "redemptionPeriod"},
		{"some new word", "some new word", "someNewWord"},
		{"été ñandú ñ", "été ñandú ñ", "étéñandúñ"},
		{"", "", ""},
	}
	for _, tt := range tests {
		got, _ := ParseStatus(tt.in)
		if string(got) != tt.rdap {
			t.Errorf("ParseStatus(%q) = %q, want %q", tt.in, got, tt.rdap)
		}
		if epp := got.EPP(); epp != tt.epp {
			t.Errorf("%q.EPP() = %q, want %q", got, epp, tt.epp)
		}
	}
}

// Collected and contributed bodies must be readable despite their defects, and
// Compact must return JSON for them.
func TestSharedBodies(t *testing.T) {
	dir := os.Getenv("RDAPQ_SHARED")
	if dir == "" {
		t.Skip("RDAPQ_SHARED is not set")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "bodies", "*"))
	cases, _ := filepath.Glob(filepath.Join(dir, "cases", "*.json"))
	objects := 0
	for _, file := range append(files, cases...) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		class, err := Classify(raw)
		if err != nil {
			t.Log(filepath.Base(file), err)
		}
		rec, err := Read(raw)
		if err != nil {
			if class != "" {
				t.Errorf("%s: class %s, but %v", file, class, err)
			}
			continue
		}
		if class != "" && rec.Class != class {
			t.Errorf("%s: class %q by Classify, %q by Read", file, class, rec.Class)
		}
		checkCompact(t, raw)
		if class != "" {
			objects++
		}
		for i := range rec.Entities {
			rec.Entities[i].Contact()
		}
		if _, _, err := Summarize(raw); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	if objects < 60 {
		t.Errorf("only %d responses among %d files", objects, len(files)+len(cases))
	}
}

func FuzzRecord(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		rec, err := Read(raw)
		if err != nil {
			if rec != nil {
				t.Fatal("a record and an error")
			}
			return
		}
		if class, err := Classify(raw); err == nil && class != rec.Class && rec.ErrorCode == 0 {
			t.Fatalf("class %q by Classify, %q by Read", class, rec.Class)
		}
		if len(rec.Problems) > maxProblems {
			t.Fatalf("%d problems", len(rec.Problems))
		}
		rec.Contact()
		for i := range rec.Entities {
			rec.Entities[i].Contact()
		}
	})
}

func FuzzSummary(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, problems, err := Summarize(raw)
		if len(problems) > maxProblems {
			t.Fatalf("%d problems", len(problems))
		}
		if err != nil && !cmp.Equal(s, Summary{}) {
			t.Fatalf("a summary and an error: %+v", s)
		}
		row, _, compactErr := Compact(nil, raw)
		if (err == nil) && compactErr != nil {
			t.Fatalf("summarized, but %v", compactErr)
		}
		if err != nil {
			return
		}
		same, _, err := Summarize(row)
		if err != nil || !cmp.Equal(s, same) {
			t.Fatalf("%v; the summary of the compact response differs:\n%s", err, cmp.Diff(s, same))
		}
	})
}

func seed(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.json")
	shapes, _ := filepath.Glob("testdata/shapes/*")
	for _, file := range append(files, shapes...) {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte("\xef\xbb\xbf{\"objectClassName\":\"domain\",\"handle\":\"a\xff\nb\\ud800\"} x"))
	f.Add([]byte(`{"objectClassName":{},"errorCode":"x","entities":[null,[],{"vcardArray":["vcard",[["adr",[],"text",[[[]]]]]]}]}`))
}

func TestUnicodeName(t *testing.T) {
	for _, tt := range []struct {
		ldh, unicode string
		keep         bool
	}{
		{"xn--bcher-kva.example", "bücher.example", true},
		{"XN--BCHER-KVA.EXAMPLE.", "Bücher.example", true},
		{"xn--bcher-kva.example", "bücher。example.", true},
		{"xn--bcher-kva.example", "bu\u0308cher.example", true},
		{"xn--strae-oqa.example", "straße.example", true},
		{"xn--i-7iq.example", "i❤.example", true},
		{"plain.example", "PLAIN.example.", true},
		{"bücher.example", "bücher.example", true},
		{"", "bücher.example", true},
		{"xn--bcher-kva.example", "paypal.example", false},
		{"xn--bcher-kva.example", "bücher.example.evil", false},
		{"xn--bcher-kva.example", "bucher.example", false},
		{"paypal.example", "pаypal.example", false}, // the first letter "a" is Cyrillic
		{"xn--zzz-.example", "x.example", false},
		{"a.example", "a.example\u202e", false},
	} {
		want, problems := tt.unicode, 0
		if !tt.keep {
			want, problems = "", 1
		}
		names := `"ldhName":"` + tt.ldh + `","unicodeName":"` + tt.unicode + `"`
		for class, body := range map[string]string{
			ClassDomain:     `{"objectClassName":"domain",` + names + `}`,
			ClassNameserver: `{"objectClassName":"nameserver",` + names + `}`,
		} {
			rec, err := Read([]byte(body))
			if err != nil || rec.UnicodeName != want || len(rec.Problems) != problems {
				t.Errorf("%s %s: %q, problems %v, %v", class, names, rec.UnicodeName, rec.Problems, err)
			}
			s, lost, err := Summarize([]byte(body))
			if err != nil || s.UnicodeName != want || len(lost) != problems || problems > 0 && (!lost[0].Discarded || !strings.Contains(lost[0].Message, "is not the Unicode form")) {
				t.Errorf("%s %s: summary %q, %v, %v", class, names, s.UnicodeName, lost, err)
			}
		}
		rec, err := Read([]byte(`{"objectClassName":"domain","nameservers":[{` + names + `}],"variants":[{"variantNames":[{` + names + `}]}]}`))
		if err != nil || rec.Nameservers[0].UnicodeName != want || rec.Variants[0].Names[0].UnicodeName != want || len(rec.Problems) != 2*problems {
			t.Errorf("%s inside: %+v, %v", names, rec, err)
		}
	}
}
