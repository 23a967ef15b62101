package client

import (
	"strconv"
	"strings"
)

// checkReverse refuses names below in-addr.arpa and ip6.arpa that stand for no
// address or prefix on an octet or nibble boundary, the ranges of RFC 2317
// included: the address registries cannot be asked for them.
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
