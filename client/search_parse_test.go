package client

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/bootstrap"
)

func TestParseSearch(t *testing.T) {
	for _, tt := range []struct {
		typ  Type
		text string
		path string
		str  string
	}{
		{TypeDomains, "name=exam*.com", "domains?name=exam*.com", "domains name=exam*.com"},
		{TypeDomains, " EXAM*.Com. ", "domains?name=exam*.com", "domains name=exam*.com"},
		{TypeDomains, "nsldhname=NS1.*", "domains?nsLdhName=ns1.*", "domains nsLdhName=ns1.*"},
		{TypeDomains, "nsIp=192.0.2.1", "domains?nsIp=192.0.2.1", ""},
		{TypeDomains, "nsip=2001:DB8:0::1", "domains?nsIp=2001:db8::1", ""},
		{TypeNameservers, "ns*.example", "nameservers?name=ns*.example", ""},
		{TypeNameservers, "ip=2001:db8::1", "nameservers?ip=2001:db8::1", ""},
		{TypeNameservers, "ip=192.0.2.*", "nameservers?ip=192.0.2.*", ""},
		{TypeEntities, "fn=Bobby Joe*", "entities?fn=Bobby%20Joe*", "entities fn=Bobby Joe*"},
		{TypeEntities, "fn=Smith & Sons", "entities?fn=Smith%20%26%20Sons", ""},
		{TypeEntities, "handle=AbC-*", "entities?handle=AbC-*", ""},
		{TypeEntities, "handle=A%42+#/", "entities?handle=A%2542%2B%23%2F", ""}, // the handle is unchanged
		// the value is in NFC, with letter case unchanged
		{TypeEntities, "fn=Mu\u0308ller*", "entities?fn=M%C3%BCller*", ""},
		{TypeIPs, "handle=NET-192*", "ips?handle=NET-192*", ""},
		{TypeIPs, "name=EXAMPLE-*", "ips?name=EXAMPLE-*", ""},
		{TypeAutnums, "name=EX AMPLE*", "autnums?name=EX%20AMPLE*", ""},

		// Names become A-labels, or U-labels if the pattern has a part of a U-label; the two
		// are never mixed.
		{TypeDomains, "bücher.example", "domains?name=xn--bcher-kva.example", ""},
		{TypeDomains, "exam*.рф", "domains?name=exam*.xn--p1ai", ""},
		{TypeDomains, "BÜ*.example", "domains?name=b%C3%BC*.example", ""},
		{TypeDomains, "bü*.xn--p1ai", "domains?name=b%C3%BC*.%D1%80%D1%84", ""},
		{TypeDomains, "ü＊.example", "domains?name=%C3%BC*.example", ""},
		{TypeDomains, "bü*.xn--", "domains?name=b%C3%BC*.xn--", ""},
		{TypeDomains, "bu\u0308*。example", "domains?name=b%C3%BC*.example", ""},

		{TypeIPs, "rdap-up:192.0.2.0/24", "ips/rirSearch1/rdap-up/192.0.2.0/24", "ips rdap-up:192.0.2.0/24"},
		{TypeIPs, "down:2001:DB8::/32", "ips/rirSearch1/rdap-down/2001:db8::/32", ""},
		{TypeIPs, "rdap-bottom:10/8?status=active", "ips/rirSearch1/rdap-bottom/10.0.0.0/8?status=active", "ips rdap-bottom:10.0.0.0/8, active"},
		{TypeAutnums, "TOP:AS64496", "autnums/rirSearch1/rdap-top/64496", "autnums rdap-top:AS64496"},
		{TypeAutnums, "down:64496-64511", "autnums/rirSearch1/rdap-down/64496-64511", "autnums rdap-down:AS64496-AS64511"},
		{TypeAutnums, "rdap-up:AS64496-AS64511?status=active", "autnums/rirSearch1/rdap-up/64496-64511?status=active", "autnums rdap-up:AS64496-AS64511, active"},
		{TypeAutnums, "up:64496-64496", "autnums/rirSearch1/rdap-up/64496", ""},
		{"", "autnums/rirSearch1/rdap-bottom/64496-64511", "autnums/rirSearch1/rdap-bottom/64496-64511", ""},
		{TypeDomains, "rdap-up:2.0.192.in-addr.arpa", "domains/rirSearch1/rdap-up/2.0.192.in-addr.arpa", ""},

		{TypeDomains, "entity:email=x@alpha.example", "domains/reverse_search/entity?email=x%40alpha.example", "domains entity:email=x@alpha.example"},
		{TypeIPs, "Entity:fn=Smith & Sons*&role=technical", "ips/reverse_search/entity?fn=Smith%20%26%20Sons*&role=technical", "ips entity:fn=Smith & Sons*&role=technical"},
		{TypeEntities, "entity:handle=CID-40*", "entities/reverse_search/entity?handle=CID-40*", ""},

		// Paths are recognized without a type.
		{"", "domains?name=exam*.com", "domains?name=exam*.com", ""},
		{"", "domains?name=exam%2A.com&count=true&sort=name:d,registrationDate&fieldSet=brief", "domains?name=exam*.com&count=true&sort=name:d,registrationDate&fieldSet=brief", ""},
		{"", "Entities?fn=a%26b%20c+d", "entities?fn=a%26b%20c%2Bd", ""},
		{"", "nameservers?ip=192.0.2.1", "nameservers?ip=192.0.2.1", ""},
		{"", "ips/rirSearch1/rdap-up/192.0.2.0/24?status=active", "ips/rirSearch1/rdap-up/192.0.2.0/24?status=active", ""},
		{"", "ips/rirSearch1/down/2001%3adb8::%2f32", "ips/rirSearch1/rdap-down/2001:db8::/32", ""},
		{"", "domains/reverse_search/entity?email=x@alpha.example&role=registrant", "domains/reverse_search/entity?email=x%40alpha.example&role=registrant", ""},
		{"", "autnums/reverse_search/entity?x_own=1", "autnums/reverse_search/entity?x_own=1", ""},
		{TypeDomains, "domains?name=exam*.com", "domains?name=exam*.com", ""},
	} {
		q, err := ParseAs(tt.typ, tt.text)
		if err != nil {
			t.Errorf("ParseAs(%q, %q): %v", tt.typ, tt.text, err)
			continue
		}
		if q.Path() != tt.path || q.Text != tt.text || q.Search == nil || tt.str != "" && q.String() != tt.str {
			t.Errorf("ParseAs(%q, %q) = path %q, %q; want %q, %q", tt.typ, tt.text, q.Path(), q, tt.path, tt.str)
		}
	}
}

func TestParseSearchInvalid(t *testing.T) {
	for _, tt := range []struct {
		typ  Type
		text string
		want string
	}{
		{TypeDomains, "", "empty search"},
		{TypeDomains, "*", "pattern is empty"},
		{TypeDomains, "name=", "pattern is empty"},
		{TypeDomains, "*.", "pattern is empty"},
		{TypeDomains, "a*b*.com", "more than one *"},
		{TypeDomains, "a*\u0308b.com", "combining"},
		{TypeDomains, "fn=alpha", `by "fn"`},
		{TypeDomains, "name=exam*.com&count=true", "not a valid pattern for names"},
		{TypeDomains, "exam *.com", "not a valid pattern for names"},
		{TypeDomains, "a´b.example", "not a valid pattern for names"}, // the accent is mapped to a space
		{TypeDomains, "a..b*", "empty label"},
		{TypeDomains, "\u00ad.example", "empty label"}, // the soft hyphen is removed
		{TypeDomains, "a＊﹡.example", "more than one *"},
		{TypeDomains, "exam*\x1b.com", "control"},
		{TypeDomains, "exam*\xff.com", "UTF-8"},
		{TypeDomains, "nsIp=192.0.2.0/24", "not by a prefix"},
		{TypeDomains, "nsIp=alpha*", "addresses"},
		{TypeDomains, "rdap-up:alpha.example", "only reverse domain names"},
		{TypeDomains, "registrar:handle=A", "no reverse search by"},
		{TypeDomains, "entity:fn=a&fn=b", `duplicate condition "fn"`},
		{TypeDomains, "entity:=b", "not a valid condition"},
		{TypeEntities, "ABC*", "missing search parameter"},
		{TypeEntities, "rdap-up:ABC", "by relation"},
		{TypeIPs, "192.0.2.0/24", "missing search parameter"},
		{TypeIPs, "rdap-up:alpha", "not a valid IPv4"},
		{TypeAutnums, "rdap-up:64511-64496", "ends before it starts"},
		{TypeAutnums, "rdap-up:64496-", "not a valid AS number"},
		{TypeAutnums, "rdap-up:64496-64500-64511", "AS number"},
		{TypeIPs, "rdap-up:192.0.2.0/24?status=inactive", "does not support the condition"},
		{TypeAutnums, "up:65536.1.1", "asdot"},
		{"", "domains?name=%zz", "percent-encoding"},
		{"", "domains?", "exactly one condition"},
		{"", "domains?name=a*&nsIp=192.0.2.1", "exactly one condition"},
		{"", "domains?name=a*&cursor=x", "cursor"},
		{"", "domains?name=a*&sort=x:up", "sort property"},
		{"", "domains?name=a*&fieldSet=a%20b", "field set"},
		{"", "domains/what?name=a*", "not a valid search path"},
		{"", "ips/rirSearch1/rdap-left/192.0.2.1", "not a valid relation"},
		{"", "domains/reverse_search/entity", "no condition"},
		{TypeEntities, "domains?name=a*", "not for entities"},
	} {
		q, err := ParseAs(tt.typ, tt.text)
		e, ok := errors.AsType[*Error](err)
		switch {
		case !ok:
			t.Errorf("ParseAs(%q, %q) = %q, %v; want an *Error", tt.typ, tt.text, q.Path(), err)
		case e.Code != CodeInvalid || !strings.Contains(e.Message, tt.want):
			t.Errorf("ParseAs(%q, %q): %s; want %q in it", tt.typ, tt.text, e.Message, tt.want)
		case q.Type != "" || q.Search != nil:
			t.Errorf("ParseAs(%q, %q) left %+v", tt.typ, tt.text, q)
		}
	}
}

// TestSearchQuestion covers searches with and without a responsible registry.
func TestSearchQuestion(t *testing.T) {
	for _, tt := range []struct {
		typ   Type
		text  string
		class bootstrap.Subject
		want  string
	}{
		{TypeDomains, "name=exam*.com", bootstrap.ForDomain, "com"},
		{TypeDomains, "name=exam*.co.zz", bootstrap.ForDomain, "co.zz"},
		{TypeDomains, "name=a*.b.рф", bootstrap.ForDomain, "b.xn--p1ai"},
		{TypeDomains, "name=example.com", bootstrap.ForDomain, "example.com"},
		{TypeNameservers, "name=ns*.example.com", bootstrap.ForNameserver, "example.com"},
		{TypeIPs, "rdap-up:192.0.2.0/24", bootstrap.ForAddress, "192.0.2.0/24"},
		{TypeAutnums, "rdap-up:64496", bootstrap.ForAutnum, "64496"},
		{TypeDomains, "rdap-up:2.0.192.in-addr.arpa", bootstrap.ForDomain, "2.0.192.in-addr.arpa"},
		{TypeAutnums, "rdap-up:64496-64511", bootstrap.ForAutnum, "64496"},
		{TypeEntities, "handle=AB*-EXM", bootstrap.ForEntity, "AB*-EXM"},
		{TypeEntities, "handle=AB-E*", 0, "no registry is authoritative"},
		{TypeEntities, "handle=AB*-", 0, "no registry is authoritative"},
		{TypeDomains, "name=exam*", 0, "top-level domain"},
		{TypeDomains, "nsLdhName=ns1.example.com", 0, "no registry is authoritative"},
		{TypeNameservers, "ip=192.0.2.1", 0, "no registry is authoritative"},
		{TypeEntities, "handle=ABC*", 0, "no registry is authoritative"},
		{TypeIPs, "name=EX*", 0, "no registry is authoritative"},
		{TypeDomains, "entity:fn=A", 0, "no registry is authoritative"},
	} {
		q, err := ParseAs(tt.typ, tt.text)
		if err != nil {
			t.Error(err)
			continue
		}
		question, ok := q.Question()
		if tt.class == 0 {
			if e := q.noServer(); ok || !strings.Contains(e.Message, tt.want) || e.Hint == "" {
				t.Errorf("%s: %v, %v", tt.text, question, e)
			}
			continue
		}
		got := map[bootstrap.Subject]string{
			bootstrap.ForDomain: question.Name, bootstrap.ForNameserver: question.Name, bootstrap.ForAddress: question.Prefix.String(), bootstrap.ForAutnum: q.related().object(), bootstrap.ForEntity: question.Name,
		}[tt.class]
		if !ok || question.For != tt.class || got != tt.want {
			t.Errorf("%s: %+v", tt.text, question)
		}
	}
}

func TestDuplicateSearches(t *testing.T) {
	key := func(text string) lookupKey {
		q, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return q.lookupKey("https://rdap.example/")
	}
	if key("domains?name=a*.com") == key("domains?name=b*.com") ||
		key("https://rdap.example/domain/a.example") == key("https://rdap.example/domain/A.example") {
		t.Error("different questions count as one")
	}
	if key("domains?name=a*.com") != key("domains?name=A*.COM") || key("a.example") != key("A.example") ||
		key("10/8") != key("10.0.0.0/8") {
		t.Error("one question counts as two")
	}
}

func FuzzParseSearch(f *testing.F) {
	for _, seed := range []string{
		"name=exam*.com", "entity:email=x@a.example&role=technical", "rdap-up:192.0.2.0/24?status=active", "rdap-down:2001:db8::/32",
		"domains?name=%2A.com&count=true&sort=a:d", "ips/rirSearch1/rdap-up/192.0.2.0/24", "bü*.xn--p1ai", "bü*.xn--", "db8:2/\x1b", "fn=a*\u0308", "https://rdap.example/domains?name=a*",
		"ips/rirSearch1/up/10/8", "10/8", "192.0.2.1%eth0", "autnums/reverse_search/entity?handle=%41",
	} {
		for _, typ := range []string{"", "domains", "nameservers", "entities", "ips", "autnums"} {
			f.Add(typ, seed)
		}
	}
	f.Fuzz(func(t *testing.T, typ, text string) {
		q, err := ParseAs(Type(typ), text)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeInvalid || strings.ContainsAny(e.Message+e.Hint, "\n\r\x1b") {
				t.Fatalf("%q: %#v", text, err)
			}
			return
		}
		_, _ = q.Question()
		_ = q.String()
		path := q.Path()
		if u, err := url.Parse("https://rdap.example/" + path); err != nil || u.Host != "rdap.example" || u.Fragment != "" || strings.ContainsAny(path, " \n\r\t\"<>") {
			t.Fatalf("%q: path %q, %v", text, path, err)
		}
		if q.URL != "" {
			if u, err := url.Parse(q.URL); err != nil || u.User != nil || u.Fragment != "" {
				t.Fatalf("%q: URL %q, %v", text, q.URL, err)
			}
			if _, e := q.serverOfURL(); e != nil {
				t.Fatalf("%q: %v", text, e)
			}
			return
		}
		if q.Search == nil {
			return
		}
		again, err := Parse(path)
		if err != nil || again.Path() != path {
			t.Fatalf("%q: path %q, read again %q, %v", text, path, again.Path(), err)
		}
	})
}
