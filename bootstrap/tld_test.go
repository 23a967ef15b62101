package bootstrap

import (
	"errors"
	"testing"
)

// The root and top-level domains are at IANA's server. Other names with one label are an
// error.
func TestTopLevelDomains(t *testing.T) {
	r, err := New(Config{Offline: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	resolve := func(r *Resolver, q Question) (Answer, error) { return r.Resolve(t.Context(), q) }
	for name, entry := range map[string]string{
		"com": "com", "COM.": "com", "de": "de", "re": "re", "xn--p1ai": "xn--p1ai", "ck": "ck", "er": "er", "arpa": "arpa", ".": ".",
	} {
		a, err := resolve(r, Question{For: ForDomain, Name: name})
		if err != nil || a.URLs[0] != "https://rdap.iana.org/" || a.Source != SourceUnlisted || a.Entry != entry {
			t.Errorf("%q: %+v, %v", name, a, err)
		}
	}
	for _, name := range []string{"localhost", "local", "test", "onion", "invalid", "example", "zzz", "org-1-example"} {
		_, err := resolve(r, Question{For: ForDomain, Name: name})
		if e, ok := errors.AsType[*NotTopLevelError](err); !ok || !errors.Is(err, ErrNotTopLevel) || e.Name != name {
			t.Errorf("%q: %v", name, err)
		}
	}
	// Names below a top-level domain, and questions about all such names, are in the registry.
	for _, q := range []Question{{For: ForDomain, Name: "alpha.com"}, {For: ForDomain, Name: "com", Below: true}, {For: ForNameserver, Name: "ns1.alpha.com"}} {
		if a, err := resolve(r, q); err != nil || a.Entry != "com" || a.Source != SourceSnapshot {
			t.Errorf("%+v: %+v, %v", q, a, err)
		}
	}
	if _, err := resolve(r, Question{For: ForDomain, Name: "alpha.onion"}); !errors.Is(err, ErrNoService) {
		t.Errorf("a name below .onion: %v", err)
	}
}

// The user's configuration takes precedence over IANA's server.
func TestTopLevelDomainsOfUser(t *testing.T) {
	const mine = "https://rdap.example/"
	dns := []byte(`{"version":"1.0","publication":"2026-01-01T00:00:00Z","services":[[["com","example"],["` + mine + `"]]]}`)
	for what, c := range map[string]Config{
		"server":    {Server: mine},
		"overrides": {Offline: true, Overrides: Overrides{"com": {mine}, "example": {mine}}},
		"root":      {Offline: true, Overrides: Overrides{".": {mine}}},
		"files":     {Files: map[Registry][]byte{RegistryDNS: dns}},
	} {
		r, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"com", "example"} {
			if a, err := r.Resolve(t.Context(), Question{For: ForDomain, Name: name}); err != nil || a.URLs[0] != mine {
				t.Errorf("%s: %q: %+v, %v", what, name, a, err)
			}
		}
		r.Close()
	}
	r, err := New(Config{Offline: true, IANAOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if a, err := r.Resolve(t.Context(), Question{For: ForDomain, Name: "com"}); !errors.Is(err, ErrNoService) {
		t.Errorf("without the built-in list: %+v, %v", a, err)
	}
}
