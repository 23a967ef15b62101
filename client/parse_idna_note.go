package client

import (
	"strings"

	"golang.org/x/net/idna"
)

// bidi checks the rule for names with right-to-left letters (RFC 5893) beside
// what uts46 does.
var bidi = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.BidiRule())

// noteOnName says what was let pass of a name that is not in ASCII: registries
// have names that IDNA does not allow, and it is theirs to say so.
func noteOnName(s string) string {
	s = fullStops.Replace(s)
	for label := range strings.SplitSeq(s, ".") {
		if isASCIIName(label) {
			continue
		}
		if _, err := uts46.ToASCII(label); err != nil {
			sent, _ := labelToASCII(label) // the name has been converted already
			return "IDNA does not allow the label " + quote(label) + ": asked as " + sent + " all the same"
		}
	}
	if _, err := bidi.ToASCII(s); err != nil {
		if _, err := uts46.ToASCII(s); err == nil {
			return "the name mixes directions in a way that IDNA does not allow: asked for all the same"
		}
	}
	return ""
}
