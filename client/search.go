package client

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/secret"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/rdap"
)

// Types of a [Query] that search: the path segments of RFC 9082 section 3.2 and
// RFC 9910 section 3.
const (
	TypeDomains     Type = "domains"
	TypeNameservers Type = "nameservers"
	TypeEntities    Type = "entities"
	TypeIPs         Type = "ips"
	TypeAutnums     Type = "autnums"
)

// IsSearch reports whether queries of the type search, so that their answer is a
// list and [Query.Search] says for what.
func (t Type) IsSearch() bool {
	switch t {
	case TypeDomains, TypeNameservers, TypeEntities, TypeIPs, TypeAutnums:
		return true
	}
	return false
}

// A Search says what a [Query] of one of the search types looks for. [Parse] and
// [ParseAs] make it; a Query made of another shares it, so it must not be changed.
type Search struct {
	// Params are what is searched by: one, as "name" and "exam*.com"; with
	// Reverse any number that have to hold together.
	Params []Param

	// Reverse is the class of the related objects that Params are about:
	// "entity" (RFC 9536). Empty: they are about the objects looked for.
	Reverse string

	// Relation looks for the networks, AS numbers or reverse domains around or
	// inside of the one that the Query names (RFC 9910 section 4). There are no
	// Params then.
	Relation Relation

	// AutnumTo is the last of a range of AS numbers that Relation starts from,
	// which begins with Query.Autnum. 0: that is the only one.
	AutnumTo uint32

	// Active leaves out, with Relation, what is not active.
	Active bool

	SearchOptions
}

// A Param is a condition of a [Search].
type Param struct {
	Name  string // "name", "nsLdhName", "nsIp", "ip", "fn", "handle"; with Search.Reverse also "email", "role" and what servers have of their own
	Value string // in Unicode's form NFC, not percent-encoded; at most one "*", which stands for any text
}

// SearchOptions are what may be wished of the answer to a search. The zero value
// wishes nothing. What a server does not announce in its help is not sent to it:
// see SearchConfig.Unannounced.
type SearchOptions struct {
	Sort     string // properties with ":a" or ":d" for the direction, separated by commas: "registrationDate:d,name" (RFC 8977)
	Count    bool   // that the server says how many results there are in all (RFC 8977)
	FieldSet string // how much of each object: "id", "brief" or "full" (RFC 8982)
}

// or returns o with what it leaves open from more.
func (o SearchOptions) withDefaults(more SearchOptions) SearchOptions {
	o.Sort = cmp.Or(o.Sort, more.Sort)
	o.FieldSet = cmp.Or(o.FieldSet, more.FieldSet)
	o.Count = o.Count || more.Count
	return o
}

// searchParams are what each type is searched by.
var searchParams = map[Type][]string{
	TypeDomains:     {"name", "nsLdhName", "nsIp"},
	TypeNameservers: {"name", "ip"},
	TypeEntities:    {"fn", "handle"},
	TypeIPs:         {"handle", "name"},
	TypeAutnums:     {"handle", "name"},
}

// lookupType is the type of a single one of what a search of type t finds.
var lookupType = map[Type]Type{
	TypeDomains: TypeDomain, TypeNameservers: TypeNameserver, TypeEntities: TypeEntity, TypeIPs: TypeIP, TypeAutnums: TypeAutnum,
}

// foundOne says that an object of that class answers the search: those up and at
// the top are single objects, which servers send as such (RFC 9910 section 4.2).
func (q Query) foundSingle(class string) bool {
	return q.Search != nil && q.Search.Relation != "" && class == classOfType[lookupType[q.Type]]
}

// searchOptions are those that the query itself has.
func (q Query) searchOptions() SearchOptions {
	if q.Search == nil {
		return SearchOptions{}
	}
	return q.Search.SearchOptions
}

// requestURL is the URL that asks the server with that base.
func (q Query) requestURL(base string, o SearchOptions) string {
	switch {
	case q.URL != "":
		return q.URL
	case q.Search != nil:
		return bootstrap.JoinURL(base, q.searchPath(o))
	}
	return bootstrap.JoinURL(base, q.Path())
}

// related is the lookup of the object that a search by relation starts from.
func (q Query) related() Query {
	return Query{Type: lookupType[q.Type], Name: q.Name, Prefix: q.Prefix, Autnum: q.Autnum}
}

// searchPath is Path for searches, with the given options.
func (q Query) searchPath(o SearchOptions) string {
	s := q.Search
	if s == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(string(q.Type))
	switch {
	case s.Relation != "":
		_, object, _ := strings.Cut(q.related().Path(), "/")
		if object == "" {
			return ""
		}
		b.WriteString("/rirSearch1/rdap-" + string(s.Relation) + "/" + object + s.rangeEnd("-"))
	case s.Reverse != "":
		b.WriteString("/reverse_search/" + escapeSegment(s.Reverse))
	}
	sep := byte('?')
	add := func(name, value string) {
		b.WriteByte(sep)
		b.WriteString(escapeValue(name) + "=" + escapeValue(value))
		sep = '&'
	}
	for _, p := range s.Params {
		add(p.Name, p.Value)
	}
	if s.Active {
		add("status", "active")
	}
	if o.Count {
		add("count", "true")
	}
	if o.Sort != "" {
		add("sort", o.Sort)
	}
	if o.FieldSet != "" {
		add("fieldSet", o.FieldSet)
	}
	return b.String()
}

// rangeEnd is the end of the range that a search by relation starts from, with what
// joins it to the beginning; empty if there is no range.
func (s *Search) rangeEnd(joint string) string {
	if s.AutnumTo == 0 {
		return ""
	}
	return joint + strconv.FormatUint(uint64(s.AutnumTo), 10)
}

// searchText says what a search looks for, for people: "domains name=exam*.com".
func (q Query) searchText() string {
	s := q.Search
	var b strings.Builder
	b.WriteString(string(q.Type))
	sep := " "
	switch {
	case s == nil:
		return Query{Text: q.Text}.String()
	case s.Relation != "":
		b.WriteString(" rdap-" + string(s.Relation) + ":" + q.related().String() + s.rangeEnd("-AS"))
		if s.Active {
			b.WriteString(", active")
		}
	case s.Reverse != "":
		b.WriteString(" " + s.Reverse)
		sep = ":"
	}
	for _, p := range s.Params {
		value := p.Value
		if secret.IsKey(p.Name) {
			value = "REDACTED"
		}
		b.WriteString(sep + p.Name + "=" + value)
		sep = "&"
	}
	return b.String()
}

// searchQuestion is Question for searches: the registry of the names that are
// looked for, or that of the object which others lie around. Other searches may
// find something at any registry.
func (q Query) searchQuestion() (bootstrap.Question, bool) {
	s := q.Search
	switch {
	case s == nil || s.Reverse != "":
		return bootstrap.Question{}, false
	case s.Relation != "":
		return q.related().Question()
	case len(s.Params) != 1:
		return bootstrap.Question{}, false
	case q.Type == TypeEntities && s.Params[0].Name == "handle":
		// The tag behind the last hyphen names the registry (RFC 8521 section 3).
		handle := s.Params[0].Value
		tag := handle[strings.LastIndexByte(handle, '-')+1:]
		if tag == handle || tag == "" || strings.Contains(tag, "*") {
			return bootstrap.Question{}, false
		}
		return bootstrap.Question{Class: bootstrap.Entity, Name: handle}, true
	case s.Params[0].Name != "name":
		return bootstrap.Question{}, false
	}
	name := patternSuffix(s.Params[0].Value)
	switch {
	case name == "":
	case q.Type == TypeDomains:
		return bootstrap.Question{Class: bootstrap.Domain, Name: name, Below: true}, true
	case q.Type == TypeNameservers:
		return bootstrap.Question{Class: bootstrap.Nameserver, Name: name}, true
	}
	return bootstrap.Question{}, false
}

// patternSuffix is what all names that match a pattern end in: whole labels, as
// A-labels; all of it where there is no "*". It is empty when the pattern leaves
// the top-level domain open.
func patternSuffix(pattern string) string {
	if i := strings.LastIndexByte(pattern, '*'); i >= 0 {
		_, pattern, _ = strings.Cut(pattern[i:], ".")
	}
	name, err := parseName(pattern)
	if err != nil {
		return ""
	}
	return name
}

// noServer is the error of a query that does not tell which server to send it to.
func (q Query) noServer() *Error {
	const hint = "name the server to ask"
	s := q.Search
	e := invalid(q.String(), "any registry may have results of this search, and none is responsible for it", hint)
	switch {
	case s == nil:
		e = invalid(q.String(), "no server is responsible for "+string(q.Type), hint)
	case s.Reverse == "" && len(s.Params) == 1 && s.Params[0].Name == "name" && (q.Type == TypeDomains || q.Type == TypeNameservers):
		e = invalid(q.String(), "the pattern leaves the top-level domain open, so no registry is responsible for it", "write the top-level domain, as in exam*.com, or "+hint)
	}
	e.HintCode = HintServer
	return e
}

// escapeValue percent-encodes a name or value of a query string. The "*" of a
// pattern and the marks of a sort property stay: servers look for them.
func escapeValue(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if isAlnum(c) || strings.IndexByte("-._~*:,", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

// checkReverseSearch refuses a reverse search that the server does not announce
// (RFC 9536 section 5): it would send somebody's address or name to a server that
// has no use for it.
func (q Query) checkReverseSearch(h *rdap.Help, server string) *Error {
	s := q.Search
	known := h.Reverses(string(q.Type), s.Reverse)
	refuse := func(what string) *Error {
		e := &Error{Code: CodeUnsupported, Message: visible(server) + " announces no reverse search for " + what}
		if len(known) > 0 {
			e.Hint = "it searches " + string(q.Type) + " by these of an " + s.Reverse + ": " + visible(strings.Join(known, ", "))
		} else if list := reverseSearches(h); list != "" {
			e.Hint = "it announces these: " + visible(list)
		}
		return e
	}
	if len(known) == 0 {
		return refuse(string(q.Type) + " by their " + s.Reverse)
	}
	for _, p := range s.Params {
		if !slices.Contains(known, p.Name) {
			return refuse(string(q.Type) + " by the " + visible(p.Name) + " of an " + s.Reverse)
		}
	}
	return nil
}

// reverseSearches lists all that a server announces: "domains by entity fn, ips by entity
// handle".
func reverseSearches(h *rdap.Help) string {
	if h == nil {
		return ""
	}
	list := make([]string, len(h.ReverseSearch))
	for i, p := range h.ReverseSearch {
		list[i] = p.Searchable + " by " + p.Related + " " + p.Property
	}
	return strings.Join(list, ", ")
}

// secured refuses to send a reverse search to a server without TLS, whatever is
// permitted otherwise: it bears personal data (RFC 9536 section 12).
func (q Query) requireTLS(server string) *Error {
	if q.Search == nil || q.Search.Reverse == "" || !isPlainHTTP(server) {
		return nil
	}
	return &Error{
		Code: CodeHTTPOnly, Server: weburl.Redact(server), Err: bootstrap.ErrHTTPOnly,
		Message: "a reverse search goes over https only, and " + visible(weburl.Redact(server)) + " speaks plain http",
	}
}
