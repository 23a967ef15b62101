package client

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/rdapq/rdapq/internal/dnsname"
)

// searchValue checks what to look for and brings it into the form that is sent.
// typ is empty in reverse searches, whose values are the server's to judge.
func searchValue(whole, param string, typ Type, value string) (string, error) {
	value = strings.TrimSpace(value)
	if !utf8.ValidString(value) {
		return "", invalid(whole, "the pattern is not in UTF-8", "")
	}
	value = norm.NFC.String(value)
	isName := param == "nsLdhName" || param == "name" && (typ == TypeDomains || typ == TypeNameservers)
	if isName {
		value = asterisks.Replace(value)
	}
	if err := checkPattern(whole, value); err != nil {
		return "", err
	}
	switch {
	case isName:
		return namePattern(whole, value)
	case typ != "" && (param == "nsIp" || param == "ip"):
		return addressPattern(whole, value)
	}
	return value, nil
}

// asterisks are what UTS 46 maps to one.
var asterisks = strings.NewReplacer("\uff0a", "*", "\ufe61", "*")

// checkPattern keeps to RFC 9082 section 4.1: one "*" at most, and it does not
// stand between a letter and what is put on it.
func checkPattern(whole, value string) error {
	if value == "" || value == "*" {
		return emptyPattern(whole)
	}
	if len(value) > maxHandle {
		return invalid(whole, fmt.Sprintf("the pattern is longer than %d octets", maxHandle), "")
	}
	for _, r := range value {
		if r < 0x20 || r == 0x7f {
			return invalid(whole, "the pattern has a control character in it", "")
		}
	}
	_, after, _ := strings.Cut(value, "*")
	if strings.Contains(after, "*") {
		return invalid(whole, "a pattern has one * at most", "leave one of them out")
	}
	if r, _ := utf8.DecodeRuneInString(after); after != "" && unicode.In(r, unicode.M) {
		return invalid(whole, "the * stands before a combining character, which belongs to the letter before it", "put the * behind a whole character")
	}
	return nil
}

func emptyPattern(whole string) *Error {
	return invalid(whole, "the pattern says nothing", "write a part of what you look for and a * for the rest")
}

// namePattern brings a pattern for names into lower case, and into A-labels
// unless the part of a label that it has is in no ASCII: then into U-labels, for
// the two are never mixed (RFC 9082 section 3.2.1).
func namePattern(whole, value string) (string, error) {
	value = strings.TrimSuffix(dnsname.FullStops.Replace(value), ".")
	if value == "" || value == "*" {
		return "", emptyPattern(whole)
	}
	labels := strings.Split(value, ".")
	unicodeOnly := false
	for i, label := range labels {
		if strings.Contains(label, "*") {
			unicodeOnly = !dnsname.IsASCII(label)
			labels[i] = norm.NFC.String(strings.ToLower(label))
			continue
		}
		ascii, err := dnsname.LabelToASCII(label)
		if err != nil {
			return "", invalid(whole, "the name cannot be written in A-labels: "+err.Error(), "")
		}
		labels[i] = ascii
	}
	for i, label := range labels {
		if unicodeOnly && strings.HasPrefix(label, "xn--") {
			// One that is no A-label of anything stays what it is.
			if u, err := dnsname.ToUnicode(label); err == nil && !dnsname.IsASCII(u) {
				if back, err := dnsname.LabelToASCII(u); err == nil && back == label {
					labels[i] = norm.NFC.String(u)
				}
			}
		}
	}
	// Now, because the conversion maps some characters to these, or to none.
	name := strings.Join(labels, ".")
	for label := range strings.SplitSeq(name, ".") {
		if err := checkLabel(whole, label); err != nil {
			return "", err
		}
		if strings.ContainsAny(label, " "+`/?#@\&=%:`) {
			return "", invalid(whole, "this is no pattern for names", "write letters, digits, hyphens, dots and one *, such as exam*.com")
		}
	}
	return name, nil
}

// addressPattern brings an address into its one spelling (RFC 5952). A part of
// one with a "*" behind it is the server's to judge.
func addressPattern(whole, value string) (string, error) {
	if strings.Contains(value, "*") {
		if strings.Trim(strings.ToLower(value), "0123456789abcdef.:*") != "" {
			return "", invalid(whole, "this is no pattern for addresses", "write 192.0.2.* or 2001:db8:*")
		}
		return strings.ToLower(value), nil
	}
	p, err := parsePrefix(value)
	if err != nil {
		return "", err
	}
	if !p.IsSingleIP() {
		return "", invalid(whole, "a nameserver has addresses, not prefixes", "write one address")
	}
	return netip.Addr.String(p.Addr()), nil
}
