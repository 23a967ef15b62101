package bootstrap

import (
	"errors"
	"strings"
	"testing"
)

// TestReverse covers reverse names (case bs06).
func TestReverse(t *testing.T) {
	r := newResolver(t, Config{Files: map[Registry][]byte{
		RegistryIPv4: []byte(services(`[["192.0.2.0/24"],["https://rir4.invalid/rdap/"]],[["198.0.0.0/8"],["https://wide.invalid/"]]`)),
		RegistryIPv6: []byte(services(`[["2001:db8::/32"],["https://rir6.invalid/rdap/"]],[["2400::/12"],["https://wide.invalid/"]]`)),
		RegistryDNS:  []byte(dns("", "zz")),
	}})
	full6 := strings.Repeat("f.", 24) + "8.b.d.0.1.0.0.2.ip6.arpa"
	for name, want := range map[string]string{
		"2.0.192.in-addr.arpa":      "iana 192.0.2.0/24 https://rir4.invalid/rdap/",
		"255.2.0.192.IN-ADDR.ARPA.": "iana 192.0.2.0/24 https://rir4.invalid/rdap/",
		"198.in-addr.arpa":          "iana 198.0.0.0/8 https://wide.invalid/",
		"8.b.d.0.1.0.0.2.ip6.arpa":  "iana 2001:db8::/32 https://rir6.invalid/rdap/",
		"8.B.D.0.1.0.0.2.IP6.ARPA":  "iana 2001:db8::/32 https://rir6.invalid/rdap/",
		"0.4.2.ip6.arpa":            "iana 2400::/12 https://wide.invalid/",
		full6:                       "iana 2001:db8::/32 https://rir6.invalid/rdap/",
		// The zones themselves and names next to them are ordinary names.
		"in-addr.arpa":                   "unlisted arpa https://rdap.iana.org/",
		"ip6.arpa":                       "unlisted arpa https://rdap.iana.org/",
		"2.0.192.xin-addr.arpa":          "unlisted arpa https://rdap.iana.org/",
		"2.0.192.in-addr.arpa.zz":        "iana zz https://zz.invalid/",
		"uri.arpa":                       "unlisted arpa https://rdap.iana.org/",
		"a.in-addr-servers.arpa":         "unlisted arpa https://rdap.iana.org/",
		"1.1.1.1.1.1.in-addr-other.arpa": "unlisted arpa https://rdap.iana.org/",
	} {
		wantResolve(t, r, domain(name), want)
	}
	// The names are wider than the entry, or in no entry. The built-in list with its "arpa"
	// must not answer for the address registries.
	for _, name := range []string{"192.in-addr.arpa", "0.192.in-addr.arpa", "3.0.192.in-addr.arpa", "2.ip6.arpa", "9.b.d.0.1.0.0.2.ip6.arpa"} {
		var none *NoServiceError
		if a, err := r.Resolve(t.Context(), domain(name)); !errors.As(err, &none) || none.Name != name {
			t.Errorf("%s: %+v, %v; want no service", name, a, err)
		}
	}
	for _, name := range []string{
		"1.2.3.4.5.in-addr.arpa", "256.in-addr.arpa", "0/25.2.0.192.in-addr.arpa", "0-127.2.0.192.in-addr.arpa", "01.in-addr.arpa",
		"+1.in-addr.arpa", "x.192.in-addr.arpa", "..in-addr.arpa", ".in-addr.arpa", "1..in-addr.arpa", "_dmarc.2.0.192.in-addr.arpa",
		"0." + full6, "2a.ip6.arpa", "g.ip6.arpa", ".ip6.arpa", "8..2.ip6.arpa", "-1.ip6.arpa",
	} {
		for _, class := range []Subject{ForDomain, ForNameserver} {
			if a, err := r.Resolve(t.Context(), Question{For: class, Name: name}); !errors.Is(err, ErrBadReverseName) {
				t.Errorf("%s: %+v, %v; want ErrBadReverseName", name, a, err)
			}
		}
	}
}
