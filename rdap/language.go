package rdap

import (
	"fmt"
	"strings"

	"github.com/rdapq/rdapq/rdap/internal/jsonscan"
)

// maxLanguages limits a list of languages, so that each language gets a distinct weight in
// Accept-Language.
const maxLanguages = 9

// ParseLanguages parses a comma-separated list of language tags (RFC 5646), best first:
// "de-AT,en". It returns an empty list for an empty text.
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

// isLanguageTag reports whether s has the form of a tag. A tag has letters, then subtags of
// letters and digits after hyphens. Each part is at most eight characters long.
func isLanguageTag(s string) bool {
	for i, subtag := range strings.Split(s, "-") {
		if subtag == "" || len(subtag) > 8 {
			return false
		}
		for _, c := range []byte(subtag) {
			if !jsonscan.IsDigit(c) && (c|0x20 < 'a' || 'z' < c|0x20) || i == 0 && jsonscan.IsDigit(c) {
				return false
			}
		}
	}
	return true
}
