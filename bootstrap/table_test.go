package bootstrap

import (
	"errors"
	"testing"
)

// files returns a resolver that has only the given files.
func files(t testing.TB, m map[Registry]string) *Resolver {
	raw := make(map[Registry][]byte)
	for reg, text := range m {
		raw[reg] = []byte(text)
	}
	return newResolver(t, Config{Files: raw, IANAOnly: true})
}

// TestDomain covers domain names, including boundary cases (case bs03).
func TestDomain(t *testing.T) {
	r := files(t, map[Registry]string{RegistryDNS: dns("", "zz", "co.zz", "qq", "XN--P1AI", "a.b.c.yy")})
	for name, entry := range map[string]string{
		"a.zz": "zz", "xco.zz": "zz", "a.co.zz": "co.zz", "CO.ZZ": "co.zz", "co.zz.": "co.zz", "zz": "zz",
		"a.com.qq": "qq", "A.B.C.D.E.QQ.": "qq", "x.xn--p1ai": "xn--p1ai",
		"x.a.b.c.yy": "a.b.c.yy", "a.b.c.yy": "a.b.c.yy",
	} {
		a, err := r.Resolve(t.Context(), domain(name))
		if err != nil || a.Entry != entry || a.Source != SourceIANA || a.Published.IsZero() {
			t.Errorf("%s: %+v, %v; want entry %q", name, a, err, entry)
		}
		if b, err := r.Resolve(t.Context(), Question{For: ForNameserver, Name: name}); err != nil || b.Entry != entry {
			t.Errorf("nameserver %s: %+v, %v; want entry %q", name, b, err, entry)
		}
	}
	for _, name := range []string{"x.b.c.yy", "b.c.yy", "yy", "azz", "zz.a", "", ".", "a..", "..", "zz.."} {
		if a, err := r.Resolve(t.Context(), domain(name)); !errors.Is(err, ErrNoService) {
			t.Errorf("%q: %+v, %v; want no service", name, a, err)
		}
	}
}

func TestRoot(t *testing.T) {
	r := files(t, map[Registry]string{RegistryDNS: services(`[[""],["https://root.invalid/"]],[["zz"],["https://zz.invalid/"]]`)})
	wantResolve(t, r, domain("a.zz"), "iana zz https://zz.invalid/")
	wantResolve(t, r, domain("a.b.com"), "iana  https://root.invalid/")
	wantResolve(t, r, domain("."), "iana  https://root.invalid/")
}

func TestAddress(t *testing.T) {
	r := files(t, map[Registry]string{
		RegistryIPv4: services(`[["192.0.2.0/24","10.0.0.0/8"],["https://wide.invalid/"]],[["192.0.2.128/25","192.0.2.129/32"],["https://narrow.invalid/"]]`),
		RegistryIPv6: services(`[["2001:db8::/32"],["https://wide.invalid/"]],[["2001:db8:8000::/33"],["https://narrow.invalid/"]]`),
	})
	for in, want := range map[string]string{
		"192.0.2.1":                "iana 192.0.2.0/24 https://wide.invalid/",
		"192.0.2.0/24":             "iana 192.0.2.0/24 https://wide.invalid/",
		"192.0.2.77/30":            "iana 192.0.2.0/24 https://wide.invalid/",
		"192.0.2.128":              "iana 192.0.2.128/25 https://narrow.invalid/",
		"192.0.2.128/25":           "iana 192.0.2.128/25 https://narrow.invalid/",
		"192.0.2.129":              "iana 192.0.2.129/32 https://narrow.invalid/",
		"::ffff:192.0.2.1":         "iana 192.0.2.0/24 https://wide.invalid/",
		"10.255.255.255":           "iana 10.0.0.0/8 https://wide.invalid/",
		"2001:db8::1":              "iana 2001:db8::/32 https://wide.invalid/",
		"2001:db8:ffff::/48":       "iana 2001:db8:8000::/33 https://narrow.invalid/",
		"2001:db8::/32":            "iana 2001:db8::/32 https://wide.invalid/",
		"2001:db8:7fff:ffff::/128": "iana 2001:db8::/32 https://wide.invalid/",
	} {
		wantResolve(t, r, address(in), want)
	}
	// The prefixes are wider than the entry, next to the entry, or of the other family.
	for _, in := range []string{"192.0.2.0/23", "192.0.0.0/8", "192.0.3.0", "11.0.0.0", "2001:db8::/31", "2001:db9::", "::"} {
		if a, err := r.Resolve(t.Context(), address(in)); !errors.Is(err, ErrNoService) {
			t.Errorf("%s: %+v, %v; want no service", in, a, err)
		}
	}
	if _, err := r.Resolve(t.Context(), Question{For: ForAddress}); err == nil || errors.Is(err, ErrNoService) {
		t.Errorf("no address: %v", err)
	}
}

// TestAutnum covers AS numbers (case bs05).
func TestAutnum(t *testing.T) {
	r := files(t, map[Registry]string{RegistryASN: services(
		`[["64496-64499"],["https://a.invalid/"]],[["64500"],["https://b.invalid/"]],[["64501-64511","4294967295"],["https://c.invalid/"]]`)})
	for n, want := range map[uint32]string{
		64496: "iana 64496-64499 https://a.invalid/", 64499: "iana 64496-64499 https://a.invalid/",
		64500: "iana 64500 https://b.invalid/",
		64501: "iana 64501-64511 https://c.invalid/", 64511: "iana 64501-64511 https://c.invalid/",
		4294967295: "iana 4294967295 https://c.invalid/",
	} {
		wantResolve(t, r, autnum(n), want)
	}
	for _, n := range []uint32{0, 1, 64495, 64512, 4294967294} {
		var none *NoServiceError
		if a, err := r.Resolve(t.Context(), autnum(n)); !errors.As(err, &none) {
			t.Errorf("AS%d: %+v, %v; want no service", n, a, err)
		}
	}
}

// Overrides may nest ranges. The range that starts last is the most specific.
func TestAutnumNested(t *testing.T) {
	r := files(t, map[Registry]string{RegistryASN: services(
		`[["1-1000"],["https://a.invalid/"]],[["10-20","10-10"],["https://b.invalid/"]],[["15-16"],["https://c.invalid/"]],[["15-16"],["https://c2.invalid/"]],[["1-5"],["https://d.invalid/"]]`)})
	for n, want := range map[uint32]string{
		1: "iana 1-5 https://d.invalid/", 5: "iana 1-5 https://d.invalid/", 6: "iana 1-1000 https://a.invalid/",
		10: "iana 10-10 https://b.invalid/", 11: "iana 10-20 https://b.invalid/", 15: "iana 15-16 https://c.invalid/ https://c2.invalid/",
		17: "iana 10-20 https://b.invalid/", 21: "iana 1-1000 https://a.invalid/", 1000: "iana 1-1000 https://a.invalid/",
	} {
		wantResolve(t, r, autnum(n), want)
	}
}

func TestEntity(t *testing.T) {
	r := files(t, map[Registry]string{RegistryObjectTags: services(
		`[["x@a.invalid"],["AAA"],["https://a.invalid/"]],[["x@b.invalid"],["bbb"],["http://b.invalid/","https://b.invalid/rdap"]]`)})
	wantResolve(t, r, entity("X-AAA"), "iana AAA https://a.invalid/")
	wantResolve(t, r, entity("x-y-aaa"), "iana AAA https://a.invalid/")
	wantResolve(t, r, entity("AAA-BBB"), "iana BBB https://b.invalid/rdap/")
	wantResolve(t, r, entity("-bbb"), "iana BBB https://b.invalid/rdap/")
	for handle, looked := range map[string]string{"AAA": "a handle without a tag", "AAA-": "a handle without a tag", "": "a handle without a tag", "AAA-X": "tag X", "X-AAA-1": "tag 1"} {
		var none *NoServiceError
		if a, err := r.Resolve(t.Context(), entity(handle)); !errors.As(err, &none) || none.Looked != looked {
			t.Errorf("%q: %+v, %v; want no service for %s", handle, a, err, looked)
		}
	}
}

// TestURLOrder checks the order in which to try servers (case bs09).
func TestURLOrder(t *testing.T) {
	const text = `[["zz"],["https://192.0.2.1:9/","https://127.0.0.1:8080/"]],
		[["yy"],["http://a.invalid/","https://b.invalid/x","http://c.invalid","https://d.invalid/?key=1","https://b.invalid/x/"]],
		[["same"],["http://zero.invalid/"]],[["same"],["https://one.invalid/"]],[["same"],["https://two.invalid/","https://one.invalid/"]],
		[["odd"],["ftp://a.invalid/","https://","//a.invalid/","https://u:p@a.invalid/","https://a.invalid/#x"," https://ok.invalid ","nonsense"]],
		[["bad"],["ftp://a.invalid/"]],
		[["plain"],["http://a.invalid/"]]`
	r := files(t, map[Registry]string{RegistryDNS: services(text)})
	wantResolve(t, r, domain("zz"), "iana zz https://192.0.2.1:9/ https://127.0.0.1:8080/")
	wantResolve(t, r, domain("yy"), "iana yy https://b.invalid/x/ https://d.invalid/?key=1")
	wantResolve(t, r, domain("same"), "iana same https://one.invalid/ https://two.invalid/")
	wantResolve(t, r, domain("odd"), "iana odd https://ok.invalid/")
	if _, err := r.Resolve(t.Context(), domain("bad")); !errors.Is(err, ErrNoService) {
		t.Errorf("bad: %v; want no service", err)
	}
	var plain *HTTPOnlyError
	if _, err := r.Resolve(t.Context(), domain("x.plain")); !errors.Is(err, ErrHTTPOnly) || !errors.As(err, &plain) || plain.URLs[0] != "http://a.invalid/" {
		t.Errorf("plain: %v; want ErrHTTPOnly with the URL", err)
	}
	r = newResolver(t, Config{Files: map[Registry][]byte{RegistryDNS: []byte(services(text))}, AllowHTTP: true})
	wantResolve(t, r, domain("yy"), "iana yy https://b.invalid/x/ https://d.invalid/?key=1 http://a.invalid/ http://c.invalid/")
	wantResolve(t, r, domain("x.plain"), "iana plain http://a.invalid/")
}

// Members and values that RFC 9224 section 10 reserves for the future are ignored.
func TestUnknownMembers(t *testing.T) {
	r := files(t, map[Registry]string{RegistryDNS: `{"version":"1.0","colour":"blue","publication":"2024-01-01T00:00:00Z","more":{"services":[[["yy"],["https://no.invalid/"]]]},
		"services":[[["zz"],["https://zz.invalid/","tel:+1-555-0100"],["something new"]],[["ww"]],[],[["vv"],["https://vv.invalid/"]]],"notes":[1,null]}`})
	wantResolve(t, r, domain("a.zz"), "iana zz https://zz.invalid/")
	wantResolve(t, r, domain("a.vv"), "iana vv https://vv.invalid/")
	if a, err := r.Resolve(t.Context(), domain("a.yy")); !errors.Is(err, ErrNoService) {
		t.Errorf("yy: %+v, %v", a, err)
	}
}
