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

// IsSearch reports whether t is the type of a search, whose result is a list and whose
// [Query.Search] is set.
func (t Type) IsSearch() bool {
	switch t {
	case TypeDomains, TypeNameservers, TypeEntities, TypeIPs, TypeAutnums:
		return true
	}
	return false
}

// A Search holds the parameters of a [Query] of one of the search types. [Parse] and [ParseAs]
// make it. Copies of a Query share the Search, so do not modify it.
type Search struct {
	// Params lists the conditions. A search has one, such as "name" and "exam*.com". A reverse
	// search has any number, all of which must hold.
	Params []Param

	// Reverse is the class of the related objects to which Params apply: "entity"
	// (RFC 9536). If empty, Params apply to the objects searched for.
	Reverse string

	// Relation selects a search for networks, AS numbers or reverse domains that contain the
	// object in the Query, or that it contains (RFC 9910 section 4). Params is empty then.
	Relation Relation

	// AutnumTo is the last number of the range of AS numbers that Relation starts from;
	// Query.Autnum is the first. 0 means a single number.
	AutnumTo uint32

	// Active, with Relation, omits objects that are not active.
	Active bool

	SearchOptions
}

// A Param is a condition of a [Search].
type Param struct {
	Name string // "name", "nsLdhName", "nsIp", "ip", "fn", "handle"; with Search.Reverse also "email", "role" and server-specific properties
	// value in Unicode normalization form C, not percent-encoded; at most one "*", which
	// matches any text
	Value string
}

// SearchOptions select how a server returns results. With the zero value, the server chooses.
// The Client does not send options that the server's help does not announce: see
// SearchConfig.Unannounced.
type SearchOptions struct {
	Sort     string // properties with ":a" or ":d" for the direction, separated by commas: "registrationDate:d,name" (RFC 8977)
	Count    bool   // request the total number of results (RFC 8977)
	FieldSet string // members of each object: "id", "brief" or "full" (RFC 8982)
}

// withDefaults returns o with the empty options replaced by those of more.
func (o SearchOptions) withDefaults(more SearchOptions) SearchOptions {
	o.Sort = cmp.Or(o.Sort, more.Sort)
	o.FieldSet = cmp.Or(o.FieldSet, more.FieldSet)
	o.Count = o.Count || more.Count
	return o
}

// searchParams lists the parameters of each type (RFC 9082 section 3.2).
var searchParams = map[Type][]string{
	TypeDomains:     {"name", "nsLdhName", "nsIp"},
	TypeNameservers: {"name", "ip"},
	TypeEntities:    {"fn", "handle"},
	TypeIPs:         {"handle", "name"},
	TypeAutnums:     {"handle", "name"},
}

// lookupType maps a search type to the type of the objects that it finds.
var lookupType = map[Type]Type{
	TypeDomains: TypeDomain, TypeNameservers: TypeNameserver, TypeEntities: TypeEntity, TypeIPs: TypeIP, TypeAutnums: TypeAutnum,
}

// foundSingle reports whether an object of that class is a response to the search. For the
// relations up and top, servers send a single object (RFC 9910 section 4.2).
func (q Query) foundSingle(class string) bool {
	return q.Search != nil && q.Search.Relation != "" && class == classOfType[lookupType[q.Type]]
}

// searchOptions returns the options of the query itself.
func (q Query) searchOptions() SearchOptions {
	if q.Search == nil {
		return SearchOptions{}
	}
	return q.Search.SearchOptions
}

// requestURL returns the URL of the query at the server with the given base URL.
func (q Query) requestURL(base string, o SearchOptions) string {
	switch {
	case q.URL != "":
		return q.URL
	case q.Search != nil:
		return bootstrap.JoinURL(base, q.searchPath(o))
	}
	return bootstrap.JoinURL(base, q.Path())
}

// related returns the lookup of the object that a search by relation starts from.
func (q Query) related() Query {
	return Query{Type: lookupType[q.Type], Name: q.Name, Prefix: q.Prefix, Autnum: q.Autnum}
}

// searchPath implements Path for searches, with the given options.
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
		b.WriteString("/reverse_search/" + weburl.EscapeSegment(s.Reverse))
	}
	sep := byte('?')
	add := func(name, value string) {
		b.WriteByte(sep)
		b.WriteString(weburl.EscapeValue(name) + "=" + weburl.EscapeValue(value))
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

// rangeEnd returns the separator joint and the last AS number, or "" if the search has no
// range.
func (s *Search) rangeEnd(joint string) string {
	if s.AutnumTo == 0 {
		return ""
	}
	return joint + strconv.FormatUint(uint64(s.AutnumTo), 10)
}

// searchText formats a search for people: "domains name=exam*.com".
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

// searchQuestion implements Question for searches. It returns the question for the names
// searched for, or for the object that Relation starts from. For other searches no registry is
// authoritative.
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
		// The tag after the last hyphen identifies the registry (RFC 8521 section 3).
		handle := s.Params[0].Value
		tag := handle[strings.LastIndexByte(handle, '-')+1:]
		if tag == handle || tag == "" || strings.Contains(tag, "*") {
			return bootstrap.Question{}, false
		}
		return bootstrap.Question{For: bootstrap.ForEntity, Name: handle}, true
	case s.Params[0].Name != "name":
		return bootstrap.Question{}, false
	}
	name := patternSuffix(s.Params[0].Value)
	switch {
	case name == "":
	case q.Type == TypeDomains:
		return bootstrap.Question{For: bootstrap.ForDomain, Name: name, Below: true}, true
	case q.Type == TypeNameservers:
		return bootstrap.Question{For: bootstrap.ForNameserver, Name: name}, true
	}
	return bootstrap.Question{}, false
}

// patternSuffix returns the suffix that all names matching a pattern have in common, as
// A-labels. The suffix has whole labels, or is the whole name if the pattern has no "*". The
// suffix is empty if the top-level domain is not fixed.
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

// noServer returns the error of a query for which no server is authoritative.
func (q Query) noServer() *Error {
	const hint = "specify the server"
	s := q.Search
	e := invalid(q.String(), "no registry is authoritative for this search", hint)
	switch {
	case s == nil:
		e = invalid(q.String(), "no server is authoritative for "+string(q.Type)+" queries", hint)
	case s.Reverse == "" && len(s.Params) == 1 && s.Params[0].Name == "name" && (q.Type == TypeDomains || q.Type == TypeNameservers):
		e = invalid(q.String(), "the pattern has no fixed top-level domain, so there is no registry to query", "write the top-level domain, as in exam*.com, or "+hint)
	}
	e.HintCode = HintServer
	return e
}

// checkReverseSearch returns an error for a reverse search that the server does not announce
// (RFC 9536 section 5). Such a search would send personal data, such as a name or an address,
// to a server that cannot use it.
func (q Query) checkReverseSearch(h *rdap.Help, server string) *Error {
	s := q.Search
	known := h.Reverses(string(q.Type), s.Reverse)
	refuse := func(what string) *Error {
		e := &Error{Code: CodeUnsupported, Message: visible(server) + " does not announce a reverse search for " + what}
		if len(known) > 0 {
			e.Hint = "the server supports searches for " + string(q.Type) + " by these properties of an " + s.Reverse + ": " + visible(strings.Join(known, ", "))
		} else if list := reverseSearches(h); list != "" {
			e.Hint = "the server announces: " + visible(list)
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

// reverseSearches lists the reverse searches that a server announces: "domains by entity
// fn, ips by entity handle".
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

// requireTLS returns an error for a reverse search at a server without TLS, even with
// Config.AllowHTTP, because the search contains personal data (RFC 9536 section 12).
func (q Query) requireTLS(server string) *Error {
	if q.Search == nil || q.Search.Reverse == "" || !isPlainHTTP(server) {
		return nil
	}
	return &Error{
		Code: CodeHTTPOnly, Server: weburl.Redact(server), Err: bootstrap.ErrHTTPOnly,
		Message: "a reverse search requires https, but " + visible(weburl.Redact(server)) + " uses plain http",
	}
}
