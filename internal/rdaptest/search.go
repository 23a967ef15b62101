package rdaptest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Searches holds the searchable objects of a [Server] (RFC 9082 section 3.2, RFC 9910, RFC
// 9536) and its options. Do not change it once a server uses it.
type Searches struct {
	Objects  []Object
	PageSize int // number of results per page (RFC 8977); 0 means all results

	// Announce is the rdapConformance of help and responses; nil means everything supported.
	// The server rejects (501) or ignores features that are not announced.
	Announce []string

	// Next changes the URL of the page after the given one, counted from 1. Nil means no
	// change.
	Next func(page int, href string) string

	// Refuse returns an error status for a page; 0 means success. Nil means that no page fails.
	Refuse func(page int) int

	// Alone makes responses to rdap-up and rdap-top the object itself, as ARIN sends it, not a
	// list of one.
	Alone bool
}

// An Object is a searchable object of a server.
type Object struct {
	Class string // class of the object: "domain", "nameserver", "entity", "ip network" or "autnum"
	// name of the object: ldhName, name of a network or AS number, or full name of an entity
	Name        string
	Unicode     string   // name with U-labels
	Handle      string   // handle of the object; empty means derived from Name
	Created     string   // date of registration
	Status      string   // status of the object; empty means "active"
	Addresses   []string // addresses of a nameserver
	Nameservers []string // nameservers of a domain
	Prefix      string   // prefix of a network, or of a reverse domain
	First, Last uint32   // bounds of a block of AS numbers
	Entity      Contact  // contact of the object; for an entity, the entity itself
}

// A Contact holds the properties for reverse searches.
type Contact struct{ Handle, FN, Email, Role string }

// abilities lists the rdapConformance of a server that announces all features.
var abilities = []string{
	"rdap_level_0", "paging", "sorting", "subsetting", "reverse_search",
	"rirSearch1", "ips", "autnums", "ipSearchResults", "autnumSearchResults",
}

// searchClasses maps the first segment of a path to the class that a search finds, and to the
// member with the results.
var searchClasses = map[string]struct{ class, results string }{
	"domains":     {"domain", "domainSearchResults"},
	"nameservers": {"nameserver", "nameserverSearchResults"},
	"entities":    {"entity", "entitySearchResults"},
	"ips":         {"ip network", "ipSearchResults"},
	"autnums":     {"autnum", "autnumSearchResults"},
}

// reverseProperties lists the properties of [Contact] for reverse searches, which are the same
// for all classes.
var reverseProperties = []string{"fn", "handle", "email", "role"}

func (s *Searches) can(extension string) bool {
	return s.Announce == nil || slices.Contains(s.Announce, extension)
}

func (s *Searches) conformance() []string {
	if s.Announce == nil {
		return abilities
	}
	return s.Announce
}

// Answer returns the response to a help query or search. ok is false for other queries.
func (s *Searches) Answer(q Question) (a Answer, ok bool) {
	if s == nil {
		return Answer{}, false
	}
	if q.Class == "help" {
		return s.help(q.Base), true
	}
	class, ok := searchClasses[q.Class]
	if !ok {
		return Answer{}, false
	}
	params, err := url.ParseQuery(q.Query)
	if err != nil {
		return Refusal(http.StatusBadRequest, "not a query string"), true
	}
	var found []Object
	segments := strings.SplitN(q.Key, "/", 3)
	switch {
	case segments[0] == "rirSearch1" && len(segments) == 3 && s.can("rirSearch1"):
		var status int
		if found, status = s.related(class.class, segments[1], segments[2], params.Get("status")); status != 0 {
			return Refusal(status, "no such objects"), true
		}
		if s.Alone && len(found) == 1 && (segments[1] == "rdap-up" || segments[1] == "rdap-top") {
			return s.page(map[string]any{}, found[0].members("full", true)), true
		}
	case segments[0] == "reverse_search" && len(segments) == 2 && s.can("reverse_search"):
		if segments[1] != "entity" {
			return Refusal(http.StatusNotImplemented, "no such reverse search"), true
		}
		found = s.matching(class.class, params, func(o *Object, property string) []string { return o.Entity.property(property) }, reverseProperties)
	case q.Key == "":
		found = s.matching(class.class, params, (*Object).property, []string{"name", "nsLdhName", "nsIp", "ip", "fn", "handle"})
		if found == nil {
			return Refusal(http.StatusBadRequest, "no search parameter"), true
		}
	default:
		return Refusal(http.StatusNotImplemented, "no such search here"), true
	}
	return s.results(q, params, class.results, found), true
}

func (s *Searches) help(base string) Answer {
	members := map[string]any{
		"notices": []any{map[string]any{
			"title": "Help", "description": []string{"An invented directory that can be searched."},
			"links": []any{map[string]any{"rel": "about", "href": "https://www.registry.example/help", "type": "text/html", "value": base + "help"}},
		}},
	}
	if s.can("reverse_search") {
		var list []any
		for _, class := range []string{"domains", "nameservers", "entities", "ips", "autnums"} {
			for _, property := range reverseProperties {
				if class == "domains" || property == "handle" {
					list = append(list, map[string]string{"searchableResourceType": class, "relatedResourceType": "entity", "property": property})
				}
			}
		}
		members["reverse_search_properties"] = list
	}
	return s.page(members)
}

// matching returns the objects of a class that match all conditions, or nil if params has no
// conditions.
func (s *Searches) matching(class string, params url.Values, value func(o *Object, property string) []string, properties []string) []Object {
	var found []Object
	conditions := 0
	for _, property := range properties {
		if params.Has(property) {
			conditions++
		}
	}
	if conditions == 0 {
		return nil
	}
	found = []Object{}
	for i := range s.Objects {
		o := &s.Objects[i]
		holds := o.Class == class
		for _, property := range properties {
			if params.Has(property) && !slices.ContainsFunc(value(o, property), func(v string) bool { return matches(params.Get(property), v) }) {
				holds = false
			}
		}
		if holds {
			found = append(found, *o)
		}
	}
	return found
}

// matches reports whether a value matches a pattern with at most one "*", ignoring
// case.
func matches(pattern, value string) bool {
	pattern, value = strings.ToLower(pattern), strings.ToLower(value)
	before, after, open := strings.Cut(pattern, "*")
	if !open {
		return pattern == value
	}
	return len(value) >= len(before)+len(after) && strings.HasPrefix(value, before) && strings.HasSuffix(value, after)
}

// results returns a page of results.
func (s *Searches) results(q Question, params url.Values, member string, found []Object) Answer {
	s.sort(found, params.Get("sort"))
	from := 0
	if cursor := params.Get("cursor"); cursor != "" {
		text, err := base64.URLEncoding.DecodeString(cursor)
		if err == nil {
			from, err = strconv.Atoi(strings.TrimPrefix(string(text), "offset="))
		}
		if err != nil || from < 0 || from > len(found) {
			return Refusal(http.StatusBadRequest, "not a cursor of this server")
		}
	}
	size := len(found)
	if s.PageSize > 0 && s.can("paging") {
		size = s.PageSize
	}
	number := 1
	if size > 0 {
		number += from / size
	}
	if s.Refuse != nil {
		if status := s.Refuse(number); status != 0 {
			return Refusal(status, "no such page")
		}
	}
	to := min(from+size, len(found))
	set := params.Get("fieldSet")
	if !s.can("subsetting") || set == "" {
		set = "full"
	}
	list := []any{}
	for _, o := range found[from:to] {
		list = append(list, o.members(set, false))
	}
	members := map[string]any{member: list}
	if meta := s.pagingMetadata(q, params, number, len(found), to); meta != nil {
		members["paging_metadata"] = meta
	}
	if s.can("sorting") && params.Has("sort") {
		members["sorting_metadata"] = map[string]any{
			"currentSort":    params.Get("sort"),
			"availableSorts": []any{map[string]any{"property": "name", "default": true}, map[string]any{"property": "registrationDate", "default": false}},
		}
	}
	if s.can("subsetting") && params.Has("fieldSet") {
		members["subsetting_metadata"] = map[string]any{
			"currentFieldSet":    set,
			"availableFieldSets": []any{map[string]any{"name": "id", "default": false}, map[string]any{"name": "brief", "default": false}, map[string]any{"name": "full", "default": true}},
		}
	}
	return s.page(members)
}

func (s *Searches) pagingMetadata(q Question, params url.Values, number, total, to int) map[string]any {
	if !s.can("paging") || s.PageSize == 0 && !params.Has("count") {
		return nil
	}
	meta := map[string]any{"pageNumber": number}
	if s.PageSize > 0 {
		meta["pageSize"] = s.PageSize
	}
	if params.Get("count") == "true" {
		meta["totalCount"] = total
	}
	if to >= total {
		return meta
	}
	next := url.Values{}
	for name, values := range params {
		next[name] = values
	}
	next.Set("cursor", base64.URLEncoding.EncodeToString([]byte("offset="+strconv.Itoa(to))))
	path := q.Class
	if q.Key != "" {
		path += "/" + q.Key
	}
	href := q.Base + path + "?" + next.Encode()
	if s.Next != nil {
		href = s.Next(number, href)
	}
	if href != "" {
		meta["links"] = []any{map[string]any{
			"value": q.Base + path, "rel": "next", "href": href, "title": "Result Pagination Link", "type": rdapType,
		}}
	}
	return meta
}

func (s *Searches) sort(found []Object, by string) {
	if by == "" || !s.can("sorting") {
		return
	}
	property, direction, _ := strings.Cut(by, ":")
	slices.SortStableFunc(found, func(a, b Object) int {
		c := strings.Compare(a.Name, b.Name)
		if property == "registrationDate" {
			c = strings.Compare(a.Created, b.Created)
		}
		if direction == "d" {
			return -c
		}
		return c
	})
}

// page returns a response with these members.
func (s *Searches) page(members ...map[string]any) Answer {
	all := map[string]any{"rdapConformance": s.conformance()}
	for _, m := range members {
		for name, value := range m {
			all[name] = value
		}
	}
	body, _ := json.Marshal(all) // strings, numbers and lists of them always marshal
	return Answer{http.StatusOK, body}
}

// related returns the objects with the given relation to the named object (RFC 9910 section 4),
// or an error status.
func (s *Searches) related(class, relation, key, status string) ([]Object, int) {
	from, ok := extentOf(class, key)
	if !ok {
		return nil, http.StatusBadRequest
	}
	var around, inside []Object
	for _, o := range s.Objects {
		x, known := o.extent()
		switch {
		case o.Class != class || !known || status != "" && o.Status != "" && o.Status != status || x == from:
		case x.holds(from):
			around = append(around, o)
		case from.holds(x):
			inside = append(inside, o)
		}
	}
	size := func(a, b Object) int {
		x, _ := a.extent()
		y, _ := b.extent()
		return x.compare(y)
	}
	slices.SortStableFunc(around, size)
	switch relation {
	case "rdap-up", "rdap-top":
		if len(around) == 0 {
			return nil, http.StatusNotFound
		}
		if relation == "rdap-up" {
			return around[:1], 0
		}
		return around[len(around)-1:], 0
	case "rdap-down", "rdap-bottom":
		return slices.DeleteFunc(slices.Clone(inside), func(o Object) bool {
			x, _ := o.extent()
			return slices.ContainsFunc(inside, func(other Object) bool {
				y, _ := other.extent()
				if relation == "rdap-down" {
					return x != y && y.holds(x)
				}
				return x != y && x.holds(y)
			})
		}), 0
	}
	return nil, http.StatusNotImplemented
}

// An extent is the range of addresses or AS numbers of an object.
type extent struct {
	prefix      netip.Prefix
	first, last uint32
}

func extentOf(class, key string) (extent, bool) {
	switch class {
	case "ip network":
		p, ok := parsePrefix(key)
		return extent{prefix: p.Masked()}, ok
	case "domain":
		p, ok := reversePrefix(strings.ToLower(key))
		return extent{prefix: p}, ok
	case "autnum":
		n, err := strconv.ParseUint(strings.TrimPrefix(strings.ToUpper(key), "AS"), 10, 32)
		return extent{first: uint32(n), last: uint32(n)}, err == nil
	}
	return extent{}, false
}

func (o *Object) extent() (extent, bool) {
	switch o.Class {
	case "autnum":
		return extent{first: o.First, last: o.Last}, true
	case "domain":
		return extentOf("domain", o.Name)
	}
	return extentOf(o.Class, o.Prefix)
}

func (x extent) holds(y extent) bool {
	if x.prefix.IsValid() {
		return x.prefix.Bits() <= y.prefix.Bits() && x.prefix.Contains(y.prefix.Addr())
	}
	return x.first <= y.first && y.last <= x.last
}

// compare orders smaller extents first.
func (x extent) compare(y extent) int {
	if x.prefix.IsValid() {
		return y.prefix.Bits() - x.prefix.Bits()
	}
	return int(x.last-x.first) - int(y.last-y.first)
}
