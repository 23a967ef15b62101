package client

import (
	"net/netip"
	"strings"

	"github.com/rdapq/rdapq/internal/dnsname"
	"github.com/rdapq/rdapq/internal/safetext"
	"github.com/rdapq/rdapq/rdap"
)

// cutHost returns the host of text such as "host:port", "host/path" and "//host/path". It
// returns ok=false for other text, and if the host may be an RDAP path, a prefix or an IPv6
// address.
func cutHost(s string) (host string, ok bool) {
	rest := strings.TrimPrefix(s, "//")
	host, path, hasPath := strings.Cut(rest, "/")
	if i := strings.IndexAny(host, "?#"); i >= 0 {
		host, hasPath, path = host[:i], true, "?"
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		addr, port, bracketed := strings.Cut(inner, "]")
		if !bracketed || port == "" && !hasPath || port != "" && !isPort(port) || !isAddress(addr) || hasPath && isDigits(path) {
			return "", false
		}
		return addr, true
	}
	name, port, hasPort := strings.Cut(host, ":")
	switch {
	case !strings.Contains(name, "."), hasPort && !isPort(":"+port):
		return "", false
	// leave a prefix alone, valid or not
	case hasPath && !hasPort && looksLikeIP(name) && (path == "" || isDigits(path)):
		return "", false
	case !hasPort && !hasPath && rest == s:
		return "", false
	}
	return name, true
}

// isPort reports whether s is a colon and a port number.
func isPort(s string) bool {
	return len(s) >= 2 && len(s) <= 6 && s[0] == ':' && isDigits(s[1:])
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// checkSingle returns an error for text with more than one query.
func checkSingle(s string) *Error {
	if i := strings.IndexAny(s, ",;|"); i >= 0 && s[:i] != "" {
		return invalid(s, "more than one query, or additional text", "write one query per argument or line")
	}
	return nil
}

// checkVisible returns an error for text with invisible or text-reordering
// characters. Joiners, which some scripts need, and variation selectors are left to
// IDNA.
func checkVisible(s string) *Error {
	for _, r := range s {
		if r >= 0x80 && safetext.Unsafe(r) && !safetext.IsSelector(r) && r != '\u200c' && r != '\u200d' {
			return invalid(s, "the name contains an invisible or text-reordering character: "+visible(string(r)), "type the name instead of pasting it")
		}
	}
	return nil
}

// cutRange splits "192.0.2.0-192.0.2.255", "AS64496-AS64511" and "64496-64511". ok
// is false if s is not shaped like a range.
func cutRange(s string) (first, last string, ok bool) {
	if !dnsname.IsASCII(s) { // avoid the Replacer, which allocates even if it replaces nothing
		s = dashes.Replace(s)
	}
	if first, last, ok = strings.Cut(s, "-"); !ok || strings.Contains(last, "-") {
		return "", "", false
	}
	first, last = strings.TrimSpace(first), strings.TrimSpace(last)
	if isAddress(first) && (isAddress(last) || isDigits(last)) {
		return first, last, true
	}
	return first, last, isAutnumText(first) && isAutnumText(last)
}

// dashes replaces the dashes that word processors insert for hyphens.
var dashes = strings.NewReplacer("\u2010", "-", "\u2011", "-", "\u2012", "-", "\u2013", "-", "\u2014", "-", "\u2212", "-")

func isAutnumText(s string) bool {
	digits, _ := cutAS(s)
	_, err := parseDigits(digits, 32)
	return err == nil
}

// parseAddressRange returns the prefix that equals the range. For other ranges, the
// error lists the prefixes that cover them.
func parseAddressRange(whole, first, last string) (netip.Prefix, error) {
	const what = "the address range"
	from, _ := netip.ParseAddr(first)
	if isDigits(last) { // 192.0.2.1-5
		if i := strings.LastIndexByte(first, '.'); i >= 0 {
			last = first[:i+1] + last
		}
	}
	to, err := netip.ParseAddr(last)
	switch {
	case err != nil || from.BitLen() != to.BitLen() || from.Zone() != "" || to.Zone() != "":
		return netip.Prefix{}, invalid(whole, what+" has ends that do not match", "write a prefix, such as 192.0.2.0/24")
	case to.Less(from):
		return netip.Prefix{}, invalid(whole, what+" ends before it starts", "")
	}
	list := rdap.RangePrefixes(from, to)
	switch {
	case len(list) == 1:
		return list[0], nil
	case len(list) == 0 || len(list) > 4:
		return netip.Prefix{}, invalid(whole, what+" is not a single prefix", "look up one address in it, such as "+from.String())
	}
	text := make([]string, len(list))
	for i, p := range list {
		text[i] = p.String()
	}
	return netip.Prefix{}, invalid(whole, what+" is not a single prefix", "look up its prefixes: "+strings.Join(text, ", "))
}

// parseAutnumRange returns the AS number of a range of one number. Other ranges are an error:
// RDAP looks up single AS numbers (RFC 9082 section 3.1.2).
func parseAutnumRange(whole, first, last string) (uint32, error) {
	from, err := parseAutnum(first)
	if err != nil {
		return 0, err
	}
	to, err := parseAutnum(last)
	switch {
	case err != nil:
		return 0, err
	case from == to:
		return from, nil
	}
	return 0, invalid(whole, "ranges of AS numbers cannot be looked up", "look up one AS number in it, such as "+Query{Type: TypeAutnum, Autnum: from}.String())
}

// isURLOrMail reports whether s looks like a URL or an e-mail address.
func isURLOrMail(s string) bool { return strings.Contains(s, "://") || strings.Contains(s, "@") }

// hostOf returns the host of a URL, or the domain of an e-mail address.
func hostOf(s string) (string, error) {
	if strings.Contains(s, "://") {
		return hostOfURL(s)
	}
	return domainOfMail(s)
}

// hostOfURL returns the host of a URL. The rest of the URL need not be valid.
func hostOfURL(s string) (string, error) {
	scheme, rest, _ := strings.Cut(s, "://")
	if i := strings.IndexAny(rest, `/?#\`); i >= 0 {
		rest = rest[:i]
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if inner, ok := strings.CutPrefix(rest, "["); ok {
		if rest, _, ok = strings.Cut(inner, "]"); !ok {
			rest = ""
		}
	} else {
		rest, _, _ = strings.Cut(rest, ":")
	}
	if rest == "" || scheme == "" || strings.ContainsFunc(scheme, notInScheme) {
		return "", invalid(s, "the URL has no host", "write a URL such as https://www.example.com/, or the host name alone")
	}
	if !strings.EqualFold(scheme, "https") && !strings.EqualFold(scheme, "http") {
		return "", invalid(s, "URLs with the scheme "+quote(scheme)+" cannot be looked up", "write the host name alone: "+visible(rest))
	}
	return rest, nil
}

func notInScheme(r rune) bool {
	return r >= 0x80 || !isAlnum(byte(r)) && r != '+' && r != '-' && r != '.'
}

func domainOfMail(s string) (string, error) {
	if len(s) >= 7 && strings.EqualFold(s[:7], "mailto:") {
		s, _, _ = strings.Cut(s[7:], "?")
	}
	at := strings.LastIndexByte(s, '@')
	user, domain := s[:max(at, 0)], s[at+1:]
	if user == "" || domain == "" || strings.ContainsAny(user, "@ \t") {
		return "", invalid(s, "not a valid name or e-mail address", "write user@example.com, or the domain alone")
	}
	return domain, nil
}
