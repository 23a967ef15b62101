package client

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rdapq/rdapq/internal/dnsname"
	"github.com/rdapq/rdapq/internal/pastetext"
)

// Parse converts text to a [Query] and detects the type of the query from the shape of the
// text. The text is an IPv4 or IPv6 address or prefix, an AS number ("AS64496", "AS1.10" or a
// bare number), or otherwise a domain name. A name below in-addr.arpa or ip6.arpa is a domain
// too, and so is "." for the root. The URL of an RDAP object is requested unchanged, and so is
// the path of a search, "domains?name=exam*.com", at the responsible server.
//
// Parse accepts pasted text if its meaning is unambiguous. It uses the host of an http or https
// URL and of "host:port", and the domain of an e-mail address. It removes quotation marks,
// brackets and punctuation around a name, and reads "hxxps://courbu[.]re" as a URL of
// courbu.re. A warning with [WarnQuery] describes the change in the Result. Parse rejects other
// text: lists, ranges, URLs with other schemes, names with invisible characters. To look up
// entities, nameservers and help, which have no distinct shape, use [ParseAs].
//
// The error is an [*Error] with [CodeInvalid].
func Parse(text string) (Query, error) { return parseShape(text, "") }

// ParseAs converts text to a [Query] of the given type; with an empty type it acts like
// [Parse]. It ignores surrounding white space. The error is an [*Error] with [CodeInvalid].
func ParseAs(typ Type, text string) (Query, error) { return parseAt(typ, text, "") }

// parseAt is like ParseAs, except that a URL at the origin of server is an RDAP URL.
func parseAt(typ Type, text, server string) (Query, error) {
	if typ == "" {
		return parseShape(text, server)
	}
	s := strings.TrimSpace(text)
	clean := s
	switch typ {
	case TypeDomain, TypeNameserver, TypeIP, TypeAutnum:
		clean = pastetext.Clean(s)
	}
	if q, ok, err := parseURL(clean, typ, server); ok {
		q.noteRewrite(s, clean)
		q.Text = text
		return q, err
	}
	q, err := parseObject(typ, clean)
	q.noteRewrite(s, clean)
	q.Text = text
	return q, err
}

// parseShape is like Parse, except that a URL at the origin of server is an RDAP URL.
func parseShape(text, server string) (Query, error) {
	s := strings.TrimSpace(text)
	if looksLikeSearchPath(s) {
		return ParseAs(Type(strings.ToLower(s[:strings.IndexAny(s, "/?")])), text)
	}
	clean := pastetext.Clean(s)
	if q, ok, err := parseURL(clean, "", server); ok {
		q.noteRewrite(s, clean)
		q.Text = text
		return q, err
	}
	object, typ, err := findObject(clean)
	if err != nil {
		return Query{Text: text}, err
	}
	q, err := parseObject(typ, object)
	q.noteRewrite(s, object)
	q.Text = text
	return q, err
}

// noteRewrite sets Note if only a part of the text was used.
func (q *Query) noteRewrite(text, read string) {
	if text == read || q.Type == "" {
		return
	}
	note := "the query was read as " + visible(q.String())
	if q.note != "" {
		note += "; " + q.note
	}
	q.note = note
}

// findObject finds the name, address or AS number in text without punctuation, and
// its type.
func findObject(s string) (object string, typ Type, err error) {
	switch {
	case isURLOrMail(s):
		object, err = hostOf(s)
		if err != nil {
			return "", "", err
		}
		if looksLikeIP(object) {
			return object, TypeIP, nil
		}
		return object, TypeDomain, nil
	case pastetext.IsBare(s):
	default:
		if e := checkSingle(s); e != nil {
			return "", "", e
		}
		if host, ok := cutHost(s); ok {
			s = host
		}
	}
	if first, _, ok := cutRange(s); ok {
		if isAddress(first) {
			return s, TypeIP, nil
		}
		return s, TypeAutnum, nil
	}
	if short, ok := strings.CutSuffix(s, "."); ok && (isAddress(short) || isAutnumText(short)) {
		s = short
	}
	typ, err = detectType(s)
	return s, typ, err
}

// parseObject converts the text of one object, or of a search, to a query.
func parseObject(typ Type, s string) (Query, error) {
	q := Query{Text: s, Type: typ}
	var err error
	switch typ {
	case TypeDomain, TypeNameserver:
		if typ == TypeDomain && isRoot(s) {
			q.Name = "."
			break
		}
		if q.Name, err = parseName(s); err == nil {
			q.note = noteOnName(s, q.Name)
			if typ == TypeDomain {
				err = checkReverse(s, q.Name)
			}
		}
	case TypeIP:
		short := false
		if first, last, ok := cutRange(s); ok && isAddress(first) {
			q.Prefix, err = parseAddressRange(s, first, last)
			q.note = "the range is " + q.Prefix.String()
		} else if q.Prefix, short, err = expandShortPrefix(s); !short {
			q.Prefix, err = parsePrefix(s)
		} else {
			q.note = visible(s) + " is short for " + q.Prefix.String()
		}
	case TypeAutnum:
		if first, last, ok := cutRange(s); ok {
			q.Autnum, err = parseAutnumRange(s, first, last)
			q.note = "the range is " + q.String()
		} else {
			q.Autnum, err = parseAutnum(s)
		}
	case TypeEntity:
		// The spelling of a handle is up to the server.
		q.Name, err = s, checkHandle(s)
	case TypeHelp:
		if s != "" && !strings.EqualFold(s, "help") {
			e := invalid(s, "help takes no object", "specify the server, and no object")
			e.HintCode = HintServer
			err = e
		}
	case TypeDomains, TypeNameservers, TypeEntities, TypeIPs, TypeAutnums:
		err = parseSearch(&q, s)
	default:
		err = invalid(string(typ), "not a query type", "lookup types are domain, ip, autnum, nameserver, entity and help; search types are domains, nameservers, entities, ips and autnums")
	}
	if err != nil {
		return Query{}, err
	}
	return q, nil
}

// isRoot reports whether s is the name of the root of the DNS.
func isRoot(s string) bool {
	return s == "." || !dnsname.IsASCII(s) && dnsname.FullStops.Replace(s) == "."
}

// detectType returns the type of s from its shape.
func detectType(s string) (Type, error) {
	switch {
	case s == "":
		return "", invalid(s, "the query is empty", "")
	case looksLikeAutnum(s):
		return TypeAutnum, nil
	case looksLikeIP(s):
		return TypeIP, nil
	default:
		return TypeDomain, nil
	}
}

// looksLikeAutnum reports whether s is "AS" followed by digits and dots only, or
// only digits.
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
	// "as1.2.3" is not asdot, but no name ends in a numeric label either. The message about an
	// invalid AS number is more helpful.
	return isDigit(digits[0])
}

// cutAS removes "AS", or "ASN" before a number, from the front of s, in any case.
func cutAS(s string) (rest string, found bool) {
	if len(s) >= 3 && strings.EqualFold(s[:3], "asn") && strings.Trim(s[3:], "0123456789. ") == "" {
		return strings.TrimLeft(s[3:], " "), true
	}
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
			return 0, invalid(s, "not a valid AS number in asdot notation", "write two numbers up to 65535, such as AS1.10, or the plain number")
		}
		return h<<16 | l, nil
	}
	n, err := parseDigits(digits, 32)
	if err != nil {
		return 0, invalid(s, "not a valid AS number", hint)
	}
	return n, nil
}

// parseDigits is like ParseUint, but accepts only decimal digits.
func parseDigits(s string, bits int) (uint32, error) {
	n, err := strconv.ParseUint(s, 10, bits)
	return uint32(n), err
}

// maxHandle limits the length of a handle. No handle in use is nearly that long, and servers
// accept URLs of this length.
const maxHandle = 1000

func checkHandle(s string) error {
	switch {
	case s == "":
		return invalid(s, "the handle is empty", "")
	case strings.Contains(s, "://"):
		// A server must not see a URL of another server.
		return invalid(s, "not a handle, but a URL of something else", "write the handle alone")
	case len(s) > maxHandle:
		return invalid(s, fmt.Sprintf("the handle is longer than %d bytes", maxHandle), "")
	}
	for _, r := range s {
		if r < 0x20 || r == 0x7f {
			return invalid(s, "the handle contains a control character", "")
		}
	}
	return nil
}
