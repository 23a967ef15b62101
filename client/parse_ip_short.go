package client

import (
	"net/netip"
	"strconv"
	"strings"
)

// expandShortPrefix reads an IPv4 prefix whose last octets are left out: "10/8" and
// "192.0.2/24". They are zero, and that is sure only if the prefix ends before
// them; a short form without a length, which programs read in different ways, is
// none at all. ok is false if s is not short.
func expandShortPrefix(s string) (p netip.Prefix, ok bool, err error) {
	text, length, has := strings.Cut(s, "/")
	if !has || strings.Count(text, ".") > 2 {
		return netip.Prefix{}, false, nil
	}
	octets := strings.Split(text, ".")
	for _, octet := range octets {
		if !isOctet(octet) {
			return netip.Prefix{}, false, nil
		}
	}
	bits, e := strconv.ParseUint(length, 10, 8)
	if e != nil || bits > 32 || length != strconv.FormatUint(bits, 10) {
		return netip.Prefix{}, false, nil
	}
	whole := text + strings.Repeat(".0", 4-len(octets))
	if int(bits) > 8*len(octets) {
		return netip.Prefix{}, true, invalid(s, "the prefix is longer than the octets that are written", "write all four, such as "+whole+"/"+length)
	}
	addr, e := netip.ParseAddr(whole)
	return netip.PrefixFrom(addr, int(bits)), e == nil, nil
}
