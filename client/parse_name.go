package client

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/rdapq/rdapq/internal/dnsname"
)

// Limits of RFC 1035 section 2.3.4, for the name as text without a final dot.
const (
	maxLabel = 63
	maxName  = 253
)

// parseName converts a domain or host name to lower-case A-labels without a final dot. It
// rejects only impossible names: the server decides which names it registers.
func parseName(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", invalid(s, "the name is not valid UTF-8", "")
	}
	if !dnsname.IsASCII(s) {
		if e := checkVisible(s); e != nil {
			return "", e
		}
	}
	name, err := dnsname.ToASCII(s)
	if err != nil {
		return "", invalid(s, "the name cannot be converted to A-labels: "+err.Error(), "")
	}
	// Check the converted name, because the conversion maps some characters to these.
	for i := range len(name) {
		switch c := name[i]; {
		case c <= 0x20 || c == 0x7f:
			return "", invalid(s, "the name contains a space or control character", "write one name at a time")
		case strings.IndexByte(`/?#@\:`, c) >= 0:
			return "", invalid(s, "not a valid domain name", "remove the path, port or user part")
		}
	}
	name = strings.TrimSuffix(name, ".")
	if name == "" {
		return "", invalid(s, "the name is empty", "")
	}
	if len(name) > maxName {
		return "", invalid(s, fmt.Sprintf("the name has %d bytes; the maximum is %d", len(name), maxName), "")
	}
	for label := range strings.SplitSeq(name, ".") {
		if err := checkLabel(s, label); err != nil {
			return "", err
		}
		if err := checkHyphens(s, label); err != nil {
			return "", err
		}
	}
	return name, nil
}

// checkHyphens rejects labels that no name can have. These are labels that start or end with a
// hyphen (RFC 1123 section 2.1), and labels with the prefix of A-labels that are not encoded in
// Punycode (RFC 5890 section 2.3.2.1).
func checkHyphens(text, label string) error {
	if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
		return invalid(text, "the label "+quote(label)+" starts or ends with a hyphen", "check the spelling: a label starts and ends with a letter or a digit")
	}
	if !strings.HasPrefix(label, "xn--") {
		return nil
	}
	decoded, err := idna.Punycode.ToUnicode(label)
	if err != nil || decoded == "" || decoded == label || decoded[0] == '-' || decoded[len(decoded)-1] == '-' {
		return invalid(text, "the label "+quote(label)+" is not encoded in Punycode", "check the spelling, or write the name in its own script")
	}
	return nil
}

// hasReservedHyphens reports whether a label has hyphens in positions 3 and 4
// without being an A-label (RFC 5890 section 2.3.1).
func hasReservedHyphens(label string) bool {
	return len(label) >= 4 && label[2:4] == "--" && !strings.HasPrefix(label, "xn--")
}

// checkLabel checks the length of a label of the name in text.
func checkLabel(text, label string) error {
	switch {
	case label == "":
		return invalid(text, "the name has an empty label", "write one dot between labels")
	case len(label) > maxLabel:
		return invalid(text, fmt.Sprintf("the label %s has %d bytes; the maximum is %d", quote(label), len(label), maxLabel), "")
	}
	return nil
}

// noteOnName returns a note if IDNA does not allow the name, and "" otherwise. Such names
// are registered, so they are valid queries. name is text in A-labels.
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
			return note + "the label " + quote(label) + " has hyphens in positions 3 and 4, which are reserved (RFC 5890)"
		}
	}
	return note
}

// checkReverse rejects names below in-addr.arpa and ip6.arpa that do not match an address or
// prefix on a byte or nibble boundary. Address registries have no record of such names, for
// example of the ranges of RFC 2317.
func checkReverse(text, name string) error {
	if rest, ok := strings.CutSuffix(name, ".in-addr.arpa"); ok {
		return checkReverse4(text, rest)
	}
	if rest, ok := strings.CutSuffix(name, ".ip6.arpa"); ok {
		return checkReverse6(text, rest)
	}
	return nil
}

func checkReverse4(text, rest string) error {
	labels := strings.Split(rest, ".")
	if len(labels) > 4 {
		return invalid(text, "the reverse name has more than four octets", "")
	}
	for _, label := range labels {
		if !isOctet(label) {
			return invalid(text, quote(label)+" in the reverse name is not an octet", "write whole octets from 0 to 255, last one first, such as 2.0.192.in-addr.arpa")
		}
	}
	return nil
}

func isOctet(s string) bool {
	n, err := strconv.ParseUint(s, 10, 8)
	return err == nil && s == strconv.FormatUint(n, 10)
}

func checkReverse6(text, rest string) error {
	labels := strings.Split(rest, ".")
	if len(labels) > 32 {
		return invalid(text, "the reverse name has more than 32 nibbles", "")
	}
	for _, label := range labels {
		if len(label) != 1 || !strings.Contains("0123456789abcdef", label) {
			return invalid(text, quote(label)+" in the reverse name is not a nibble", "write one hexadecimal digit for each label, last one first, such as 8.b.d.0.1.0.0.2.ip6.arpa")
		}
	}
	return nil
}
