package bootstrap

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/bootstrap/internal/ianafile"
)

// The result is usable for any content of the file. Each entry is found by its own key, and has
// valid URLs, https first.
func FuzzParseRegistry(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "\xef\xbb\xbf{}", "<html>", dns("", "zz", "co.zz", ""), `{"services":[[["zz"],["http://a/","https://b?x"]],[["zz"],["https://c"]]]}`,
		services(`[["192.0.2.0/24","192.0.2.0/25","::/0","2001:db8::/32"],["https://a.invalid/"]]`),
		services(`[["1-10","5","5-5","4294967295"],["https://a.invalid/"]]`), services(`[["x@y"],["A","B-C"],["https://a.invalid/"]]`),
	} {
		for i := range registries {
			f.Add(uint8(i), i%2 == 0, []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, allowHTTP bool, data []byte) {
		reg := Registry(int(n) % registries)
		ed, err := reg.parse(data, allowHTTP)
		if err != nil {
			if !errors.Is(err, ianafile.ErrMalformed) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		if ed.table.entries == 0 {
			t.Fatal("an empty table")
		}
		check := func(to target, e *entry) {
			if got := ed.table.find(&to); got != e {
				t.Fatalf("%s finds %+v, want %+v", to.String(), got, e)
			}
			if len(e.urls) == 0 && (len(e.httpOnly) == 0 || allowHTTP) {
				t.Fatalf("no URLs: %+v", e)
			}
			plain := false
			for _, u := range e.urls {
				again, isHTTPS, err := baseURL(u)
				if err != nil || again != u {
					t.Fatalf("URL %q: %q, %v", u, again, err)
				}
				if isHTTPS && plain || !isHTTPS && !allowHTTP {
					t.Fatalf("order: %q", e.urls)
				}
				plain = plain || !isHTTPS
			}
		}
		for name, e := range ed.table.suffixes {
			check(target{registry: reg, name: name}, e)
		}
		for p, e := range ed.table.prefixes {
			check(target{registry: reg, prefix: p}, e)
		}
		for tag, e := range ed.table.tags {
			check(target{registry: reg, name: tag}, e)
		}
		for _, r := range ed.table.ranges {
			for _, n := range []uint32{r.first, r.last} {
				e := ed.table.autnum(n)
				if e == nil {
					t.Fatalf("AS%d not found in %+v", n, r)
				}
			}
		}
	})
}

// Every question has an answer that covers the question, or an error of a documented kind.
func FuzzResolve(f *testing.F) {
	o := Overrides{"co.uk": {"https://a.invalid/"}, "192.0.2.0/24": {"https://b.invalid/"}, "AS64496-64500": {"https://c.invalid/"}, "-X": {"https://d.invalid/"}}
	r := newResolver(f, Config{Offline: true, Overrides: o})
	for class, name := range map[Subject]string{
		ForDomain: "example.co.uk.", ForNameserver: "2.0.192.in-addr.arpa", ForEntity: "WA2477-RIPE", ForAddress: "8.b.d.0.1.0.0.2.ip6.arpa", ForAutnum: "..", 99: "x.kg",
	} {
		f.Add(uint8(class), name, []byte{192, 0, 2, 1}, 24, uint32(64496))
		f.Add(uint8(class), strings.ToUpper(name), make([]byte, 16), 128, uint32(13335))
	}
	f.Fuzz(func(t *testing.T, class uint8, name string, ip []byte, bits int, n uint32) {
		a, _ := netip.AddrFromSlice(ip)
		q := Question{For: Subject(class), Name: name, Prefix: netip.PrefixFrom(a, bits), Autnum: n}
		got, err := r.Resolve(t.Context(), q)
		var none *NoServiceError
		var plain *HTTPOnlyError
		switch {
		case errors.As(err, &none):
			if none.Looked == "" || none.Fresh || none.Published.IsZero() {
				t.Fatalf("%+v: %+v", q, none)
			}
		case errors.As(err, &plain), errors.Is(err, ErrBadReverseName):
		case err != nil:
			if q.For >= ForDomain && q.For <= ForNameserver && (q.For != ForAddress || q.Prefix.IsValid()) {
				t.Fatalf("%+v: %v", q, err)
			}
		case len(got.URLs) == 0 || got.Source == "":
			t.Fatalf("%+v: %+v", q, got)
		case q.For == ForAddress:
			p, err := netip.ParsePrefix(got.Entry)
			asked := unmapped(q.Prefix)
			if err != nil || p.Bits() > asked.Bits() || !p.Contains(asked.Addr()) {
				t.Fatalf("%v is not in %s", q.Prefix, got.Entry)
			}
		case q.For == ForDomain && !strings.Contains(got.Entry, "/"):
			if s := "." + canonicalName(name); !strings.HasSuffix(s, "."+got.Entry) {
				t.Fatalf("%q does not end in %q", name, got.Entry)
			}
		}
	})
}

func FuzzParseOverrides(f *testing.F) {
	f.Add("zz https://a.invalid/ # x\n192.0.2.0/24 http://b.invalid\nAS1-2 https://c\n-X https://d")
	f.Add(". https://a\n*.xn--p1ai https://b\n::1 https://c")
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseOverrides(strings.NewReader(text))
		if err != nil {
			return
		}
		if _, err := New(Config{Offline: true, Overrides: o}); err != nil {
			t.Fatalf("%q was read, and then refused: %v", text, err)
		}
	})
}
