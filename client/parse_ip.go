package client

import (
	"net/netip"
	"strconv"
	"strings"
)

// looksLikeIP reports whether s has the shape of an address or prefix. IPv6 has two colons, or
// one among hexadecimal digits only. IPv4 addresses, including short and malformed ones, have
// only digits and dots. No domain name looks like that, because no top-level domain is a
// number.
func looksLikeIP(s string) bool {
	addr, _, _ := strings.Cut(s, "/")
	addr, _, _ = strings.Cut(addr, "%") // remove a zone; parsePrefix rejects it
	if n := strings.Count(addr, ":"); n > 0 {
		return n > 1 || strings.Trim(strings.ToLower(addr), "0123456789abcdef:.[]") == ""
	}
	dots := 0
	for i := range len(addr) {
		switch {
		case addr[i] == '.':
			dots++
		case !isDigit(addr[i]):
			return false
		}
	}
	return addr != "" && isDigit(addr[0]) && (dots > 0 || strings.Contains(s, "/"))
}

// parsePrefix parses an address or a prefix and keeps host bits: for "192.0.2.1/24"
// the server returns the network that contains it.
func parsePrefix(s string) (netip.Prefix, error) {
	text, length, hasLength := strings.Cut(s, "/")
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		text = text[1 : len(text)-1]
	}
	addr, err := parseAddr(s, text)
	if err != nil {
		return netip.Prefix{}, err
	}
	if !hasLength {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	bits, err := strconv.ParseUint(length, 10, 8)
	if err != nil || int(bits) > addr.BitLen() || length != strconv.FormatUint(bits, 10) {
		return netip.Prefix{}, invalid(s, "the prefix length must be a number from 0 to "+strconv.Itoa(addr.BitLen()), "")
	}
	return netip.PrefixFrom(addr, int(bits)), nil
}

func parseAddr(whole, text string) (netip.Addr, error) {
	if strings.Contains(text, "%") {
		return netip.Addr{}, invalid(whole, "scoped (zone) addresses cannot be looked up", "remove the zone, from the % on")
	}
	addr, err := netip.ParseAddr(text)
	switch {
	case err == nil && addr.Is4In6():
		// Registries list the address only as IPv4.
		return addr.Unmap(), nil
	case err == nil:
		return addr, nil
	case strings.Contains(text, ":"):
		hint := ""
		if host, port, _ := strings.Cut(text, ":"); strings.Contains(host, ".") && strings.Trim(port, "0123456789") == "" {
			hint = "remove the port: " + visible(host)
		}
		if _, err := netip.ParseAddr(text + "::"); err == nil && strings.Contains(whole, "/") {
			hint = "write " + visible(strings.Replace(whole, "/", "::/", 1)) + ", with :: for the groups that are zero"
		}
		return netip.Addr{}, invalid(whole, "not a valid IPv6 address", hint)
	default:
		return netip.Addr{}, invalid(whole, whyNotIPv4(text), "write four numbers from 0 to 255, such as 192.0.2.1")
	}
}

// whyNotIPv4 returns why text is not a valid IPv4 address. Short forms and leading
// zeros are invalid, because programs disagree on their meaning.
func whyNotIPv4(text string) string {
	parts := strings.Split(text, ".")
	for _, p := range parts {
		if p == "" {
			continue
		}
		if n, err := strconv.ParseUint(p, 10, 32); err != nil || n > 255 {
			return "not a valid IPv4 address: " + quote(p) + " is not a number from 0 to 255"
		}
		if len(p) > 1 && p[0] == '0' {
			return "not a valid IPv4 address: " + quote(p) + " has a leading zero, which some programs read as octal"
		}
	}
	if len(parts) < 4 {
		return "not a valid IPv4 address: fewer than four octets"
	}
	return "not a valid IPv4 address"
}

// expandShortPrefix parses an IPv4 prefix without its last numbers, such as "10/8" and
// "192.0.2/24". A prefix length that excludes the missing numbers shows that they are zero. A short
// form without a length is ambiguous and invalid. ok is false if s is not a short prefix.
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
		return netip.Prefix{}, true, invalid(s, "the prefix is longer than the octets given", "write all four, such as "+whole+"/"+length)
	}
	addr, e := netip.ParseAddr(whole)
	return netip.PrefixFrom(addr, int(bits)), e == nil, nil
}
