package limit

import (
	"strconv"
	"strings"
	"time"
)

// Stated returns the strictest limit on requests that one of the texts states, such as "a limit
// of 10 queries per minute" or "Rate limit: 10 per minute". It returns the zero Rate if no text
// states a limit.
//
// A limit is a number, a counted noun and a span next to each other. The word "limit" before
// the number may replace the noun. Texts about whois alone state no limit.
func Stated(texts ...string) Rate {
	var strictest Rate
	for _, text := range texts {
		if len(text) > maxText {
			text = text[:maxText]
		}
		if r := limitIn(text); r.Interval() > strictest.Interval() {
			strictest = r
		}
	}
	return strictest
}

// maxText limits the part of a text that Stated reads.
const maxText = 8 << 10

// limitIn returns the strictest limit on requests in a text.
func limitIn(text string) Rate {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == ',' || r == '.' || r >= 0x80)
	})
	whois, rdap := false, false
	for _, w := range words {
		w = strings.Trim(w, ".,")
		whois = whois || strings.HasPrefix(w, "whois") || w == "43"
		rdap = rdap || w == "rdap"
	}
	if whois && !rdap {
		return Rate{}
	}
	var strictest Rate
	for i := range words {
		if r := limitAt(words[i:], namesLimit(words[:i])); r.Interval() > strictest.Interval() {
			strictest = r
		}
	}
	return strictest
}

// namesLimit reports whether words end in "limit", "limit of" or a similar phrase.
func namesLimit(words []string) bool {
	for n := len(words); n > 0; n-- {
		switch w := words[n-1]; {
		case limiting[w]:
			return true
		case !leading[w] || len(words)-n > 3:
			return false
		}
	}
	return false
}

var limiting = map[string]bool{"limit": true, "limits": true, "limited": true, "ratelimit": true, "quota": true}

var leading = map[string]bool{"is": true, "of": true, "to": true, "at": true, "most": true, "currently": true, "maximum": true, "max": true}

// limitAt parses a limit that begins with the first word. A limit is a number, the counted
// noun, "per" or a similar word, an optional number, and a unit of time, without a comma or
// full stop. named reports that the preceding words name a limit, so the noun may be missing.
func limitAt(words []string, named bool) Rate {
	n, ok := countOf(words)
	if !ok {
		return Rate{}
	}
	words = words[1:]
	for len(words) > 0 && (words[0] == "rdap" || words[0] == "http" || words[0] == "https") {
		words = words[1:]
	}
	switch {
	case len(words) == 0:
		return Rate{}
	case len(words) > 1 && counted[words[0]]:
		words = words[1:]
	case !named:
		return Rate{}
	}
	linked := false // some texts say "10 requests/minute"
	for len(words) > 0 && linking[words[0]] && len(words) > 1 {
		words, linked = words[1:], true
	}
	times := 1
	if n, ok := countOf(words); ok && linked {
		times, words = n, words[1:]
	}
	if len(words) == 0 {
		return Rate{}
	}
	unit := units[strings.TrimRight(words[0], ".,")]
	per := time.Duration(times) * unit
	if unit == 0 || times > 10_000 || per > MaxPer {
		return Rate{}
	}
	return Rate{N: n, Per: per}
}

// countOf parses an integer, with or without commas between its thousands.
func countOf(words []string) (int, bool) {
	if len(words) == 0 || words[0] == "" || words[0][0] < '0' || words[0][0] > '9' {
		return 0, false
	}
	s := words[0]
	if groups := strings.Split(s, ","); len(groups) > 1 {
		for _, g := range groups[1:] {
			if len(g) != 3 {
				return 0, false
			}
		}
		s = strings.Join(groups, "")
	}
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil && n > 0 && n <= 10_000_000
}

var counted = map[string]bool{
	"query": true, "queries": true, "request": true, "requests": true, "req": true, "reqs": true,
	"lookup": true, "lookups": true, "call": true, "calls": true,
}

var linking = map[string]bool{
	"per": true, "a": true, "an": true, "each": true, "every": true, "in": true, "within": true, "any": true,
	"one": true, "single": true, "period": true, "of": true, "window": true, "sliding": true, "rolling": true,
}

var units = map[string]time.Duration{
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"day": 24 * time.Hour, "days": 24 * time.Hour,
}
