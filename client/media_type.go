package client

import (
	"mime"
	"strings"

	"github.com/rdapq/rdapq/internal/safetext"
)

func mediaType(contentType string) string {
	if contentType == "application/rdap+json" {
		return contentType // as most servers write it, which needs no parsing
	}
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil && t == "" {
		t, _, _ = strings.Cut(contentType, ";")
	}
	return strings.ToLower(strings.TrimSpace(t))
}

// labelled says what a body is labelled as, for the end of a clause.
func contentTypeNote(contentType string) string {
	if contentType == "" {
		return " without a content type"
	}
	return " labelled " + safetext.Visible(contentType)
}
