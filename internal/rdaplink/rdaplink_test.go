package rdaplink

import (
	"net/url"
	"slices"
	"testing"

	"github.com/rdapq/rdapq/rdap"
)

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func texts(list []*url.URL) []string {
	var out []string
	for _, u := range list {
		out = append(out, u.String())
	}
	return out
}

func TestResolveHref(t *testing.T) {
	base := mustURL(t, "https://rdap.registry.example/com/v1/domain/alpha.example")
	for _, tt := range []struct{ href, want string }{
		{"https://rdap.registrar.example/domain/ALPHA.EXAMPLE", "https://rdap.registrar.example/domain/ALPHA.EXAMPLE"},
		{"  HTTPS://rdap.registrar.example/domain/alpha.example#top ", "https://rdap.registrar.example/domain/alpha.example"},
		{"https://me:word@rdap.registrar.example/", "https://rdap.registrar.example/"},
		{"//rdap.registrar.example/domain/alpha.example", "https://rdap.registrar.example/domain/alpha.example"},
		{"rdap.registrar.example/domain/alpha.example", "https://rdap.registrar.example/domain/alpha.example"},
		{"rdap.registrar.example:8443/rdap/", "https://rdap.registrar.example:8443/rdap/"},
		{"rdap.registrar.example", "https://rdap.registrar.example"},
		{"bücher.example/rdap/", "https://xn--bcher-kva.example/rdap/"},
		{"https://пример.рф:8443/rdap/", "https://xn--e1afmkfd.xn--p1ai:8443/rdap/"},
		{"https://пример.рф:/rdap/", "https://xn--e1afmkfd.xn--p1ai/rdap/"},
		{"https://bad\xe1.example/", ""},
		{"//me:ws:", ""},
		{"//[2001:db8::1]:8443/rdap", "https://[2001:db8::1]:8443/rdap"},
		{"/rr/domain/alpha.example", "https://rdap.registry.example/rr/domain/alpha.example"},
		{"../../v2/domain/alpha.example", "https://rdap.registry.example/com/v2/domain/alpha.example"},
		{"alpha.example", "https://rdap.registry.example/com/v1/domain/alpha.example"},
		{"ALPHA.example?x=1", "https://rdap.registry.example/com/v1/domain/ALPHA.example?x=1"},
		{"domain/alpha.example", "https://rdap.registry.example/com/v1/domain/domain/alpha.example"},
		{"192.0.2.0/24", "https://rdap.registry.example/com/v1/domain/192.0.2.0/24"},
		{"https://rdap.registrar.example/domain/alpha example", "https://rdap.registrar.example/domain/alpha%20example"},
		{"https://rdap.registrar.example/domain/\n  alpha.example", "https://rdap.registrar.example/domain/%20%20alpha.example"},
		{"", ""},
		{"#top", "https://rdap.registry.example/com/v1/domain/alpha.example"},
		{"mailto:desk@registrar.example", ""},
		{"javascript:alert(1)", ""},
		{"ftp://rdap.registrar.example/", ""},
		{"https:///domain/alpha.example", ""},
		{"https://[::1", ""},
		{"https://rdap.registrar.example/%zz", ""},
	} {
		u, ok := resolveHref(tt.href, base)
		got := ""
		if ok {
			got = u.String()
		}
		if got != tt.want {
			t.Errorf("%q: %q, want %q", tt.href, got, tt.want)
		}
	}
}

func TestKey(t *testing.T) {
	const want = "https://h.example/rdap/domain/alpha.example"
	for _, s := range []string{
		"https://h.example/rdap/domain/alpha.example", "HTTPS://H.Example:443/rdap/domain/ALPHA.EXAMPLE", "https://h.example/rdap/domain/alpha.example/",
		"https://h.example/rdap/domain/%61lpha%2eexample", "https://h.example/rdap/domain/alpha%2Eexample#top", "https://me@h.example/rdap/domain/alpha.example",
	} {
		if got := Key(mustURL(t, s)); got != want {
			t.Errorf("%s is %s", s, got)
		}
	}
	for _, s := range []string{
		"http://h.example/rdap/domain/alpha.example", "https://h.example:8443/rdap/domain/alpha.example",
		"https://h.example/rdap/domain/alpha.example?x=1", "https://h.example/rdap/domain/beta.example",
	} {
		if got := Key(mustURL(t, s)); got == want {
			t.Errorf("%s is taken for %s", s, want)
		}
	}
}

func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		url  string
		want Path
	}{
		{"https://h.example/rdap/domain/alpha.example", Path{"https://h.example/rdap/", "domain", "alpha.example"}},
		{"https://h.example/Domain/alpha%2Eexample/", Path{"https://h.example/", "domain", "alpha.example"}},
		{"https://h.example/domain/rdap/domain/alpha.example", Path{"https://h.example/domain/rdap/", "domain", "alpha.example"}},
		{"https://h.example/registry/ip/192.0.2.0/24", Path{"https://h.example/registry/", "ip", "192.0.2.0/24"}},
		{"https://h.example/entity/292", Path{"https://h.example/", "entity", "292"}},
		{"https://h.example/ips/rirSearch1/rdap-down/192.0.2.0/24", Path{"https://h.example/", "ips", "rirSearch1/rdap-down/192.0.2.0/24"}},
		{"https://h.example/domains/rdap/", Path{"https://h.example/domains/rdap/", "", ""}},
		{"https://h.example", Path{"https://h.example/", "", ""}},
		{"https://h.example/domain/", Path{"https://h.example/", "domain", ""}},
	} {
		if got := Split(mustURL(t, tt.url)); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.url, got, tt.want)
		}
	}
}

func TestRegistrar(t *testing.T) {
	const rdapJSON = "application/rdap+json"
	base := mustURL(t, "https://rdap.registry.example/domain/alpha.example")
	const full = "https://rdap.registrar.example/v1/domain/ALPHA.EXAMPLE"
	const made = "https://rdap.registrar.example/v1/domain/alpha.example"
	for _, tt := range []struct {
		name string
		link rdap.Link
		want string // expected URL; empty if the link is not followed
	}{
		{"plain", rdap.Link{Rel: "related", Type: rdapJSON, Href: full}, full},
		{"case", rdap.Link{Rel: "RELATED", Type: "Application/RDAP+JSON; charset=utf-8", Href: full}, full},
		{"several relations", rdap.Link{Rel: "alternate  Related", Type: rdapJSON, Href: full}, full},
		{"web page", rdap.Link{Rel: "related", Type: "text/html", Href: full}, ""},
		{"JSON", rdap.Link{Rel: "related", Type: "application/json", Href: full}, ""},
		{"about", rdap.Link{Rel: "about", Type: rdapJSON, Href: full}, ""},
		{"self", rdap.Link{Rel: "related self", Type: rdapJSON, Href: full}, ""},
		{"no relation", rdap.Link{Type: rdapJSON, Href: full}, ""},
		{"untyped", rdap.Link{Rel: "related", Href: full}, full},
		{"untyped page", rdap.Link{Rel: "related", Href: "https://www.registrar.example/alpha.example"}, ""},
		{"untyped base", rdap.Link{Rel: "related", Href: "https://rdap.registrar.example/v1/"}, ""},
		{"base", rdap.Link{Rel: "related", Type: rdapJSON, Href: "https://rdap.registrar.example/v1/"}, made},
		{"base without slash", rdap.Link{Rel: "related", Type: rdapJSON, Href: "https://rdap.registrar.example/v1"}, made},
		{"base and segment", rdap.Link{Rel: "related", Type: rdapJSON, Href: "https://rdap.registrar.example/v1/domain/"}, made},
		{"base with such a word", rdap.Link{Rel: "related", Type: rdapJSON, Href: "https://rdap.registrar.example/domain/v1"}, "https://rdap.registrar.example/domain/v1/domain/alpha.example"},
		{"base without scheme", rdap.Link{Rel: "related", Type: rdapJSON, Href: "//rdap.registrar.example/v1"}, made},
		{"host only", rdap.Link{Rel: "related", Type: rdapJSON, Href: "rdap.registrar.example"}, "https://rdap.registrar.example/domain/alpha.example"},
		{"relative", rdap.Link{Rel: "related", Type: rdapJSON, Href: "/rr/domain/alpha.example"}, "https://rdap.registry.example/rr/domain/alpha.example"},
		{"query", rdap.Link{Rel: "related", Type: rdapJSON, Href: "https://rdap.registrar.example/?name=alpha.example"}, "https://rdap.registrar.example/?name=alpha.example"},
		{"entity", rdap.Link{Rel: "related", Type: rdapJSON, Href: "https://rdap.registrar.example/entity/292"}, ""},
		{"search", rdap.Link{Rel: "related", Type: rdapJSON, Href: "https://rdap.registrar.example/domains?name=alpha.example"}, ""},
		{"help", rdap.Link{Rel: "related", Type: rdapJSON, Href: "https://rdap.registrar.example/help"}, ""},
		{"another domain", rdap.Link{Rel: "related", Type: rdapJSON, Href: "https://rdap.registrar.example/domain/beta.example"}, ""},
		{"U-label", rdap.Link{Rel: "related", Type: rdapJSON, Href: "https://rdap.registrar.example/domain/älpha.example"}, ""},
		{"nowhere", rdap.Link{Rel: "related", Type: rdapJSON}, ""},
		{"http", rdap.Link{Rel: "related", Type: rdapJSON, Href: "http://rdap.registrar.example/domain/alpha.example"}, "http://rdap.registrar.example/domain/alpha.example"},
	} {
		rec := &rdap.Record{LDHName: "ALPHA.EXAMPLE."}
		rec.Links = []rdap.Link{tt.link, tt.link}
		var want []string
		if tt.want != "" {
			want = []string{tt.want}
		}
		if got := texts(Registrar(rec, "alpha.example", "domain/alpha.example", base)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", tt.name, got, want)
		}
	}

	// A name in its own script equals the name in A-labels.
	rec := &rdap.Record{}
	rec.Links = []rdap.Link{{Rel: "related", Type: rdapJSON, Href: "https://rdap.registrar.example/domain/bücher.example"}}
	if got := texts(Registrar(rec, "xn--bcher-kva.example", "domain/xn--bcher-kva.example", base)); len(got) != 1 {
		t.Errorf("U-labels: %q", got)
	}
}

func TestRelation(t *testing.T) {
	const rdapJSON = "application/rdap+json"
	base := mustURL(t, "https://rdap.rir.example/ip/192.0.2.0/24")
	rec := &rdap.Record{}
	rec.Links = []rdap.Link{
		{Rel: "self", Type: rdapJSON, Href: "https://rdap.rir.example/ip/192.0.2.0/24"},
		{Rel: "up", Type: rdapJSON, Href: "https://rdap.rir.example/ip/192.0.0.0/8"},
		{Rel: "rdap-up rdap-active", Type: rdapJSON, Href: "https://rdap.rir.example/ips/rirSearch1/rdap-up/192.0.2.0/24?status=active"},
		{Rel: "RDAP-UP", Type: rdapJSON, Href: "https://rdap.rir.example/ip/192.0.0.0%2F8/"},
		{Rel: "up", Type: "text/html", Href: "https://www.rir.example/up"},
		{Rel: "up", Href: "https://www.rir.example/up"},
		{Rel: "up", Href: "/ip/192.0.2.0/23"},
		{Rel: "uphill", Type: rdapJSON, Href: "https://rdap.rir.example/ip/192.0.0.0/7"},
		{Rel: "rdap-down", Type: rdapJSON, Href: "https://rdap.rir.example/ips/rirSearch1/rdap-down/192.0.2.0/24"},
	}
	for relation, want := range map[string][]string{
		"up": {
			"https://rdap.rir.example/ip/192.0.0.0/8",
			"https://rdap.rir.example/ips/rirSearch1/rdap-up/192.0.2.0/24?status=active",
			"https://rdap.rir.example/ip/192.0.2.0/23",
		},
		"down": {"https://rdap.rir.example/ips/rirSearch1/rdap-down/192.0.2.0/24"},
		"top":  nil,
	} {
		if got := texts(Relation(rec, relation, base)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", relation, got, want)
		}
	}
}
