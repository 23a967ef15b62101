package rdap

import (
	"fmt"
	"strings"
)

// maxLanguages bounds a list of languages, so that each has a weight of its own
// in what is sent.
const maxLanguages = 9

// ParseLanguages reads a list of language tags (RFC 5646) with commas between, the
// best one first: "de-AT,en". An empty text is an empty list.
func ParseLanguages(text string) ([]string, error) {
	var tags []string
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	for tag := range strings.SplitSeq(text, ",") {
		tag = strings.TrimSpace(tag)
		if !isLanguageTag(tag) {
			return nil, fmt.Errorf("invalid language tag %q", tag)
		}
		tags = append(tags, tag)
	}
	if len(tags) > maxLanguages {
		return nil, fmt.Errorf("%d languages, but at most %d are allowed", len(tags), maxLanguages)
	}
	return tags, nil
}

// isLanguageTag says that s has the form of a tag: letters, and behind hyphens
// subtags of letters and digits, each of at most eight.
func isLanguageTag(s string) bool {
	for i, subtag := range strings.Split(s, "-") {
		if subtag == "" || len(subtag) > 8 {
			return false
		}
		for _, c := range []byte(subtag) {
			if !isDigit(c) && (c|0x20 < 'a' || 'z' < c|0x20) || i == 0 && isDigit(c) {
				return false
			}
		}
	}
	return true
}

// LanguageRank says how well a tag fits what a reader prefers, best first: 0 is
// the best. A tag fits when it is the one preferred or a kind of it, as de-AT is
// of de, or else what that is a kind of. An empty tag, which says nothing, comes
// after those that fit, and all others after it.
func LanguageRank(tag string, preferred []string) int {
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

// isKindOf says that a tag is another one, or begins with it (RFC 4647 section
// 3.3.1).
func isKindOf(tag, other string) bool {
	n := len(other)
	return len(tag) >= n && strings.EqualFold(tag[:n], other) && (len(tag) == n || tag[n] == '-')
}
