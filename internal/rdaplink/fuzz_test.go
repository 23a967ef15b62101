package rdaplink

import (
	"net/url"
	"slices"
	"testing"

	"github.com/rdapq/rdapq/internal/dnsname"
	"github.com/rdapq/rdapq/rdap"
)

// FuzzLinks resolves arbitrary links of a server, without sending requests.
func FuzzLinks(f *testing.F) {
	for _, href := range []string{
		"https://rdap.registrar.example/domain/ALPHA.EXAMPLE", "rdap.registrar.example:8443/rdap/", "//x.example/domain/alpha.example",
		"bücher.example/rdap/", "../../v2/domain/alpha.example", "alpha.example", "https://me:word@x.example/#top", "https://[2001:db8::1%25eth0]/",
		"https://x.example/domain/\n  alpha.example", "javascript:alert(1)", "https://x.example/%2e%2e/entity/A%2FB?x=%zz", "HTTP://X.example:/domain",
	} {
		f.Add(href, "related", "application/rdap+json")
		f.Add(href, "rdap-up rdap-active", "")
	}
	base, err := url.Parse("https://rdap.registry.example/com/v1/domain/alpha.example")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, href, rel, typ string) {
		if u, ok := resolveHref(href, base); ok {
			checkLink(t, href, u)
			again, ok := resolveHref(u.String(), base)
			if !ok || again.String() != u.String() || Key(again) != Key(u) {
				t.Fatalf("%q is %q, and that is %v", href, u, again)
			}
			if p := Split(u); p.Base == "" || p.Base[len(p.Base)-1] != '/' || p.Class == "" && p.Object != "" {
				t.Fatalf("%q: %+v", href, p)
			}
		}
		rec := &rdap.Record{LDHName: "ALPHA.EXAMPLE."}
		rec.Links = []rdap.Link{{Href: href, Rel: rel, Type: typ}, {Href: href + "/", Rel: rel, Type: typ}, {Href: href, Rel: rel, Type: typ}}
		lists := [][]*url.URL{Registrar(rec, "alpha.example", "domain/alpha.example", base)}
		for _, relation := range []string{"up", "down", "top", "bottom"} {
			lists = append(lists, Relation(rec, relation, base))
		}
		for _, list := range lists {
			var seen []string
			for _, u := range list {
				checkLink(t, href, u)
				if key := Key(u); slices.Contains(seen, key) {
					t.Fatalf("%q is followed twice: %q", href, list)
				} else {
					seen = append(seen, key)
				}
			}
		}
	})
}

// checkLink checks the invariants of a URL to be requested.
func checkLink(t *testing.T, href string, u *url.URL) {
	t.Helper()
	if u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.Fragment != "" || u.Opaque != "" || !dnsname.IsASCII(u.Host) {
		t.Fatalf("%q leads to %q", href, u)
	}
	if _, err := url.Parse(u.String()); err != nil {
		t.Fatalf("%q leads to %q: %v", href, u, err)
	}
}
