package measure

import (
	"crypto/tls"
	"slices"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/pool"
)

func TestParseMode(t *testing.T) {
	for name, want := range map[string]Mode{
		"reuse":              {Reuse: true},
		"no-reuse":           {},
		"resume":             {Resume: true},
		"no-reuse+resume":    {Resume: true},
		"reuse+resume":       {Reuse: true, Resume: true},
		"h1":                 {Reuse: true, HTTP: "1.1"},
		"h2":                 {Reuse: true, HTTP: "2"},
		"h3":                 {Reuse: true, HTTP: "3"},
		"0rtt":               {Reuse: true, HTTP: "3", Resume: true, EarlyData: true},
		"no-reuse+0rtt":      {HTTP: "3", Resume: true, EarlyData: true},
		"h3+0rtt":            {Reuse: true, HTTP: "3", Resume: true, EarlyData: true},
		"tls1.2":             {Reuse: true, TLS12: true},
		"no-reuse+h1+tls1.2": {HTTP: "1.1", TLS12: true},
		"fast-open+resume":   {FastOpen: true, Resume: true},
	} {
		want.Name = name
		if got, err := ParseMode(name); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
	}
	for name, want := range map[string]string{
		"":                "unknown mode",
		"reuse+":          "unknown mode",
		"Reuse":           "unknown mode",
		"reuse+no-reuse":  "cannot be used together",
		"h1+h2":           "cannot be used together",
		"0rtt+h2":         "cannot be used together",
		"h3+tls1.2":       "cannot be used together",
		"h3+fast-open":    "cannot be used together",
		"reuse+h2+h2":     "duplicate",
		"no-reuse,resume": "unknown mode",
	} {
		if _, err := ParseMode(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", name, err, want)
		}
	}
	for _, word := range Words() {
		if _, err := ParseMode(word); err != nil || Explain(word) == "" {
			t.Errorf("%s: %v, %q", word, err, Explain(word))
		}
	}
}

func TestParseModes(t *testing.T) {
	if _, err := ParseModes([]string{"resume", "no-reuse+resume"}); err == nil || !strings.Contains(err.Error(), "duplicate mode") {
		t.Errorf("the same by two names: %v", err)
	}
	if _, err := ParseModes(nil); err == nil {
		t.Error("none is taken")
	}
	modes, err := ParseModes([]string{"reuse", "no-reuse", "h1"})
	if err != nil || len(modes) != 3 || modes[2].Name != "h1" {
		t.Errorf("%+v, %v", modes, err)
	}
}

func TestApply(t *testing.T) {
	given := &tls.Config{MinVersion: tls.VersionTLS13}
	for name, check := range map[string]func(c *pool.Config) bool{
		"reuse":    func(c *pool.Config) bool { return !c.NoReuse && !c.FreshConns && c.NoEarlyData },
		"no-reuse": func(c *pool.Config) bool { return c.NoReuse && !c.FreshConns },
		"resume":   func(c *pool.Config) bool { return !c.NoReuse && c.FreshConns },
		"h1":       func(c *pool.Config) bool { return slices.Equal(c.Protocols, []string{"http/1.1"}) },
		"0rtt":     func(c *pool.Config) bool { return !c.NoEarlyData && slices.Equal(c.Protocols, []string{"h3"}) },
		"tls1.2": func(c *pool.Config) bool {
			return c.TLS.MaxVersion == tls.VersionTLS12 && c.TLS.MinVersion <= tls.VersionTLS12
		},
		"fast-open+h2": func(c *pool.Config) bool { return c.FastOpen && slices.Equal(c.Protocols, []string{"h2"}) },
	} {
		m, err := ParseMode(name)
		c := pool.Config{TLS: given}
		m.apply(&c)
		if err != nil || !check(&c) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	if given.MaxVersion != 0 || given.MinVersion != tls.VersionTLS13 {
		t.Error("what was given was changed")
	}
}

func TestAbout(t *testing.T) {
	for name, want := range map[string]string{
		"reuse":         "connections reused",
		"no-reuse+h1":   "a new connection and full handshake per lookup, HTTP/1.1",
		"resume+tls1.2": "a new connection per lookup, sessions resumed, TLS 1.2",
		"0rtt":          "connections reused, first session resumed, HTTP/3, 0-RTT",
		"fast-open":     "connections reused, TCP Fast Open",
	} {
		if m, err := ParseMode(name); err != nil || m.About() != want {
			t.Errorf("%s: %q, %v; want %q", name, m.About(), err, want)
		}
	}
}
