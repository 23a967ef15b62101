package bootstrap

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// ErrBadReverseName is wrapped in the error for a name under in-addr.arpa or ip6.arpa that is
// not an address prefix. Such a name has too many labels, or a label that is not a number from
// 0 to 255 (IPv4) or not a single hexadecimal digit (IPv6).
var ErrBadReverseName = errors.New("not a reverse name")

// reversePrefix returns the prefix of a reverse name in canonical form. It treats the zones
// in-addr.arpa and ip6.arpa themselves as ordinary names.
func reversePrefix(name string) (p netip.Prefix, isReverse bool, err error) {
	if labels, ok := strings.CutSuffix(name, ".in-addr.arpa"); ok {
		p, err = reverse4(labels)
	} else if labels, ok := strings.CutSuffix(name, ".ip6.arpa"); ok {
		p, err = reverse6(labels)
	} else {
		return netip.Prefix{}, false, nil
	}
	if err != nil {
		return netip.Prefix{}, false, fmt.Errorf("bootstrap: %w: %q %w", ErrBadReverseName, name, err)
	}
	return p, true, nil
}

func reverse4(labels string) (netip.Prefix, error) {
	var ip [4]byte
	n := 0
	for label := range labelsFromRight(labels) {
		if n == len(ip) {
			return netip.Prefix{}, errors.New("has more than 4 labels")
		}
		octet, err := strconv.ParseUint(label, 10, 8)
		if err != nil || len(label) > 1 && label[0] == '0' {
			return netip.Prefix{}, fmt.Errorf("has %q instead of a number from 0 to 255", label)
		}
		ip[n] = byte(octet)
		n++
	}
	return netip.PrefixFrom(netip.AddrFrom4(ip), 8*n), nil
}

func reverse6(labels string) (netip.Prefix, error) {
	var ip [16]byte
	n := 0
	for label := range labelsFromRight(labels) {
		if n == 2*len(ip) {
			return netip.Prefix{}, errors.New("has more than 32 labels")
		}
		digit, err := strconv.ParseUint(label, 16, 4)
		if err != nil || len(label) != 1 {
			return netip.Prefix{}, fmt.Errorf("has %q instead of a hexadecimal digit", label)
		}
		ip[n/2] |= byte(digit) << (4 * (1 - n%2))
		n++
	}
	return netip.PrefixFrom(netip.AddrFrom16(ip), 4*n), nil
}

func labelsFromRight(s string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for {
			i := strings.LastIndexByte(s, '.')
			if !yield(s[i+1:]) || i < 0 {
				return
			}
			s = s[:i]
		}
	}
}
