package client

import (
	"errors"
	"strings"

	"golang.org/x/net/idna"
)

// uts46 maps and converts as UTS 46 says, non-transitional: sharp s and final
// sigma stay what they are. It checks less than registration needs: underscores
// and mixed directions are the registry's affair.
var uts46 = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false))

// fullStops are the dots of UTS 46 section 2.3, which input methods produce.
var fullStops = strings.NewReplacer("\u3002", ".", "\uff0e", ".", "\uff61", ".")

// toASCII turns the U-labels of a name into A-labels and everything else into
// lower case. Labels that are ASCII already are not changed, even where IDNA does
// not allow what an A-label encodes: such names are registered.
func toASCII(s string) (string, error) {
	if isASCIIName(s) {
		return strings.ToLower(s), nil
	}
	labels := strings.Split(fullStops.Replace(s), ".")
	for i, label := range labels {
		a, err := labelToASCII(label)
		if err != nil {
			return "", err
		}
		labels[i] = a
	}
	return strings.Join(labels, "."), nil
}

func labelToASCII(label string) (string, error) {
	if isASCIIName(label) {
		return strings.ToLower(label), nil
	}
	a, err := uts46.ToASCII(label)
	if err == nil && isASCIIName(a) {
		return a, nil
	}
	// Refused, such as some emoji sequences: what idna made of it in spite of
	// its complaint is mapped and encoded, if it got that far.
	if strings.HasPrefix(a, "xn--") && isASCIIName(a) {
		return a, nil
	}
	a, err = idna.Punycode.ToASCII(strings.ToLower(label))
	if err != nil || !isASCIIName(a) {
		return "", errors.New(quote(label) + " has characters that no name can have")
	}
	return a, nil
}
