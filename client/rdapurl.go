package client

import (
	"net/url"
	"strings"

	"github.com/rdapq/rdapq/bootstrap"
)

// A rdapURL is a URL of RDAP taken apart (RFC 9082 section 3).
type rdapURL struct {
	url    *url.URL // without user and fragment
	base   string   // of the server, ending in "/"
	typ    Type
	object string // what comes after the type, decoded
	search string // the search, as a path relative to base
}

// splitURL finds out what a URL asks for. It is false for one that is no URL of
// RDAP. That what a web site has at such a place is not taken for RDAP, only the
// URLs of domains, hosts, addresses and AS numbers are known by their paths alone;
// others must have "rdap" in their host or path, or want says what they are.
func splitURL(text string, want Type) (rdapURL, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !strings.EqualFold(u.Scheme, "https") && !strings.EqualFold(u.Scheme, "http") {
		return rdapURL{}, false
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	u.Scheme = strings.ToLower(u.Scheme)
	if !isASCIIName(u.Host) {
		host, err := parseName(u.Hostname())
		if err != nil {
			return rdapURL{}, false
		}
		if port := u.Port(); port != "" {
			host += ":" + port
		}
		u.Host = host
	}
	u.RawQuery = escapeIRI(u.RawQuery)
	segments := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	for i := len(segments) - 1; i >= 0; i-- {
		r := rdapURL{url: u, typ: Type(segments[i])}
		if want != "" && r.typ != want || !r.read(segments[i+1:]) {
			continue
		}
		if want == "" && !r.plain() && !namesRDAP(u) {
			continue
		}
		base := *u
		base.RawQuery, base.RawPath = "", ""
		base.Path = "/"
		if before := strings.Join(segments[:i], "/"); before != "" {
			base.Path, _ = url.PathUnescape("/" + before + "/") // it was taken from a path
			base.RawPath = "/" + before + "/"
		}
		r.base = base.String()
		return r, true
	}
	return rdapURL{}, false
}

// read takes what follows the type in the path. It is false if that is not what
// comes after such a type.
func (r *rdapURL) read(rest []string) bool {
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

// plain says that the object leaves no doubt about what it is.
func (r *rdapURL) plain() bool {
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

// parseURL makes a query of a URL of RDAP, which is asked as it is. ok is false if
// text is something else.
func parseURL(text string, want Type) (q Query, ok bool, err error) {
	if !strings.Contains(text, "://") {
		return Query{}, false, nil
	}
	r, ok := splitURL(text, want)
	if !ok {
		return Query{}, false, nil
	}
	if r.typ.IsSearch() {
		q = r.searchQuery()
	} else if q, err = ParseAs(r.typ, r.object); err != nil {
		return Query{Text: text}, true, err
	}
	q.Text, q.URL, q.Note = text, r.url.String(), ""
	return q, true, nil
}

// searchQuery says what the URL of a search looks for, as far as that is known:
// the server knows what the rest means.
func (r *rdapURL) searchQuery() Query {
	q := Query{Type: r.typ}
	if parseSearchPath(&q, r.search) == nil {
		return q
	}
	_, query, _ := strings.Cut(r.search, "?")
	params, _ := parseQueryString(r.search, query) // what cannot be read is not shown
	return Query{Type: r.typ, Search: &Search{Params: params}}
}

// serverOfURL is the server of a query that is a URL.
func (q Query) serverOfURL() (bootstrap.Answer, *Error) {
	r, ok := splitURL(q.URL, q.Type)
	if !ok {
		return bootstrap.Answer{}, invalid(q.URL, "this is no URL of RDAP for "+string(q.Type), "make the query with Parse")
	}
	if q.Server != "" {
		base, err := baseURL(q.Server)
		if err != nil {
			return bootstrap.Answer{}, err
		}
		if named, err := url.Parse(base); err != nil || origin(named) != origin(r.url) || named.Scheme != r.url.Scheme {
			return bootstrap.Answer{}, invalid(redact(q.URL), "the URL is of another server than the one to ask, "+visible(redact(base)), "leave one of them out")
		}
	}
	return bootstrap.Answer{URLs: []string{r.base}, Source: bootstrap.SourceServer}, nil
}

// escapeIRI percent-encodes what a URL cannot have as it is (RFC 3987 section
// 3.1).
func escapeIRI(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c > 0x20 && c < 0x7f && c != '"' && c != '<' && c != '>' {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}
