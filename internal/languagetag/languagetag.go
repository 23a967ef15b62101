// Package languagetag compares language tags.
package languagetag

import "strings"

// Rank returns how well a tag matches the preferred languages, best first; 0 is best. A
// tag matches a preferred language if either equals or extends the other, as de-AT extends de.
// An empty tag ranks after all matches, and any other tag after an empty tag.
func Rank(tag string, preferred []string) int {
	tag = strings.TrimSpace(tag)
	if tag == "" {
		return len(preferred)
	}
	for i, p := range preferred {
		if isKindOf(tag, p) || isKindOf(p, tag) {
			return i
		}
	}
	return len(preferred) + 1
}

// isKindOf reports whether tag equals other or extends it (RFC 4647 section 3.3.1).
func isKindOf(tag, other string) bool {
	n := len(other)
	return len(tag) >= n && strings.EqualFold(tag[:n], other) && (len(tag) == n || tag[n] == '-')
}
