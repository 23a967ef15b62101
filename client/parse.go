package client

import (
	"fmt"
	"strconv"
	"strings"
)

// Parse makes a [Query] of what a person wrote and finds its type by its shape:
// an IPv4 or IPv6 address or prefix, an AS number ("AS64496", "AS1.10" or a
// bare number), and otherwise a domain name. A name below in-addr.arpa or
// ip6.arpa is a domain too. The URL of an RDAP object is asked as it is, and so is
// the path of a search, "domains?name=exam*.com", at the server responsible. Of
// another URL the host is asked for, and of an e-mail address the domain.
// Entities, nameservers and help have no shape of their own and are never
// guessed: use [ParseAs] for them.
//
// The error is an [*Error] with [CodeInvalid].
func Parse(text string) (Query, error) {
	s := strings.TrimSpace(text)
	if looksLikeSearchPath(s) {
		return ParseAs(Type(strings.ToLower(s[:strings.IndexAny(s, "/?")])), text)
	}
	if q, ok, err := parseURL(s, ""); ok {
		q.Text = text
		return q, err
	}
	if pasted(s) {
		return parsePasted(s, text)
	}
	typ, err := detect(s)
	if err != nil {
		return Query{Text: text}, err
	}
	return ParseAs(typ, text)
}

// ParseAs makes a [Query] of the given type; with an empty type it does as
// [Parse] does. White space around the text does not count. The error is an
// [*Error] with [CodeInvalid].
func ParseAs(typ Type, text string) (Query, error) {
	if typ == "" {
		return Parse(text)
	}
	q := Query{Text: text, Type: typ}
	s := strings.TrimSpace(text)
	if url, ok, err := parseURL(s, typ); ok {
		url.Text = text
		return url, err
	}
	var err error
	switch typ {
	case TypeDomain, TypeNameserver:
		q.Name, err = parseName(s)
		if !isASCIIName(s) && err == nil {
			q.Note = noteOnName(s)
		}
		if err == nil && typ == TypeDomain {
			err = checkReverse(s, q.Name)
		}
	case TypeIP:
		short := false
		if q.Prefix, short, err = expandShort(s); !short {
			q.Prefix, err = parsePrefix(s)
		} else {
			q.Note = visible(s) + " is short for " + q.Prefix.String()
		}
	case TypeAutnum:
		q.Autnum, err = parseAutnum(s)
	case TypeEntity:
		// A handle is the server's own word: its spelling is not ours to touch.
		q.Name, err = s, checkHandle(s)
	case TypeHelp:
		if s != "" && !strings.EqualFold(s, "help") {
			err = invalid(s, "help takes no object", "name the server whose help you want, and nothing else")
		}
	case TypeDomains, TypeNameservers, TypeEntities, TypeIPs, TypeAutnums:
		err = parseSearch(&q, s)
	default:
		err = invalid(string(typ), "this is no type of query", "types are domain, ip, autnum, nameserver, entity and help, and to search: domains, nameservers, entities, ips and autnums")
	}
	if err != nil {
		return Query{Text: text}, err
	}
	return q, nil
}

// detect tells the type of s by its shape alone.
func detect(s string) (Type, error) {
	switch {
	case s == "":
		return "", invalid(s, "there is nothing to ask for", "")
	case looksLikeAutnum(s):
		return TypeAutnum, nil
	case looksLikeIP(s):
		return TypeIP, nil
	default:
		return TypeDomain, nil
	}
}

// looksLikeAutnum: "AS" and a digit with nothing but digits and dots after it,
// or digits alone.
func looksLikeAutnum(s string) bool {
	digits, prefixed := cutAS(s)
	if digits == "" {
		return false
	}
	for i := range len(digits) {
		if !isDigit(digits[i]) && (digits[i] != '.' || !prefixed) {
			return false
		}
	}
	// "as1.2.3" cannot be asdot and may be a name, but no name ends in a
	// numeric label: calling it an AS number gives the better message.
	return isDigit(digits[0])
}

// cutAS removes "AS" in any case from the front.
func cutAS(s string) (rest string, found bool) {
	if len(s) >= 2 && strings.EqualFold(s[:2], "as") {
		return strings.TrimLeft(s[2:], " "), true
	}
	return s, false
}

func parseAutnum(s string) (uint32, error) {
	const hint = `write 64496, AS64496 or AS1.10, at most 4294967295`
	digits, _ := cutAS(s)
	if hi, lo, dotted := strings.Cut(digits, "."); dotted {
		h, errHi := parseDigits(hi, 16)
		l, errLo := parseDigits(lo, 16)
		if errHi != nil || errLo != nil {
			return 0, invalid(s, "this is no AS number in asdot notation", "write two numbers up to 65535, such as AS1.10, or the plain number")
		}
		return h<<16 | l, nil
	}
	n, err := parseDigits(digits, 32)
	if err != nil {
		return 0, invalid(s, "this is no AS number", hint)
	}
	return n, nil
}

// parseDigits is ParseUint without the sign it would refuse anyway, the
// underscores and the base prefixes.
func parseDigits(s string, bits int) (uint32, error) {
	n, err := strconv.ParseUint(s, 10, bits)
	return uint32(n), err
}

// maxHandle is far above any handle in use and keeps a URL within what servers
// take.
const maxHandle = 1000

func checkHandle(s string) error {
	switch {
	case s == "":
		return invalid(s, "there is no handle to ask for", "")
	case strings.Contains(s, "://"):
		// A server must not get to see what is in a URL of another one.
		return invalid(s, "this is a URL, of no entity that is known by it, and no handle", "write the handle alone")
	case len(s) > maxHandle:
		return invalid(s, fmt.Sprintf("the handle is longer than %d octets", maxHandle), "")
	}
	for _, r := range s {
		if r < 0x20 || r == 0x7f {
			return invalid(s, "the handle has a control character in it", "")
		}
	}
	return nil
}
