package client

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxLifetime bounds for how long an answer is believed to be fresh.
const maxLifetime = 30 * 24 * time.Hour

// A freshness is what the header of an answer says about keeping it, for a cache
// of one user (RFC 9111). Nothing is guessed: without the server's word an answer
// is never fresh.
type freshness struct {
	storable bool          // it may be kept at all
	lifetime time.Duration // for so long from when it came; 0: it has to be asked about each time
}

// freshnessOf reads the header of an answer that was asked for and came at these
// times.
func freshnessOf(h http.Header, sent, received time.Time) freshness {
	f := freshness{storable: true}
	stated, noCache := time.Duration(-1), false
	for _, line := range h.Values("Cache-Control") {
		for _, directive := range splitList(line) {
			name, value, _ := strings.Cut(directive, "=")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "no-store":
				f.storable = false
			case "no-cache":
				noCache = true // with field names, too: that is allowed, and rare
			case "max-age":
				// Of two the shorter one, and one that is no number is none at
				// all (section 4.2.1).
				if d := deltaSeconds(strings.Trim(strings.TrimSpace(value), `"`)); stated < 0 || d < stated {
					stated = d
				}
			}
		}
	}
	for _, line := range h.Values("Vary") {
		for field := range strings.SplitSeq(line, ",") {
			if strings.TrimSpace(field) == "*" {
				f.storable = false
			}
		}
	}
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		date = received
	}
	if expires := h.Values("Expires"); stated < 0 && len(expires) > 0 {
		stated = 0 // what is no date, "0" in particular, lies in the past (section 5.3)
		if at, err := http.ParseTime(expires[0]); err == nil {
			stated = at.Sub(date)
		}
	}
	if noCache {
		stated = 0
	}
	// Its age when it came (section 4.2.3).
	age := received.Sub(sent)
	if values := h.Values("Age"); len(values) > 0 {
		age += deltaSeconds(strings.TrimSpace(values[0]))
	}
	age = max(age, received.Sub(date))
	f.lifetime = min(max(stated-age, 0), maxLifetime)
	return f
}

// deltaSeconds reads a number of seconds (section 1.2.2); what is none is 0.
func deltaSeconds(s string) time.Duration {
	if s == "" || !isNumeric(s) {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		n = 1 << 31 // so it says of numbers that are too large
	}
	return time.Duration(n) * time.Second
}

// splitList splits a list of directives at its commas, but not at those inside
// quotes.
func splitList(line string) []string {
	var list []string
	quoted, escaped, start := false, false, 0
	for i := range len(line) {
		switch c := line[i]; {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			list = append(list, line[start:i])
			start = i + 1
		}
	}
	return append(list, line[start:])
}
