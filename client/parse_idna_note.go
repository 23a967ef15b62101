package client

import (
	"strings"

	"github.com/rdapq/rdapq/internal/dnsname"
)

// noteOnName says what is unusual about a name that is looked up: registries have
// names that IDNA does not allow. name is text in A-labels.
func noteOnName(text, name string) string {
	if dnsname.IsASCII(text) && !strings.Contains(name, "--") {
		return ""
	}
	note := dnsname.Note(text)
	for label := range strings.SplitSeq(name, ".") {
		if hasReservedHyphens(label) {
			if note != "" {
				note += "; "
			}
			return note + "the label " + quote(label) + " has hyphens in its third and fourth place, which are reserved (RFC 5890)"
		}
	}
	return note
}
