package bootstrap

import "testing"

func TestJoinURL(t *testing.T) {
	for _, tt := range []struct{ base, path, want string }{
		{"https://a.invalid/rdap/", "domain/x.zz", "https://a.invalid/rdap/domain/x.zz"},
		{"https://a.invalid/rdap", "domain/x.zz", "https://a.invalid/rdap/domain/x.zz"},
		{"https://a.invalid", "/domain/x.zz", "https://a.invalid/domain/x.zz"},
		{"https://a.invalid//", "help", "https://a.invalid/help"},
		{"https://a.invalid/rdap?key=1", "domain/x.zz", "https://a.invalid/rdap/domain/x.zz?key=1"},
		{"https://a.invalid/?key=1", "domains?name=x*", "https://a.invalid/domains?name=x*&key=1"},
		{"https://a.invalid/", "domains?name=a%26b", "https://a.invalid/domains?name=a%26b"},
		{"https://a.invalid/x/#frag", "entity/A%2FB", "https://a.invalid/x/entity/A%2FB"},
		{"https://a.invalid/", "ip/2001:db8::/32", "https://a.invalid/ip/2001:db8::/32"},
	} {
		if got := JoinURL(tt.base, tt.path); got != tt.want {
			t.Errorf("JoinURL(%q, %q) = %q, want %q", tt.base, tt.path, got, tt.want)
		}
	}
}

func TestBaseURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://a.invalid":            "https://a.invalid/",
		"HTTPS://a.invalid/x":          "https://a.invalid/x/",
		"https://a.invalid/x/":         "https://a.invalid/x/",
		"https://a.invalid/a%2Fb":      "https://a.invalid/a%2Fb/",
		"https://a.invalid/x?key=1":    "https://a.invalid/x?key=1",
		"https://[2001:db8::1]:8443/x": "https://[2001:db8::1]:8443/x/",
		"http://a.invalid/":            "http://a.invalid/",
		"a.invalid":                    "",
		"https:///x":                   "",
		"https://:443/":                "",
		"https://u@a.invalid/":         "",
		"https://a.invalid/#x":         "",
		"file:///etc/passwd":           "",
		"https://a b.invalid/":         "",
		"https://a.invalid/\x00":       "",
		"":                             "",
	} {
		if got, _, err := baseURL(in); got != want || (err == nil) != (want != "") {
			t.Errorf("baseURL(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}
