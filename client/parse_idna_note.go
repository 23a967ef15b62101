package client

import (
	"strings"

	"golang.org/x/net/idna"
)

// bidi checks the rule for names with right-to-left letters (RFC 5893) beside
// what uts46 does.
var bidi = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.BidiRule())

// noteOnName says what is unusual about a name that is looked up: registries have
// names that IDNA does not allow. name is text in A-labels.
func noteOnName(text, name string) string {
	if isASCIIName(text) && !strings.Contains(name, "--") {
		return ""
	}
	note := noteOnIDNA(text)
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

func noteOnIDNA(s string) string {
	if isASCIIName(s) {
		return ""
	}
	s = fullStops.Replace(s)
	for label := range strings.SplitSeq(s, ".") {
		if isASCIIName(label) {
			continue
		}
		if _, err := uts46.ToASCII(label); err != nil {
			sent, _ := labelToASCII(label) // the name has been converted already
			return "IDNA does not allow the label " + quote(label) + ": it was sent as " + sent
		}
	}
	if _, err := bidi.ToASCII(s); err != nil {
		if _, err := uts46.ToASCII(s); err == nil {
			return "the name mixes directions in a way that IDNA does not allow: it was sent unchanged"
		}
	}
	return ""
}
