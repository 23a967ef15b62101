package client

import (
	"net/url"
	"slices"
	"strings"
)

// parseSearch makes a search of what a person wrote, which is one of
//
//	name=exam*.com             a parameter of the type and a pattern
//	exam*.com                  the same by name, where that goes without saying
//	entity:email=x@a.example   by what a related entity is (RFC 9536); several with "&" between
//	rdap-up:192.0.2.0/24       by relation (RFC 9910); "up" will do, and "?status=active" may follow
//
// or the path of RFC 9082, which begins with the type: see parseSearchPath. All
// but that is taken as it is written, without percent-encoding.
func parseSearch(q *Query, s string) error {
	if s == "" {
		return invalid(s, "there is nothing to search for", searchHint(q.Type))
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
			return invalid(s, "the search does not say by what", searchHint(q.Type))
		}
		name, value = "name", s
	}
	param, ok := paramNamed(q.Type, name)
	if !ok {
		return invalid(s, "there is no search for "+string(q.Type)+" by "+quote(name), searchHint(q.Type))
	}
	value, err := searchValue(s, param, q.Type, value)
	if err != nil {
		return err
	}
	q.Search = &Search{Params: []Param{{param, value}}}
	return nil
}

// searchHint shows how searches of a type are written.
func searchHint(t Type) string {
	return map[Type]string{
		TypeDomains:     "write name=exam*.com, nsLdhName=ns1.example.com, nsIp=192.0.2.1 or entity:handle=ABC",
		TypeNameservers: "write name=ns*.example.com, ip=192.0.2.1 or entity:handle=ABC",
		TypeEntities:    "write fn=Example* or handle=ABC*",
		TypeIPs:         "write handle=NET-192* or name=EXAMPLE*, entity:handle=ABC, or rdap-up:192.0.2.0/24",
		TypeAutnums:     "write handle=AS64* or name=EXAMPLE*, entity:handle=ABC, or rdap-up:64496, rdap-down:64496-64511",
	}[t]
}

// paramNamed finds a parameter, however its letters are written.
func paramNamed(t Type, name string) (string, bool) {
	for _, p := range searchParams[t] {
		if strings.EqualFold(p, strings.TrimSpace(name)) {
			return p, true
		}
	}
	return "", false
}

// cutReverse cuts off what makes a reverse search: "entity:" with a condition
// behind. What else has a colon, such as an address, has no such beginning.
func cutReverse(s string) (conditions string, ok bool) {
	related, conditions, ok := strings.Cut(s, ":")
	return conditions, ok && isWord(related) && !strings.Contains(related, "=") && strings.Contains(conditions, "=")
}

// splitConditions cuts at each "&" that a name and "=" follow. Others belong to
// the value: "fn=Smith & Sons".
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

// isWord says that s may be the name of a property or a class.
func isWord(s string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) && s[i] != '_' && s[i] != '-' {
			return false
		}
	}
	return s != ""
}

// parseReverse makes a reverse search of the class of the related objects and of
// conditions "property=value".
func parseReverse(q *Query, whole, related string, conditions []string) error {
	if related = strings.ToLower(related); related != "entity" {
		return invalid(whole, "there is no reverse search by "+quote(related), "the only class of related objects is entity: write entity:handle=ABC")
	}
	s := &Search{Reverse: related}
	for _, c := range conditions {
		name, value, ok := strings.Cut(c, "=")
		name = strings.TrimSpace(name)
		if !ok || !isWord(name) {
			return invalid(whole, quote(c)+" is no condition of a reverse search", "write fn=, handle=, email= or role= and what to look for")
		}
		if slices.ContainsFunc(s.Params, func(p Param) bool { return p.Name == name }) {
			return invalid(whole, "the condition "+quote(name)+" stands twice", "")
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

// parseRelation makes a search by relation. The object may have "?status=active"
// behind it.
func parseRelation(q *Query, whole string, relation Relation, object string) error {
	object, condition, _ := strings.Cut(object, "?")
	s := &Search{Relation: relation}
	switch {
	case condition == "status=active":
		s.Active = true
	case condition != "":
		return invalid(whole, "a search by relation knows no condition "+quote(condition), "write ?status=active, or nothing")
	}
	typ := lookupType[q.Type]
	if q.Type != TypeIPs && q.Type != TypeAutnums && q.Type != TypeDomains {
		return invalid(whole, "there is no search for "+string(q.Type)+" by relation", "search for ips, autnums or domains")
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
			return invalid(whole, "the range "+quote(object)+" ends before it begins", "")
		case to.Autnum > from.Autnum:
			s.AutnumTo = to.Autnum
		}
	}
	if typ == TypeDomain && !strings.HasSuffix(from.Name, ".arpa") {
		return invalid(whole, "only reverse names have relations", "write a name below in-addr.arpa or ip6.arpa")
	}
	q.Name, q.Prefix, q.Autnum, q.Note = from.Name, from.Prefix, from.Autnum, from.Note
	q.Search = s
	return nil
}

// looksLikeSearchPath: the path of a search, as RFC 9082 writes it. No name has a
// slash or a question mark in it.
func looksLikeSearchPath(s string) bool {
	i := strings.IndexAny(s, "/?")
	return i > 0 && Type(strings.ToLower(s[:i])).IsSearch()
}

// parseSearchPath makes a search of the path that asks for it: "domains?name=
// exam*.com", "ips/rirSearch1/rdap-up/192.0.2.0/24", "domains/reverse_search/
// entity?handle=ABC". Values are percent-encoded there, which what needs none
// may do without.
func parseSearchPath(q *Query, s string) error {
	path, query, _ := strings.Cut(s, "?")
	segments := strings.SplitN(path, "/", 4)
	typ := Type(strings.ToLower(segments[0]))
	if q.Type != "" && q.Type != typ {
		return invalid(s, "this is a search for "+string(typ)+", not for "+string(q.Type), "")
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
		return invalid(s, "this is no path of a search", searchHint(typ))
	case len(params) != 1:
		return invalid(s, "a search has one condition", searchHint(typ))
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
		return invalid(whole, quote(segments[2])+" is no relation", "the relations are rdap-up, rdap-down, rdap-top and rdap-bottom")
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

// parseQueryString reads "name=value&…". A plus sign is one: this is no form.
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
	return invalid(whole, "a % in it does not begin a percent-encoded octet", "write %25 for a percent sign")
}

// takeOptions takes what is about the answer out of params.
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
			return o, nil, invalid(whole, "a cursor means something to the server that gave it only", "give the whole URL as the query")
		default:
			rest = append(rest, p)
		}
	}
	return o, rest, o.check(whole)
}

// check refuses options that can stand in no query.
func (o SearchOptions) check(whole string) error {
	if o.FieldSet != "" && !isWord(o.FieldSet) {
		return invalid(whole, quote(o.FieldSet)+" is no name of a field set", "write id, brief or full")
	}
	if o.Sort == "" {
		return nil
	}
	for property := range strings.SplitSeq(o.Sort, ",") {
		name, direction, has := strings.Cut(property, ":")
		if !isWord(name) || has && direction != "a" && direction != "d" {
			return invalid(whole, quote(property)+" is nothing to sort by", "write a property, and :a or :d behind it if you like, such as registrationDate:d")
		}
	}
	return nil
}

// Check returns an [*Error] with [CodeInvalid] for options that are malformed.
func (o SearchOptions) Check() error { return o.check(o.Sort + o.FieldSet) }
