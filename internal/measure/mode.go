package measure

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rdapq/rdapq/pool"
)

// A Mode is a way to connect. The zero Mode uses a new connection and a full handshake
// per request.
type Mode struct {
	Name      string // name as requested
	Reuse     bool   // whether to reuse connections
	Resume    bool   // whether to resume TLS sessions, including those of the warm-up
	EarlyData bool   // whether to send requests in the first flight of HTTP/3
	FastOpen  bool   // whether to use TCP Fast Open
	HTTP      string // version "1.1", "2" or "3"; empty means 2 or 1.1, as negotiated
	TLS12     bool   // whether to use at most TLS 1.2
}

// modeWords lists the parts of mode names, in the order of their explanation.
var modeWords = []struct{ word, about string }{
	{"reuse", "connections are reused"},
	{"no-reuse", "a new connection and full handshake per lookup"},
	{"resume", "a new connection per lookup, with resumed TLS sessions; with reuse, only the first connection resumes"},
	{"fast-open", "TCP Fast Open"},
	{"h1", "HTTP/1.1"},
	{"h2", "HTTP/2"},
	{"h3", "HTTP/3"},
	{"0rtt", "HTTP/3 with 0-RTT"},
	{"tls1.2", "TLS 1.2"},
}

// Words returns the names of modes; "+" combines them.
func Words() []string {
	list := make([]string, len(modeWords))
	for i, w := range modeWords {
		list[i] = w.word
	}
	return list
}

// Explain returns the meaning of a word of [Words], or "" for any other text.
func Explain(word string) string {
	for _, w := range modeWords {
		if w.word == word {
			return w.about
		}
	}
	return ""
}

// ParseMode parses the name of a mode: one of [Words], or several joined by "+", such as
// "no-reuse+tls1.2". By default, modes reuse connections. The error names the words that cannot
// be used together.
func ParseMode(name string) (Mode, error) {
	m := Mode{Name: name}
	parts := strings.Split(name, "+")
	has := func(word string) bool { return slices.Contains(parts, word) }
	for i, part := range parts {
		if Explain(part) == "" {
			return m, fmt.Errorf("unknown mode %q", part)
		}
		if slices.Contains(parts[:i], part) {
			return m, fmt.Errorf("duplicate %q in %q", part, name)
		}
	}
	for _, pair := range [][2]string{
		{"reuse", "no-reuse"},
		{"h1", "h2"},
		{"h1", "h3"},
		{"h2", "h3"},
		{"h1", "0rtt"},
		{"h2", "0rtt"},
		{"h3", "tls1.2"},
		{"0rtt", "tls1.2"},
		{"h3", "fast-open"},
		{"0rtt", "fast-open"},
	} {
		if has(pair[0]) && has(pair[1]) {
			return m, fmt.Errorf("%s and %s cannot be used together", pair[0], pair[1])
		}
	}
	m.Reuse = has("reuse") || !has("no-reuse") && !has("resume")
	m.Resume = has("resume") || has("0rtt")
	m.EarlyData, m.FastOpen, m.TLS12 = has("0rtt"), has("fast-open"), has("tls1.2")
	switch {
	case has("h1"):
		m.HTTP = "1.1"
	case has("h2"):
		m.HTTP = "2"
	case has("h3"), has("0rtt"):
		m.HTTP = "3"
	}
	return m, nil
}

// ParseModes parses several names.
func ParseModes(names []string) ([]Mode, error) {
	var modes []Mode
	for _, name := range names {
		m, err := ParseMode(name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(modes, func(o Mode) bool { o.Name = m.Name; return o == m }) {
			return nil, fmt.Errorf("duplicate mode %s", name)
		}
		modes = append(modes, m)
	}
	if len(modes) == 0 {
		return nil, errors.New("no mode to measure")
	}
	return modes, nil
}

// About describes the mode in a few words.
func (m Mode) About() string {
	var parts []string
	switch {
	case m.Reuse:
		parts = append(parts, "connections reused")
	case m.Resume:
		parts = append(parts, "a new connection per lookup, sessions resumed")
	default:
		parts = append(parts, "a new connection and full handshake per lookup")
	}
	if m.Reuse && m.Resume {
		parts = append(parts, "first session resumed")
	}
	if m.HTTP != "" {
		parts = append(parts, "HTTP/"+m.HTTP)
	}
	if m.EarlyData {
		parts = append(parts, "0-RTT")
	}
	if m.FastOpen {
		parts = append(parts, "TCP Fast Open")
	}
	if m.TLS12 {
		parts = append(parts, "TLS 1.2")
	}
	return strings.Join(parts, ", ")
}

// apply adds the settings of the mode to c.
func (m Mode) apply(c *pool.Config) {
	c.NoReuse = !m.Reuse && !m.Resume
	c.FreshConns = !m.Reuse && m.Resume
	c.NoEarlyData = !m.EarlyData
	c.FastOpen = m.FastOpen
	c.Protocols = map[string][]string{
		"": {"h2", "http/1.1"}, "1.1": {"http/1.1"}, "2": {"h2"}, "3": {"h3"},
	}[m.HTTP]
	if m.TLS12 {
		c.TLS = c.TLS.Clone()
		c.TLS.MinVersion, c.TLS.MaxVersion = min(c.TLS.MinVersion, tls.VersionTLS12), tls.VersionTLS12
	}
}
