package client

import (
	"errors"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/safetext"
)

func TestParse(t *testing.T) {
	long := strings.Repeat("a", 63)
	for _, tt := range []struct {
		text string
		typ  Type
		path string
	}{
		{"example.com", TypeDomain, "domain/example.com"},
		{"  Example.COM.  ", TypeDomain, "domain/example.com"},
		{"com", TypeDomain, "domain/com"},
		{" https://www.Example.com/path?q=a@b ", TypeDomain, "domain/www.example.com"},
		{"https://user:pw@www.example.com:8443", TypeDomain, "domain/www.example.com"},
		{"HTTP://bücher.example/%zz", TypeDomain, "domain/xn--bcher-kva.example"},
		{"https://192.0.2.1/", TypeIP, "ip/192.0.2.1"},
		{"https://[2001:db8::1]:443/#x", TypeIP, "ip/2001:db8::1"},
		{"https://64496.example/", TypeDomain, "domain/64496.example"},
		{"user@example.com", TypeDomain, "domain/example.com"},
		{"mailto:first.last+tag@example.co.uk?subject=a", TypeDomain, "domain/example.co.uk"},
		{"bücher.example", TypeDomain, "domain/xn--bcher-kva.example"},
		{"BÜCHER。example", TypeDomain, "domain/xn--bcher-kva.example"},
		{"ｅｘａｍｐｌｅ．ｃｏｍ", TypeDomain, "domain/example.com"},
		{"alpha｡example", TypeDomain, "domain/alpha.example"},
		{"faß.example", TypeDomain, "domain/xn--fa-hia.example"},
		{"☕.example", TypeDomain, "domain/xn--53h.example"},
		{"☕\ufe0f.example", TypeDomain, "domain/xn--53h.example"},
		{"xn--53h.example", TypeDomain, "domain/xn--53h.example"},
		{"XN--53H.example", TypeDomain, "domain/xn--53h.example"},
		{"r3---sn-x.example", TypeDomain, "domain/r3---sn-x.example"},
		{".", TypeDomain, "domain/."},
		{"bu\u0308cher.example", TypeDomain, "domain/xn--bcher-kva.example"},
		{"ﬁ.example", TypeDomain, "domain/fi.example"},
		{"👩\u200d💻.example", TypeDomain, "domain/xn--1ug1855pcha.example"},
		{"a\u200db.example", TypeDomain, "domain/xn--ab-m1t.example"},
		{"ab--ü.example", TypeDomain, "domain/xn--ab---3ra.example"},
		{"例え.テスト", TypeDomain, "domain/xn--r8jz45g.xn--zckzah"},
		{"пример.рф", TypeDomain, "domain/xn--e1afmkfd.xn--p1ai"},
		{"_dmarc.alpha.example", TypeDomain, "domain/_dmarc.alpha.example"},
		{"ns1.alpha.example", TypeDomain, "domain/ns1.alpha.example"},
		{"nsx.alpha.example", TypeDomain, "domain/nsx.alpha.example"},
		{"alpha.gov.example", TypeDomain, "domain/alpha.gov.example"},
		{long + ".example", TypeDomain, "domain/" + long + ".example"},
		{"2.0.192.in-addr.arpa", TypeDomain, "domain/2.0.192.in-addr.arpa"},
		{"8.B.D.0.1.0.0.2.ip6.arpa.", TypeDomain, "domain/8.b.d.0.1.0.0.2.ip6.arpa"},
		{"in-addr.arpa", TypeDomain, "domain/in-addr.arpa"},

		{"192.0.2.1", TypeIP, "ip/192.0.2.1"},
		{"192.0.2.0/24", TypeIP, "ip/192.0.2.0/24"},
		{"192.0.2.7/24", TypeIP, "ip/192.0.2.7/24"},
		{"192.0.2.7/32", TypeIP, "ip/192.0.2.7"},
		{"0.0.0.0/0", TypeIP, "ip/0.0.0.0/0"},
		{"2001:DB8:0:0::0/32", TypeIP, "ip/2001:db8::/32"},
		{"2001:db8::0001", TypeIP, "ip/2001:db8::1"},
		{"[2001:db8::1]", TypeIP, "ip/2001:db8::1"},
		{"::", TypeIP, "ip/::"},
		{"::ffff:192.0.2.1", TypeIP, "ip/192.0.2.1"},

		{"AS64496", TypeAutnum, "autnum/64496"},
		{"as64496", TypeAutnum, "autnum/64496"},
		{"As 64496", TypeAutnum, "autnum/64496"},
		{"64496", TypeAutnum, "autnum/64496"},
		{"AS1.10", TypeAutnum, "autnum/65546"},
		{"4294967295", TypeAutnum, "autnum/4294967295"},
		{"as.example", TypeDomain, "domain/as.example"},
		{"as64496.example", TypeDomain, "domain/as64496.example"},
	} {
		q, err := Parse(tt.text)
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.text, err)
			continue
		}
		if q.Type != tt.typ || q.Path() != tt.path || q.Text != tt.text {
			t.Errorf("Parse(%q) = %s, path %q, text %q; want %s, %q", tt.text, q.Type, q.Path(), q.Text, tt.typ, tt.path)
		}
	}
}

func TestParseAs(t *testing.T) {
	for _, tt := range []struct {
		typ    Type
		text   string
		path   string
		string string
	}{
		{TypeNameserver, "NS1.Alpha.Example.", "nameserver/ns1.alpha.example", "ns1.alpha.example"},
		{TypeEntity, " HANDLE X ", "entity/HANDLE%20X", "HANDLE X"},
		{TypeEntity, "a/b?c=d&e#f+g%h", "entity/a%2Fb%3Fc%3Dd%26e%23f%2Bg%25h", "a/b?c=d&e#f+g%h"},
		{TypeEntity, "..", "entity/%2E%2E", ".."},
		{TypeEntity, "Häns-RIPE", "entity/H%C3%A4ns-RIPE", "Häns-RIPE"},
		{TypeEntity, "292", "entity/292", "292"},
		{TypeAutnum, "0.10", "autnum/10", "AS10"},
		{TypeHelp, "", "help", "help"},
		{TypeHelp, "help", "help", "help"},
		{TypeDomain, "64496", "domain/64496", "64496"},
		{TypeIP, "2001:db8::/32", "ip/2001:db8::/32", "2001:db8::/32"},
		{"", "192.0.2.1", "ip/192.0.2.1", "192.0.2.1"},
	} {
		q, err := ParseAs(tt.typ, tt.text)
		if err != nil {
			t.Errorf("ParseAs(%s, %q): %v", tt.typ, tt.text, err)
			continue
		}
		if q.isEmpty() != (tt.path == "") || q.Path() != tt.path || q.String() != tt.string {
			t.Errorf("ParseAs(%s, %q) = path %q, %q; want %q, %q", tt.typ, tt.text, q.Path(), q, tt.path, tt.string)
		}
	}
}

func TestParseInvalid(t *testing.T) {
	label64 := strings.Repeat("a", 64)
	name254 := strings.Repeat(strings.Repeat("a", 49)+".", 5) + "abcd"
	for _, tt := range []struct {
		typ  Type
		text string
		want string // part of the message
	}{
		{"", "", "query is empty"},
		{"", "  ", "query is empty"},
		{"", "..", "empty label"},
		{TypeNameserver, ".", "name is empty"},
		{"", "a..example", "empty label"},
		{"", "..example", "empty label"},
		{"", "-alpha.example", "hyphen"},
		{"", "alpha-.example", "hyphen"},
		{"", "alpha.-", "hyphen"},
		{TypeNameserver, "ns1.-alpha.example", "hyphen"},
		{"", "https://rdap.example/domain/-alpha.example", "hyphen"},
		{"", "-bücher.example", "Punycode"},
		{"", "xn--zzzzzz999.example", "Punycode"},
		{"", "xn--123123.example", "Punycode"},
		{"", "xn--.example", "hyphen"},
		{"", "xn--abc-.example", "hyphen"},
		{"", "alpha.xn--0", "Punycode"},
		{"", label64 + ".example", "64 bytes; the maximum is 63"},
		{"", strings.Repeat("ü", 60) + ".example", "the maximum is 63"},
		{"", name254, "254 bytes; the maximum is 253"},
		{"", "alpha beta.example", "space"},
		{"", "alpha\x1b.example", "control"},
		{"", "alpha\xff.example", "UTF-8"},
		{"", "https:///domain/a.example", "URL"},
		{"", "a b://www.example.com/", "URL"},
		{"", "https://[2001:db8::1/", "URL"},
		{"", "https://user@/", "URL"},
		{"", "@alpha.example", "e-mail"},
		{"", "someone@", "e-mail"},
		{"", "a@b@alpha.example", "e-mail"},
		{"", "some one@alpha.example", "e-mail"},
		{"", "someone@alpha.example/path", "not a valid domain name"},
		{"", "domain/alpha.example", "not a valid domain name"},
		{"", "℀.example", "not a valid domain name"},
		{"", "a\u3000b.example", "space"},
		{"", "fe80::1%eth0", "zone"},
		{"", "2001:db8::g", "IPv6"},
		{"", "2001:db8::/129", "0 to 128"},
		{"", "192.0.2.0/33", "0 to 32"},
		{"", "192.0.2.0/024", "0 to 32"},
		{"", "192.0.2.0/", "0 to 32"},
		{"", "192.0.2", "four octets"},
		{"", "10/24", "longer than the octets"},
		{"", "10/08", "four octets"},
		{"", "192.0.2.1%eth0", "zone"},
		{"", "192.0.2.0%eth0/24", "zone"},
		{"", "2001:db8/32", "IPv6"},
		{"", "192.0.02.1", "leading zero"},
		{"", "192.0.2.256", "0 to 255"},
		{"", "1.2.3.4.5", "IPv4"},
		{"", "192.0.2.1..0", "IPv4"},
		{"", "AS4294967296", "AS number"},
		{"", "4294967296", "AS number"},
		{"", "AS1.65536", "asdot"},
		{"", "as1.2.3", "asdot"},
		{TypeAutnum, "-1", "AS number"},
		{TypeAutnum, "+1", "AS number"},
		{TypeAutnum, "alpha", "AS number"},
		{TypeIP, "alpha.example", "IPv4"},
		{"", "02.0.192.in-addr.arpa", "octet"},
		{"", "256.0.192.in-addr.arpa", "octet"},
		{"", "1.2.3.4.5.in-addr.arpa", "four octets"},
		{"", "0-127.2.0.192.in-addr.arpa", "octet"},
		{"", "db8.2001.ip6.arpa", "nibble"},
		{"", strings.Repeat("0.", 33) + "ip6.arpa", "32 nibbles"},
		{TypeEntity, "", "handle is empty"},
		{TypeEntity, "A\nB", "control"},
		{TypeEntity, "https://user:word@host.example/domain/a.example?jwt=word", "not a handle"},
		{TypeDomain, "https://user:word@host.example/ip/alpha?jwt=word", "not a valid domain name"},
		{TypeIP, "https://user:word@host.example/ip/alpha?jwt=word", "not a valid IP"},
		{"", "https://user:word@", "URL has no host"},
		{TypeEntity, strings.Repeat("a", 1001), "longer"},
		{TypeHelp, "alpha.example", "help takes no object"},
		{"host", "alpha.example", "not a query type"},
	} {
		q, err := ParseAs(tt.typ, tt.text)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("ParseAs(%q, %q) = %v, %v; want an *Error", tt.typ, tt.text, q, err)
			continue
		}
		if e.Code != CodeInvalid || !strings.Contains(e.Message, tt.want) {
			t.Errorf("ParseAs(%q, %q): %s: %s; want %q in it", tt.typ, tt.text, e.Code, e.Message, tt.want)
		}
		if strings.ContainsAny(e.Message, "\n\r\x1b") || len(e.Message) > 600 {
			t.Errorf("ParseAs(%q, %q): unfit message %q", tt.typ, tt.text, e.Message)
		}
		if shown := e.Message + q.String(); strings.Contains(shown, "word") {
			t.Errorf("ParseAs(%q, %q) tells a secret: %q", tt.typ, tt.text, shown)
		}
		if q.Type != "" || q.Text != tt.text {
			t.Errorf("ParseAs(%q, %q) left %+v", tt.typ, tt.text, q)
		}
	}
}

func TestQuestion(t *testing.T) {
	for _, tt := range []struct {
		typ   Type
		text  string
		class bootstrap.Subject
	}{
		{TypeDomain, "alpha.example", bootstrap.ForDomain},
		{TypeNameserver, "ns1.alpha.example", bootstrap.ForNameserver},
		{TypeEntity, "X-RIPE", bootstrap.ForEntity},
		{TypeIP, "192.0.2.1", bootstrap.ForAddress},
		{TypeAutnum, "64496", bootstrap.ForAutnum},
	} {
		q, err := ParseAs(tt.typ, tt.text)
		if err != nil {
			t.Fatal(err)
		}
		question, ok := q.Question()
		if !ok || question.For != tt.class {
			t.Errorf("%s: %+v, %v", tt.typ, question, ok)
		}
		if question.Name != q.Name || question.Prefix != q.Prefix || question.Autnum != q.Autnum {
			t.Errorf("%s: %+v does not ask for %+v", tt.typ, question, q)
		}
	}
	help, err := ParseAs(TypeHelp, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := help.Question(); ok {
		t.Error("help has a question for bootstrap")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"example.com", "BÜCHER。example", "192.0.2.0/24", "2001:db8::/32", "AS1.10", "2.0.192.in-addr.arpa", "xn--53h.example", "a@b", "\u202e.example", "0/0", "👩\u200d💻.example", "℀.example", "bu\u0308cher.example"} {
		f.Add("", s)
		f.Add("entity", s)
		f.Add("nameserver", s)
	}
	f.Fuzz(func(t *testing.T, typ, s string) {
		q, err := ParseAs(Type(typ), s)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Code != CodeInvalid || e.Message == "" {
				t.Fatalf("%q: %#v", s, err)
			}
			if strings.ContainsFunc(e.Message, func(r rune) bool { return safetext.Unsafe(r) && !safetext.IsSelector(r) }) {
				t.Fatalf("%q: unfit message %q", s, e.Message)
			}
			return
		}
		path := q.Path()
		for i := range len(path) {
			if c := path[i]; !isAlnum(c) && !strings.ContainsRune("-_~:./%", rune(c)) {
				t.Fatalf("%q: path %q", s, path)
			}
		}
		if q.Type == TypeEntity {
			return
		}
		// Parsing the output of String returns the same query.
		again, err := ParseAs(q.Type, q.String())
		if err != nil || again.Path() != path {
			t.Fatalf("%q: %q again gives %q, %v", s, q, again.Path(), err)
		}
	})
}

// TestQueryIsEmpty checks that isEmpty agrees with Path for queries without an object.
func TestQueryIsEmpty(t *testing.T) {
	for _, typ := range []Type{"", TypeDomain, TypeIP, TypeAutnum, TypeNameserver, TypeEntity, TypeHelp, TypeDomains} {
		for _, name := range []string{"", ".", "a"} {
			q := Query{Type: typ, Name: name}
			if got, path := q.isEmpty(), q.Path(); got != (path == "") {
				t.Errorf("%s %q: %v, path %q", typ, name, got, path)
			}
		}
	}
}
