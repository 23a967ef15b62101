// Package dnsname converts host and domain names between Unicode and ASCII.
package dnsname

import (
	"errors"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/rdapq/rdapq/internal/safetext"
)

// uts46 maps and converts as UTS 46 says, non-transitional: sharp s and final
// sigma stay what they are. It checks less than registration needs: underscores
// and mixed directions are the registry's affair.
var uts46 = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false))

// FullStops are the dots of UTS 46 section 2.3, which input methods produce.
var FullStops = strings.NewReplacer("\u3002", ".", "\uff0e", ".", "\uff61", ".")

// ToASCII turns the U-labels of a name into A-labels and everything else into
// lower case. Labels that are ASCII already are not changed, even where IDNA does
// not allow what an A-label encodes: such names are registered.
func ToASCII(s string) (string, error) {
	if IsASCII(s) {
		return strings.ToLower(s), nil
	}
	labels := strings.Split(FullStops.Replace(s), ".")
	for i, label := range labels {
		a, err := LabelToASCII(label)
		if err != nil {
			return "", err
		}
		labels[i] = a
	}
	return strings.Join(labels, "."), nil
}

// LabelToASCII does for one label what ToASCII does.
func LabelToASCII(label string) (string, error) {
	if IsASCII(label) {
		return strings.ToLower(label), nil
	}
	a, err := uts46.ToASCII(label)
	if err == nil && IsASCII(a) {
		return a, nil
	}
	// Refused, such as some emoji sequences: what idna made of it in spite of
	// its complaint is mapped and encoded, if it got that far.
	if strings.HasPrefix(a, "xn--") && IsASCII(a) {
		return a, nil
	}
	a, err = idna.Punycode.ToASCII(strings.ToLower(label))
	if err != nil || !IsASCII(a) {
		return "", errors.New(safetext.Quote(label) + " contains characters that are not allowed in a name")
	}
	return a, nil
}

// ToUnicode turns an A-label into the U-label that it encodes.
func ToUnicode(label string) (string, error) { return uts46.ToUnicode(label) }

// IsASCII reports whether a name has only ASCII characters.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// bidi checks the rule for names with right-to-left letters (RFC 5893) beside
// what uts46 does.
var bidi = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.BidiRule())

// Note returns a sentence about what IDNA does not allow in a name that ToASCII
// converts; empty without any.
func Note(s string) string {
	if IsASCII(s) {
		return ""
	}
	s = FullStops.Replace(s)
	for label := range strings.SplitSeq(s, ".") {
		if IsASCII(label) {
			continue
		}
		if _, err := uts46.ToASCII(label); err != nil {
			sent, _ := LabelToASCII(label) // the name has been converted already
			return "IDNA does not allow the label " + safetext.Quote(label) + ": it was sent as " + sent
		}
	}
	if _, err := bidi.ToASCII(s); err != nil {
		if _, err := uts46.ToASCII(s); err == nil {
			return "the name mixes directions in a way that IDNA does not allow: it was sent unchanged"
		}
	}
	return ""
}
