package bootstrap

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseOverrides(t *testing.T) {
	o, err := ParseOverrides(strings.NewReader("\xef\xbb\xbf# test servers\r\n" +
		"\n" +
		"example   https://a.invalid/rdap   # not yet public\r\n" +
		"\t*.CO.Example. https://b.invalid/ http://b.invalid/\n" +
		"example https://a2.invalid/\n" +
		".бел https://c.invalid/\n" +
		"192.0.2.0/24 https://d.invalid/\n" +
		"192.0.2.7 https://e.invalid/\n" +
		"2001:db8::/32 https://d.invalid/\n" +
		"as64496-as64511 https://f.invalid/\n" +
		"AS64500 https://g.invalid/\n" +
		"-arin https://h.invalid/\n" +
		"as https://i.invalid/\n" +
		"#end"))
	if err != nil {
		t.Fatal(err)
	}
	r := newResolver(t, Config{Offline: true, Overrides: o})
	for want, q := range map[string]Question{
		"override example https://a.invalid/rdap/ https://a2.invalid/":      domain("x.example"),
		"override co.example https://b.invalid/ http://b.invalid/":          domain("x.co.example"),
		"override xn--90ais https://c.invalid/":                             domain("x.xn--90ais"),
		"override 192.0.2.0/24 https://d.invalid/":                          address("192.0.2.8"),
		"override 192.0.2.7/32 https://e.invalid/":                          address("192.0.2.7"),
		"override 2001:db8::/32 https://d.invalid/":                         domain("8.b.d.0.1.0.0.2.ip6.arpa"),
		"override 64496-64511 https://f.invalid/":                           autnum(64496),
		"override 64500 https://g.invalid/":                                 autnum(64500),
		"override ARIN https://h.invalid/":                                  entity("X-ARIN"),
		"override as https://i.invalid/":                                    domain("nic.as"),
		"snapshot asia https://rdap.identitydigital.services/rdap/":         domain("nic.asia"),
		"snapshot 192.0.0.0/8 https://rdap.arin.net/registry/":              address("192.0.0.0/16"),
		"snapshot 1.0.0.0/8 https://rdap.apnic.net/":                        domain("1.in-addr.arpa"),
		"snapshot 2001:1800::/23 https://rdap.arin.net/registry/":           address("2001:1800::"),
		"error: no RDAP service known for AS64512 by the built-in snapshot": autnum(64512),
	} {
		if got := resolve(r, q); !strings.HasPrefix(got, want) {
			t.Errorf("%+v:\n got %s\nwant %s", q, got, want)
		}
	}
}

// For a reverse name, a prefix is more specific than any suffix.
func TestOverridesReverse(t *testing.T) {
	r := newResolver(t, Config{Offline: true, Overrides: Overrides{
		"arpa":            {"https://arpa.invalid/"},
		"13.in-addr.arpa": {"https://thirteen.invalid/"},
		"13.64.0.0/16":    {"https://prefix.invalid/"},
	}})
	wantResolve(t, r, domain("1.in-addr.arpa"), "override arpa https://arpa.invalid/")
	wantResolve(t, r, domain("1.13.in-addr.arpa"), "override 13.in-addr.arpa https://thirteen.invalid/")
	wantResolve(t, r, domain("64.13.in-addr.arpa"), "override 13.64.0.0/16 https://prefix.invalid/")
	// The root key overrides all servers.
	r = newResolver(t, Config{Offline: true, Overrides: Overrides{".": {"https://root.invalid/"}}})
	wantResolve(t, r, domain("x.com"), "override  https://root.invalid/")
	wantResolve(t, r, address("13.64.0.0"), "snapshot 13.0.0.0/8 https://rdap.arin.net/registry/")
}

func TestParseOverridesErrors(t *testing.T) {
	for in, want := range map[string]string{
		"zz":                                 `line 1: no URL for "zz"`,
		"# x\n\nzz # https://a.invalid/":     `line 3: no URL for "zz"`,
		"zz https://a.invalid/ b.invalid":    `line 1: not an https URL: "b.invalid"`,
		"zz ftp://a.invalid/":                `line 1: not an https URL: "ftp://a.invalid/"`,
		"zz https://u:secret@a.invalid/":     `line 1: URL with a user name: "https://u:xxxxx@a.invalid/"`,
		"192.0.2.1/24 https://a.invalid/":    `line 1: "192.0.2.1/24" has bits set after its prefix; did you mean 192.0.2.0/24?`,
		"192.0.2.0/33 https://a.invalid/":    `line 1: "192.0.2.0/33" is not an address prefix`,
		"fe80::1%eth0 https://a.invalid/":    `line 1: "fe80::1%eth0" is not an address prefix`,
		"AS10-9 https://a.invalid/":          `line 1: "10-9" ends before it starts`,
		"AS4294967296 https://a.invalid/":    `line 1: "4294967296" is not a range of AS numbers`,
		"- https://a.invalid/":               `line 1: "" is not a service provider tag`,
		"a..b https://a.invalid/":            `line 1: "a..b" is not a domain suffix, prefix, AS number or tag`,
		"*. https://a.invalid/":              `line 1: empty key; the root is "."`,
		"ok https://a.invalid/\n\xff https:": `line 2: `,
		"x" + strings.Repeat(" ", 70000):     `line 1: bufio.Scanner: token too long`,
	} {
		o, err := ParseOverrides(strings.NewReader(in))
		if err == nil || !strings.HasPrefix(err.Error(), "overrides: "+want) {
			t.Errorf("%.40q:\n got %v, %v\nwant overrides: %s", in, o, err, want)
		}
	}
	o, err := ParseOverrides(strings.NewReader("# nothing\n"))
	if d := cmp.Diff("map[] <nil>", fmt.Sprint(o, " ", err)); d != "" {
		t.Error(d)
	}
}
