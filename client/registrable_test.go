package client

import (
	"testing"

	"github.com/rdapq/rdapq/internal/registrable"
)

func TestRegistrable(t *testing.T) {
	for name, want := range map[string]string{
		"www.example.com":       "example.com",
		"example.com":           "example.com",
		"com":                   "com",
		"a.b.example.co.uk":     "example.co.uk",
		"example.co.uk":         "example.co.uk",
		"co.uk":                 "co.uk",
		"www.example.zz":        "example.zz", // a top-level domain that is not on the list
		"nobody.github.io":      "github.io",  // GitHub's suffix is a domain of the registry
		"github.io":             "github.io",
		"a.b.c.kobe.jp":         "b.c.kobe.jp", // a wildcard of the list
		"www.city.kobe.jp":      "city.kobe.jp",
		"2.0.192.in-addr.arpa":  "2.0.192.in-addr.arpa",
		"www.xn--bcher-kva.com": "xn--bcher-kva.com",
		"ns1.example.org":       "example.org",
	} {
		if got := registrable.Name(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	c := &Client{cfg: Config{Registrable: true}}
	q, err := Parse("https://www.Example.co.uk/path")
	if err != nil {
		t.Fatal(err)
	}
	q = c.registrable(q)
	if q.Text != "https://www.Example.co.uk/path" || q.Name != "example.co.uk" {
		t.Errorf("%+v", q)
	}
	if q, err = Parse("example.com"); err != nil || c.registrable(q).Name != "example.com" {
		t.Errorf("%+v, %v", q, err)
	}
	if q, err = ParseAs(TypeNameserver, "ns1.example.com"); err != nil || c.registrable(q).Name != "ns1.example.com" {
		t.Errorf("%+v, %v", q, err)
	}
}
