package weburl

import (
	"net/url"
	"testing"
)

func TestOrigin(t *testing.T) {
	for in, want := range map[string]string{
		"https://rdap.example/domain/":       "https://rdap.example",
		"HTTPS://RDAP.Example:443/":          "https://rdap.example",
		"http://rdap.example:80":             "http://rdap.example",
		"https://rdap.example:80":            "https://rdap.example:80",
		"https://rdap.example:/":             "https://rdap.example",
		"https://me:word@[2001:DB8::1]:8443": "https://[2001:db8::1]:8443",
	} {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := Origin(u); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestNormalize(t *testing.T) {
	for in, want := range map[string]string{
		"HTTPS://me@RDAP.Example:443#top":  "https://rdap.example/",
		"https://rdap.example/Domain/?a=B": "https://rdap.example/Domain/?a=B",
	} {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := Normalize(u); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"https://rdap.example/":                       "https://rdap.example/",
		"https://me:word@rdap.example/a@b":            "https://rdap.example/a@b",
		"//me:word@rdap.example":                      "//rdap.example",
		"https://a@b@rdap.example/":                   "https://rdap.example/",
		"https://rdap.example/?apikey=12&x=1#y?key=2": "https://rdap.example/?apikey=REDACTED&x=1#y?key=2",
		"https://rdap.example/?token=&key":            "https://rdap.example/?token=&key",
		"https://me:word@rdap.example:port/?key=1":    "rdap.example:port/",
		"a@b.example":                                 "a@b.example",
	} {
		if got := Redact(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("https://me:word@rdap.example/?key=1&a=b#c")
	f.Fuzz(func(t *testing.T, s string) {
		if once := Redact(s); Redact(once) != once {
			t.Errorf("%q: %q, then %q", s, once, Redact(once))
		}
	})
}
