package client

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/rdapq/rdapq/internal/dnsname"
)

// parseSearch parses a search in one of these forms:
//
//	name=exam*.com             a parameter of the type and a pattern
//	exam*.com                  the same, for types whose default parameter is name
//	entity:email=x@a.example   by properties of a related entity (RFC 9536), separated by "&"
//	rdap-up:192.0.2.0/24       by relation (RFC 9910); "rdap-" is optional, "?status=active" may follow
//
// or the path of RFC 9082, which begins with the type: see parseSearchPath. Only the
// path is percent-decoded.
func parseSearch(q *Query, s string) error {
	if s == "" {
		return invalid(s, "empty search", searchHint(q.Type))
	}
	if looksLikeSearchPath(s) {
		return parseSearchPath(q, s)
	}
	before, object, colon := strings.Cut(s, ":")
	if relation, ok := relationNamed(before); colon && ok {
		return parseRelation(q, s, relation, object)
	}
	if related, ok := cutReverse(s); ok {
		return parseReverse(q, s, before, splitConditions(related))
	}
	name, value, named := strings.Cut(s, "=")
	if !named {
		if q.Type != TypeDomains && q.Type != TypeNameservers {
			return invalid(s, "missing search parameter", searchHint(q.Type))
		}
		name, value = "name", s
	}
	param, ok := paramNamed(q.Type, name)
	if !ok {
		return invalid(s, string(q.Type)+" cannot be searched by "+quote(name), searchHint(q.Type))
	}
	value, err := searchValue(s, param, q.Type, value)
	if err != nil {
		return err
	}
	q.Search = &Search{Params: []Param{{param, value}}}
	return nil
}

// searchHint returns examples of searches of a type.
func searchHint(t Type) string {
	return map[Type]string{
		TypeDomains:     "write name=exam*.com, nsLdhName=ns1.example.com, nsIp=192.0.2.1 or entity:handle=ABC",
		TypeNameservers: "write name=ns*.example.com, ip=192.0.2.1 or entity:handle=ABC",
		TypeEntities:    "write fn=Example* or handle=ABC*",
		TypeIPs:         "write handle=NET-192* or name=EXAMPLE*, entity:handle=ABC, or rdap-up:192.0.2.0/24",
		TypeAutnums:     "write handle=AS64* or name=EXAMPLE*, entity:handle=ABC, or rdap-up:64496, rdap-down:64496-64511",
	}[t]
}

// paramNamed finds a parameter by its name in any case.
func paramNamed(t Type, name string) (string, bool) {
	for _, p := range searchParams[t] {
		if strings.EqualFold(p, strings.TrimSpace(name)) {
			return p, true
		}
	}
	return "", false
}

// cutReverse removes the prefix of a reverse search, a word and a colon before a
// condition. Other texts with a colon, such as addresses, have no such prefix.
func cutReverse(s string) (conditions string, ok bool) {
	related, conditions, ok := strings.Cut(s, ":")
	return conditions, ok && isWord(related) && !strings.Contains(related, "=") && strings.Contains(conditions, "=")
}

// splitConditions splits s at each "&" that is followed by a name and "=". Any other "&"
// is part of a value: "fn=Smith & Sons".
func splitConditions(s string) []string {
	var list []string
	for from, i := 0, 0; ; i++ {
		j := strings.IndexByte(s[i:], '&')
		if j < 0 {
			return append(list, s[from:])
		}
		i += j
		if name, _, ok := strings.Cut(s[i+1:], "="); ok && isWord(name) {
			list = append(list, s[from:i])
			from = i + 1
		}
	}
}

// isWord reports whether s can be the name of a property or a class.
func isWord(s string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) && s[i] != '_' && s[i] != '-' {
			return false
		}
	}
	return s != ""
}

// parseReverse makes a reverse search from the class of the related objects and
// conditions "property=value".
func parseReverse(q *Query, whole, related string, conditions []string) error {
	if related = strings.ToLower(related); related != "entity" {
		return invalid(whole, "no reverse search by "+quote(related)+" exists", "the only class of related objects is entity: write entity:handle=ABC")
	}
	s := &Search{Reverse: related}
	for _, c := range conditions {
		name, value, ok := strings.Cut(c, "=")
		name = strings.TrimSpace(name)
		if !ok || !isWord(name) {
			return invalid(whole, quote(c)+" is not a valid condition of a reverse search", "write fn=, handle=, email= or role= and a value")
		}
		if slices.ContainsFunc(s.Params, func(p Param) bool { return p.Name == name }) {
			return invalid(whole, "duplicate condition "+quote(name), "")
		}
		value, err := searchValue(whole, name, "", value)
		if err != nil {
			return err
		}
		s.Params = append(s.Params, Param{name, value})
	}
	q.Search = s
	return nil
}

func relationNamed(s string) (Relation, bool) {
	r := Relation(strings.TrimPrefix(strings.ToLower(strings.TrimSpace(s)), "rdap-"))
	if slices.Contains(Relations(), r) {
		return r, true
	}
	return "", false
}

// parseRelation makes a search by relation. The object may be followed by
// "?status=active".
func parseRelation(q *Query, whole string, relation Relation, object string) error {
	object, condition, _ := strings.Cut(object, "?")
	s := &Search{Relation: relation}
	switch {
	case condition == "status=active":
		s.Active = true
	case condition != "":
		return invalid(whole, "a search by relation does not support the condition "+quote(condition), "write ?status=active, or nothing")
	}
	typ := lookupType[q.Type]
	if q.Type != TypeIPs && q.Type != TypeAutnums && q.Type != TypeDomains {
		return invalid(whole, string(q.Type)+" cannot be searched by relation", "search for ips, autnums or domains")
	}
	first, last, isRange := strings.Cut(object, "-")
	if typ != TypeAutnum || !isRange {
		first, isRange = object, false
	}
	from, err := ParseAs(typ, first)
	if err != nil {
		return err
	}
	if isRange {
		to, err := ParseAs(typ, last)
		switch {
		case err != nil:
			return err
		case to.Autnum < from.Autnum:
			return invalid(whole, "the range "+quote(object)+" ends before it starts", "")
		case to.Autnum > from.Autnum:
			s.AutnumTo = to.Autnum
		}
	}
	if typ == TypeDomain && !strings.HasSuffix(from.Name, ".arpa") {
		return invalid(whole, "only reverse domain names have relations", "write a name below in-addr.arpa or ip6.arpa")
	}
	q.Name, q.Prefix, q.Autnum, q.note = from.Name, from.Prefix, from.Autnum, from.note
	q.Search = s
	return nil
}

// looksLikeSearchPath reports whether s is the path of a search (RFC 9082 section 3.2).
// No name contains a slash or a question mark.
func looksLikeSearchPath(s string) bool {
	i := strings.IndexAny(s, "/?")
	return i > 0 && Type(strings.ToLower(s[:i])).IsSearch()
}

// parseSearchPath parses the path of a search: "domains?name=exam*.com",
// "ips/rirSearch1/rdap-up/192.0.2.0/24", "domains/reverse_search/entity?handle=ABC". It
// percent-decodes the values.
func parseSearchPath(q *Query, s string) error {
	path, query, _ := strings.Cut(s, "?")
	segments := strings.SplitN(path, "/", 4)
	typ := Type(strings.ToLower(segments[0]))
	if q.Type != "" && q.Type != typ {
		return invalid(s, "the path is a search for "+string(typ)+", not for "+string(q.Type), "")
	}
	q.Type = typ
	params, err := parseQueryString(s, query)
	if err != nil {
		return err
	}
	options, params, err := takeOptions(s, params)
	if err != nil {
		return err
	}
	switch {
	case len(segments) == 4 && strings.EqualFold(segments[1], "rirSearch1"):
		err = parseRelationPath(q, s, segments, params)
	case len(segments) == 3 && segments[1] == "reverse_search":
		conditions := make([]string, len(params))
		for i, p := range params {
			conditions[i] = p.Name + "=" + p.Value
		}
		if len(conditions) == 0 {
			return invalid(s, "the reverse search has no condition", searchHint(typ))
		}
		err = parseReverse(q, s, segments[2], conditions)
	case len(segments) > 1 && segments[1] != "":
		return invalid(s, "not a valid search path", searchHint(typ))
	case len(params) != 1:
		return invalid(s, "a search needs exactly one condition", searchHint(typ))
	default:
		err = parseSearch(q, params[0].Name+"="+params[0].Value)
	}
	if err == nil {
		q.Search.SearchOptions = options
	}
	return err
}

func parseRelationPath(q *Query, whole string, segments []string, params []Param) error {
	relation, ok := relationNamed(segments[2])
	if !ok {
		return invalid(whole, quote(segments[2])+" is not a valid relation", "the relations are rdap-up, rdap-down, rdap-top and rdap-bottom")
	}
	object, err := url.PathUnescape(segments[3])
	if err != nil {
		return badEscape(whole)
	}
	for _, p := range params {
		object += "?" + p.Name + "=" + p.Value
	}
	return parseRelation(q, whole, relation, object)
}

// parseQueryString parses "name=value&…". Unlike in forms, a plus sign is not a space.
func parseQueryString(whole, query string) ([]Param, error) {
	var list []Param
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		name, errName := url.PathUnescape(name)
		value, errValue := url.PathUnescape(value)
		if errName != nil || errValue != nil {
			return nil, badEscape(whole)
		}
		list = append(list, Param{name, value})
	}
	return list, nil
}

func badEscape(whole string) *Error {
	return invalid(whole, "invalid percent-encoding", "write %25 for a percent sign")
}

// takeOptions separates the SearchOptions from the other parameters.
func takeOptions(whole string, params []Param) (SearchOptions, []Param, error) {
	var o SearchOptions
	var rest []Param
	for _, p := range params {
		switch p.Name {
		case "sort":
			o.Sort = p.Value
		case "count":
			o.Count = strings.EqualFold(p.Value, "true")
		case "fieldSet":
			o.FieldSet = p.Value
		case "cursor":
			return o, nil, invalid(whole, "a cursor is valid only at the server that sent it", "use the whole URL as the query")
		default:
			rest = append(rest, p)
		}
	}
	return o, rest, o.check(whole)
}

// check returns an error for malformed options.
func (o SearchOptions) check(whole string) error {
	if o.FieldSet != "" && !isWord(o.FieldSet) {
		return invalid(whole, quote(o.FieldSet)+" is not a valid field set", "write id, brief or full")
	}
	if o.Sort == "" {
		return nil
	}
	for property := range strings.SplitSeq(o.Sort, ",") {
		name, direction, has := strings.Cut(property, ":")
		if !isWord(name) || has && direction != "a" && direction != "d" {
			return invalid(whole, quote(property)+" is not a valid sort property", "write a property, optionally followed by :a or :d, such as registrationDate:d")
		}
	}
	return nil
}

// Check returns an [*Error] with [CodeInvalid] for malformed options.
func (o SearchOptions) Check() error { return o.check(o.Sort + o.FieldSet) }

// searchValue checks a value and returns it in the form that is sent. typ is empty in
// reverse searches, whose values only the server checks.
func searchValue(whole, param string, typ Type, value string) (string, error) {
	value = strings.TrimSpace(value)
	if !utf8.ValidString(value) {
		return "", invalid(whole, "the pattern is not valid UTF-8", "")
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

// asterisks replaces the characters that UTS 46 maps to an asterisk.
var asterisks = strings.NewReplacer("\uff0a", "*", "\ufe61", "*")

// checkPattern checks a pattern by RFC 9082 section 4.1: at most one "*", and not before a
// combining character.
func checkPattern(whole, value string) error {
	if value == "" || value == "*" {
		return emptyPattern(whole)
	}
	if len(value) > maxHandle {
		return invalid(whole, fmt.Sprintf("the pattern is longer than %d bytes", maxHandle), "")
	}
	for _, r := range value {
		if r < 0x20 || r == 0x7f {
			return invalid(whole, "the pattern contains a control character", "")
		}
	}
	_, after, _ := strings.Cut(value, "*")
	if strings.Contains(after, "*") {
		return invalid(whole, "the pattern contains more than one *", "use only one *")
	}
	if r, _ := utf8.DecodeRuneInString(after); after != "" && unicode.In(r, unicode.M) {
		return invalid(whole, "the * is followed by a combining character, which belongs to the letter before it", "put the * after a whole character")
	}
	return nil
}

func emptyPattern(whole string) *Error {
	return invalid(whole, "the pattern is empty", "write a part of the value and a * for the rest")
}

// namePattern returns a pattern for names in lower case. The pattern is in A-labels or, if the
// label with the "*" is not ASCII, in U-labels: RFC 9082 section 3.2.1 forbids a mixture.
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
			return "", invalid(whole, "the name cannot be converted to A-labels: "+err.Error(), "")
		}
		labels[i] = ascii
	}
	for i, label := range labels {
		if unicodeOnly && strings.HasPrefix(label, "xn--") {
			// Keep a label that is not a valid A-label.
			if u, err := dnsname.ToUnicode(label); err == nil && !dnsname.IsASCII(u) {
				if back, err := dnsname.LabelToASCII(u); err == nil && back == label {
					labels[i] = norm.NFC.String(u)
				}
			}
		}
	}
	// Check the result, because the conversion maps some characters to these, and removes
	// others.
	name := strings.Join(labels, ".")
	for label := range strings.SplitSeq(name, ".") {
		if err := checkLabel(whole, label); err != nil {
			return "", err
		}
		if strings.ContainsAny(label, " "+`/?#@\&=%:`) {
			return "", invalid(whole, "not a valid pattern for names", "use letters, digits, hyphens, dots and one *, such as exam*.com")
		}
	}
	return name, nil
}

// addressPattern returns an address in canonical form (RFC 5952). Only the server checks
// a part of an address with a "*".
func addressPattern(whole, value string) (string, error) {
	if strings.Contains(value, "*") {
		if strings.Trim(strings.ToLower(value), "0123456789abcdef.:*") != "" {
			return "", invalid(whole, "not a valid pattern for addresses", "write 192.0.2.* or 2001:db8:*")
		}
		return strings.ToLower(value), nil
	}
	p, err := parsePrefix(value)
	if err != nil {
		return "", err
	}
	if !p.IsSingleIP() {
		return "", invalid(whole, "nameservers can be searched by a single address, not by a prefix", "write one address")
	}
	return netip.Addr.String(p.Addr()), nil
}
