// Package dnsname converts host and domain names between Unicode and ASCII. It does not
// deal with queries and resolves no names.
package dnsname

import (
	"errors"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/rdapq/rdapq/internal/safetext"
)

// uts46 maps and converts according to UTS 46, non-transitional: sharp s and final sigma are
// preserved. It checks less than registration requires, because registries decide about
// underscores and mixed directions.
var uts46 = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false))

// FullStops replaces the full stops of UTS 46 section 2.3, which input methods produce.
var FullStops = strings.NewReplacer("\u3002", ".", "\uff0e", ".", "\uff61", ".")

// ToASCII converts the U-labels of a name to A-labels and the rest to lower case. It does not
// change ASCII labels, even if IDNA does not allow the content of an A-label, because such
// names are registered.
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

// LabelToASCII is like ToASCII for one label.
func LabelToASCII(label string) (string, error) {
	if IsASCII(label) {
		return strings.ToLower(label), nil
	}
	a, err := uts46.ToASCII(label)
	if err == nil && IsASCII(a) {
		return a, nil
	}
	// idna rejects labels such as some emoji sequences, but may still return mapped and encoded
	// labels.
	if strings.HasPrefix(a, "xn--") && IsASCII(a) {
		return a, nil
	}
	a, err = idna.Punycode.ToASCII(strings.ToLower(label))
	if err != nil || !IsASCII(a) {
		return "", errors.New(safetext.Quote(label) + " contains characters that are not allowed in a name")
	}
	return a, nil
}

// ToUnicode converts an A-label to a U-label.
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

// bidi checks the rule for right-to-left names (RFC 5893) in addition to uts46.
var bidi = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.BidiRule())

// Note returns a warning if IDNA does not allow a name that ToASCII converts, or else "".
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
			sent, _ := LabelToASCII(label) // cannot fail, because the whole name was converted before
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
