package client

import (
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	for _, tt := range []struct {
		as   Type
		text string
		typ  Type
		url  string // requested URL; empty if the query is for the host
		base string
		str  string
	}{
		{"", "https://rdap.example/domain/alpha.example", TypeDomain, "https://rdap.example/domain/alpha.example", "https://rdap.example/", "alpha.example"},
		{"", " https://rdap.example/com/v1/domain/ALPHA.COM ", TypeDomain, "https://rdap.example/com/v1/domain/ALPHA.COM", "https://rdap.example/com/v1/", "alpha.com"},
		{"", "HTTPS://rdap.example/domain/alpha.example/", TypeDomain, "https://rdap.example/domain/alpha.example/", "https://rdap.example/", "alpha.example"},
		{"", "https://user:secret@rdap.example:8443/domain/alpha.example?jscard=1#top", TypeDomain, "https://rdap.example:8443/domain/alpha.example?jscard=1", "https://rdap.example:8443/", "alpha.example"},
		{"", "https://rdap.example/domain/bücher.example", TypeDomain, "https://rdap.example/domain/xn--bcher-kva.example", "https://rdap.example/", "xn--bcher-kva.example"},
		{"", "https://rdap.example/domain/B%C3%9Ccher.example/?a=%C3%BC", TypeDomain, "https://rdap.example/domain/xn--bcher-kva.example/?a=%C3%BC", "https://rdap.example/", "xn--bcher-kva.example"},
		{"", "https://rdap.example/a%2Fb/nameserver/ns1.bücher.example", TypeNameserver, "https://rdap.example/a%2Fb/nameserver/ns1.xn--bcher-kva.example", "https://rdap.example/a%2Fb/", "ns1.xn--bcher-kva.example"},
		{"", "https://rdap.example/entity/Häns", TypeEntity, "https://rdap.example/entity/H%C3%A4ns", "https://rdap.example/", "Häns"},
		{"", "https://rdap.bücher.example/domain/a.example", TypeDomain, "https://rdap.xn--bcher-kva.example/domain/a.example", "https://rdap.xn--bcher-kva.example/", "a.example"},
		{"", "https://rdap.bücher.example:8443/domain/a.example", TypeDomain, "https://rdap.xn--bcher-kva.example:8443/domain/a.example", "https://rdap.xn--bcher-kva.example:8443/", "a.example"},
		{"", "https://192.0.2.1/rdap/ip/2001:db8::%2F32", TypeIP, "https://192.0.2.1/rdap/ip/2001:db8::%2F32", "https://192.0.2.1/rdap/", "2001:db8::/32"},
		{"", "https://[2001:db8::1]/ip/192.0.2.0/24", TypeIP, "https://[2001:db8::1]/ip/192.0.2.0/24", "https://[2001:db8::1]/", "192.0.2.0/24"},
		{"", "http://rdap.example/autnum/AS102", TypeAutnum, "http://rdap.example/autnum/AS102", "http://rdap.example/", "AS102"},
		{"", "https://registry.example/rdap/entity/A%2FB-EX", TypeEntity, "https://registry.example/rdap/entity/A%2FB-EX", "https://registry.example/rdap/", "A/B-EX"},
		{"", "https://rdap.example/nameserver/ns1.alpha.example", TypeNameserver, "https://rdap.example/nameserver/ns1.alpha.example", "https://rdap.example/", "ns1.alpha.example"},
		{"", "https://rdap.example/help", TypeHelp, "https://rdap.example/help", "https://rdap.example/", "help"},
		{"", "https://rdap.example/domains?name=exam*.com&cursor=b2Zmc2V0PTI=&x=%20", TypeDomains, "https://rdap.example/domains?name=exam*.com&cursor=b2Zmc2V0PTI=&x=%20", "https://rdap.example/", "domains name=exam*.com&cursor=b2Zmc2V0PTI=&x= "},
		{"", "https://rdap.example/registry/ips/rirSearch1/rdap-up/192.0.2.0/24?status=active", TypeIPs, "https://rdap.example/registry/ips/rirSearch1/rdap-up/192.0.2.0/24?status=active", "https://rdap.example/registry/", "ips rdap-up:192.0.2.0/24, active"},
		{"", "https://rdap.example/domain/ip/192.0.2.1", TypeIP, "https://rdap.example/domain/ip/192.0.2.1", "https://rdap.example/domain/", "192.0.2.1"},
		{TypeHelp, "https://192.0.2.1/help", TypeHelp, "https://192.0.2.1/help", "https://192.0.2.1/", "help"},
		{TypeDomain, "https://192.0.2.1/domain/com", TypeDomain, "https://192.0.2.1/domain/com", "https://192.0.2.1/", "com"},

		// The URLs of web pages are not RDAP URLs, and their host is looked up.
		{"", "https://www.alpha.example/", TypeDomain, "", "", "www.alpha.example"},
		{"", "https://www.alpha.example/help", TypeDomain, "", "", "www.alpha.example"},
		{"", "https://www.alpha.example/domain/search", TypeDomain, "", "", "www.alpha.example"},
		{"", "https://www.alpha.example/domains?name=beta", TypeDomain, "", "", "www.alpha.example"},
		{"", "https://www.alpha.example/ip/what", TypeDomain, "", "", "www.alpha.example"},
		{"", "https://192.0.2.1/", TypeIP, "", "", "192.0.2.1"},
	} {
		q, err := ParseAs(tt.as, tt.text)
		if err != nil {
			t.Errorf("ParseAs(%q, %q): %v", tt.as, tt.text, err)
			continue
		}
		if q.Type != tt.typ || q.URL != tt.url || q.String() != tt.str || q.Text != tt.text {
			t.Errorf("ParseAs(%q, %q) = %s %q, URL %q, text %q", tt.as, tt.text, q.Type, q, q.URL, q.Text)
		}
		if tt.url == "" {
			continue
		}
		if a, e := q.serverOfURL(); e != nil || a.URLs[0] != tt.base {
			t.Errorf("%q is at %q, %v; want %q", tt.text, a.URLs, e, tt.base)
		}
	}
	for as, text := range map[Type]string{TypeIP: "https://rdap.example/domain/alpha.example", TypeDomain: "https://rdap.example/domain/a..b"} {
		if q, err := ParseAs(as, text); err == nil {
			t.Errorf("ParseAs(%q, %q) = %+v", as, text, q)
		}
	}
}

func TestServerOfURL(t *testing.T) {
	q, err := Parse("https://rdap.example/domain/alpha.example")
	if err != nil {
		t.Fatal(err)
	}
	for server, fine := range map[string]bool{"": true, "https://rdap.example/": true, "rdap.example": true, "https://rdap.example:443/com/": true, "https://rdap.other.example/": false, "http://rdap.example/": false} {
		q.Server = server
		_, e := q.serverOfURL()
		if (e == nil) != fine {
			t.Errorf("server %q: %v", server, e)
		}
		if e != nil && !strings.Contains(e.Message, "another server") {
			t.Error(e)
		}
	}
}
