package client

import (
	"net/url"
	"strings"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/dnsname"
	"github.com/rdapq/rdapq/internal/weburl"
)

// An rdapURL is a parsed RDAP URL (RFC 9082 section 3).
type rdapURL struct {
	url    *url.URL // without user and fragment
	base   string   // base URL of the server, ending in "/"
	typ    Type
	object string // the path after the type, decoded
	search string // the search, as a path relative to base
}

// splitURL parses an RDAP URL. It returns false for other URLs. Because web sites have similar
// paths, the path alone identifies only URLs of domains, hosts, addresses and AS numbers. Other
// URLs must contain "rdap" in their host or path, or be at a server that the user named, or
// have the type want.
func splitURL(text string, want Type, named bool) (rdapURL, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !strings.EqualFold(u.Scheme, "https") && !strings.EqualFold(u.Scheme, "http") {
		return rdapURL{}, false
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	u.Scheme = strings.ToLower(u.Scheme)
	if !dnsname.IsASCII(u.Host) {
		host, err := parseName(u.Hostname())
		if err != nil {
			return rdapURL{}, false
		}
		if port := u.Port(); port != "" {
			host += ":" + port
		}
		u.Host = host
	}
	u.RawPath, u.RawQuery = weburl.EscapeIRI(u.RawPath), weburl.EscapeIRI(u.RawQuery)
	segments := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	for i := len(segments) - 1; i >= 0; i-- {
		r := rdapURL{url: u, typ: Type(segments[i])}
		if want != "" && r.typ != want || !r.parseRest(segments[i+1:]) {
			continue
		}
		if want == "" && !named && !r.isUnambiguous() && !namesRDAP(u) {
			continue
		}
		base := *u
		base.RawQuery, base.RawPath = "", ""
		base.Path = "/"
		if before := strings.Join(segments[:i], "/"); before != "" {
			// the error is impossible, because before is part of a valid path
			base.Path, _ = url.PathUnescape("/" + before + "/")
			base.RawPath = "/" + before + "/"
		}
		r.base = base.String()
		return r, true
	}
	return rdapURL{}, false
}

// parseRest parses the path after the type. It returns false if the path does not fit the type.
func (r *rdapURL) parseRest(rest []string) bool {
	path := strings.Join(rest, "/")
	switch r.typ {
	case TypeDomain, TypeNameserver, TypeEntity, TypeAutnum:
		if len(rest) != 1 || path == "" {
			return false
		}
	case TypeIP:
		if len(rest) != 1 && len(rest) != 2 || path == "" {
			return false
		}
	case TypeHelp:
		return path == ""
	case TypeDomains, TypeNameservers, TypeEntities, TypeIPs, TypeAutnums:
		r.search = string(r.typ)
		if path != "" {
			r.search += "/" + path
		}
		if r.url.RawQuery != "" {
			r.search += "?" + r.url.RawQuery
		}
		return path != "" || r.url.RawQuery != ""
	default:
		return false
	}
	object, err := url.PathUnescape(path)
	r.object = object
	return err == nil
}

// isUnambiguous reports whether the object is valid for the type. Such an object identifies an
// RDAP URL without further evidence.
func (r *rdapURL) isUnambiguous() bool {
	var err error
	switch r.typ {
	case TypeDomain, TypeNameserver:
		_, err = parseName(r.object)
		return err == nil && strings.Contains(r.object, ".")
	case TypeIP:
		_, err = parsePrefix(r.object)
	case TypeAutnum:
		_, err = parseAutnum(r.object)
	default:
		return false
	}
	return err == nil
}

func namesRDAP(u *url.URL) bool { return strings.Contains(strings.ToLower(u.Host+u.Path), "rdap") }

// parseURL converts an RDAP URL to a query that requests it unchanged. ok is false for
// other text. Any URL at the origin of server must be an RDAP URL.
func parseURL(text string, want Type, server string) (q Query, ok bool, err error) {
	if !strings.Contains(text, "://") {
		return Query{}, false, nil
	}
	named := server != "" && isAtOrigin(text, server)
	r, ok := splitURL(text, want, named)
	switch {
	case ok:
	case named:
		return Query{}, true, invalid(text, "not an RDAP query URL"+ofType(want), "write the base URL of the server, a type and an object, such as /domain/example.com")
	default:
		return Query{}, false, nil
	}
	if r.typ.IsSearch() {
		q = r.searchQuery()
	} else if q, err = parseObject(r.typ, r.object); err != nil {
		return Query{}, true, err
	} else if r.typ == TypeDomain || r.typ == TypeNameserver {
		r.setName(q.Name)
	}
	q.Text, q.URL, q.note = text, r.url.String(), ""
	return q, true, nil
}

func ofType(want Type) string {
	if want == "" {
		return ""
	}
	return " for " + string(want)
}

// isAtOrigin reports whether a URL is at the origin of a server.
func isAtOrigin(text, server string) bool {
	base, e := baseURL(server)
	if e != nil {
		return false
	}
	named, err1 := url.Parse(base)
	u, err2 := url.Parse(text)
	return err1 == nil && err2 == nil && strings.EqualFold(u.Scheme, named.Scheme) && weburl.Host(u) == weburl.Host(named)
}

// setName replaces a non-ASCII name in the URL by its A-labels, which servers compare
// (RFC 9082 section 3.1.3).
func (r *rdapURL) setName(name string) {
	if dnsname.IsASCII(r.object) {
		return
	}
	path := strings.TrimRight(r.url.EscapedPath(), "/")
	before := path[:strings.LastIndexByte(path, '/')+1]
	slashes := r.url.EscapedPath()[len(path):]
	r.url.RawPath = before + weburl.EscapeSegment(name) + slashes
	r.url.Path, _ = url.PathUnescape(r.url.RawPath) // the error is impossible: the path was valid before
}

// searchQuery returns the query of a search URL. Parameters that cannot be parsed are
// sent, but not part of Query.Search.
func (r *rdapURL) searchQuery() Query {
	q := Query{Type: r.typ}
	if parseSearchPath(&q, r.search) == nil {
		return q
	}
	_, query, _ := strings.Cut(r.search, "?")
	params, _ := parseQueryString(r.search, query) // skip invalid parameters; they are not shown
	return Query{Type: r.typ, Search: &Search{Params: params}}
}

// serverOfURL returns the server of a query that is a URL.
func (q Query) serverOfURL() (bootstrap.Answer, *Error) {
	r, ok := splitURL(q.URL, q.Type, true)
	if !ok {
		return bootstrap.Answer{}, invalid(q.URL, "not an RDAP URL for "+string(q.Type), "make the query with Parse")
	}
	if q.Server != "" {
		base, err := baseURL(q.Server)
		if err != nil {
			return bootstrap.Answer{}, err
		}
		if named, err := url.Parse(base); err != nil || weburl.Host(named) != weburl.Host(r.url) || named.Scheme != r.url.Scheme {
			return bootstrap.Answer{}, invalid(weburl.Redact(q.URL), "the URL is at another server than "+visible(weburl.Redact(base)), "omit one of them")
		}
	}
	return bootstrap.Answer{URLs: []string{r.base}, Source: bootstrap.SourceServer}, nil
}
