package client

import (
	"strings"
	"testing"
)

// TestPastedQueries parses queries copied from reports, messages and logs.
func TestPastedQueries(t *testing.T) {
	for _, tt := range []struct{ text, path string }{
		{"courbu[.]re", "domain/courbu.re"},
		{"www(.)courbu{.}re", "domain/www.courbu.re"},
		{"courbu[dot]re", "domain/courbu.re"},
		{"courbu(DOT)re", "domain/courbu.re"},
		{"courbu [.] re", ""},
		{"courbu[.re", "domain/courbu.re"},
		{`courbu\.re`, "domain/courbu.re"},
		{"hxxp://courbu[.]re/path?x=1,2", "domain/courbu.re"},
		{"hXXps://www.courbu.re", "domain/www.courbu.re"},
		{"h**p://courbu.re", "domain/courbu.re"},
		{"hxxps[:]//courbu[.]re", "domain/courbu.re"},
		{"hxxps[://]courbu[.]re:8443/", "domain/courbu.re"},
		{"hxxp://192[.]0[.]2[.]1/", "ip/192.0.2.1"},
		{"192[.]0[.]2[.]1", "ip/192.0.2.1"},
		{"2001[:]db8[:][:]1", "ip/2001:db8::1"},
		{"https://www.courbu.re/a", "domain/www.courbu.re"},
		{"courbu.re:443", "domain/courbu.re"},
		{"192.0.2.1:443", "ip/192.0.2.1"},
		{"[2001:db8::1]:443", "ip/2001:db8::1"},
		{"courbu.re/path/x", "domain/courbu.re"},
		{"courbu.re/", "domain/courbu.re"},
		{"courbu.re:8080/path", "domain/courbu.re"},
		{"courbu.re?a=b", "domain/courbu.re"},
		{"//courbu.re/x", "domain/courbu.re"},
		{"192.0.2.1/login", "ip/192.0.2.1"},
		{"someone@courbu.re", "domain/courbu.re"},
		{"someone[at]courbu[.]re", "domain/courbu.re"},
		{"<someone@courbu.re>", "domain/courbu.re"},
		{"mailto:someone@courbu.re", "domain/courbu.re"},
		{"<courbu.re>", "domain/courbu.re"},
		{"(courbu.re)", "domain/courbu.re"},
		{"[courbu.re]", "domain/courbu.re"},
		{`"courbu.re"`, "domain/courbu.re"},
		{"'courbu.re'", "domain/courbu.re"},
		{"“courbu.re”", "domain/courbu.re"},
		{"`courbu.re`", "domain/courbu.re"},
		{"courbu.re,", "domain/courbu.re"},
		{"courbu.re;", "domain/courbu.re"},
		{"courbu.re:", "domain/courbu.re"},
		{"courbu.re).", "domain/courbu.re"},
		{"courbu.re..", "domain/courbu.re"},
		{"courbu.re…", "domain/courbu.re"},
		{"courbu.re!", "domain/courbu.re"},
		{".courbu.re", "domain/courbu.re"},
		{".com", "domain/com"},
		{"192.0.2.1,", "ip/192.0.2.1"},
		{"192.0.2.1.", "ip/192.0.2.1"},
		{"AS64496.", "autnum/64496"},
		{"AS64496-AS64496", "autnum/64496"},
		{"192.0.2.0-192.0.2.255", "ip/192.0.2.0/24"},
		{"192.0.2.0 – 192.0.2.255", "ip/192.0.2.0/24"},
		{"192.0.2.4-7", "ip/192.0.2.4/30"},
		{"2001:db8::-2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "ip/2001:db8::/32"},
		// Texts without an unambiguous meaning.
		{"courbu.re,nic.re", ""},
		{"courbu.re, nic.re", ""},
		{"courbu.re;nic.re", ""},
		{"courbu.re nic.re", ""},
		{"192.0.2.1,192.0.2.2", ""},
		{"courbu.re:port", ""},
		{"courbu.re:123456", ""},
		{"AS64496-AS64511", ""},
		{"64496-64511", ""},
		{"AS64511-AS64496", ""},
		{"192.0.2.1-192.0.2.5", ""},
		{"192.0.2.5-192.0.2.1", ""},
		{"192.0.2.0-2001:db8::", ""},
		{"ftp://courbu.re/x", ""},
		{"gopher://192.0.2.1/", ""},
		{"ftp:courbu.re", ""},
		{"ws://courbu.re", ""},
		{"fxp://courbu[.]re", ""},
		{"courbu\u202e.re", ""},
		{"\u202eer.ubruoc", ""},
		{"courbu\u2066.re", ""},
		{"courbu\u200b.re", ""},
		{"https://\u202ecourbu.re/", ""},
	} {
		q, err := Parse(tt.text)
		switch {
		case tt.path == "" && err == nil:
			t.Errorf("Parse(%q) = %q, want an error", tt.text, q.Path())
		case tt.path == "" && (asError(err).Code != CodeInvalid || asError(err).Hint == "" && !strings.HasPrefix(tt.text, "AS64511-") && !strings.HasPrefix(tt.text, "192.0.2.5-")):
			t.Errorf("Parse(%q): %v without a hint", tt.text, err)
		case tt.path != "" && (err != nil || q.Path() != tt.path || q.note == "" || q.Text != tt.text):
			t.Errorf("Parse(%q) = %q, text %q, note %q, %v; want %q and a note", tt.text, q.Path(), q.Text, q.note, err, tt.path)
		}
	}
	for _, text := range []string{"courbu.re", " courbu.re ", "courbu.re.", "[2001:db8::1]", "2001:db8::", "AS 64496", "192.0.2.0/24", "domains?name=exam*.com", "."} {
		if q, err := Parse(text); err != nil || q.note != "" {
			t.Errorf("Parse(%q): note %q, %v; want none", text, q.note, err)
		}
	}
}

// With a type, Parse removes the text around an object too.
func TestPastedAs(t *testing.T) {
	for _, tt := range []struct {
		typ        Type
		text, path string
	}{
		{TypeDomain, "courbu[.]re,", "domain/courbu.re"},
		{TypeNameserver, "<ns1[.]courbu.re>", "nameserver/ns1.courbu.re"},
		{TypeIP, "(192[.]0.2.1)", "ip/192.0.2.1"},
		{TypeAutnum, "AS64496,", "autnum/64496"},
		{TypeEntity, "<A,B>", "entity/%3CA%2CB%3E"},
	} {
		if q, err := ParseAs(tt.typ, tt.text); err != nil || q.Path() != tt.path || (q.note == "") != (tt.typ == TypeEntity) {
			t.Errorf("ParseAs(%s, %q) = %q, note %q, %v; want %q", tt.typ, tt.text, q.Path(), q.note, err, tt.path)
		}
	}
}

// Labels with reserved hyphens are looked up, and the result has a note.
func TestReservedHyphens(t *testing.T) {
	for text, noted := range map[string]bool{
		"ab--cd.example": true, "r3---sn-x.example": true, "www.ab--cd.example": true,
		"a--b.example": false, "abc--d.example": false, "xn--bcher-kva.example": false,
	} {
		if q, err := Parse(text); err != nil || q.Path() != "domain/"+text || strings.Contains(q.note, "reserved") != noted {
			t.Errorf("Parse(%q) = %q, note %q, %v", text, q.Path(), q.note, err)
		}
	}
}
