// Package rdaplink resolves and compares the links of RDAP records (RFC 9083 section
// 4.2). It sends no requests.
package rdaplink

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/content"
	"github.com/rdapq/rdapq/internal/dnsname"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/rdap"
)

// rdapType is the media type of RDAP responses (RFC 9083 section 3).
const rdapType = "application/rdap+json"

// resolveHref resolves the href of a link in a response from base. It accepts references
// without scheme, relative references, spaces and line breaks, and removes user and fragment.
// It returns false for schemes other than http and https.
func resolveHref(href string, base *url.URL) (*url.URL, bool) {
	href = strings.TrimSpace(lineBreaks.Replace(href))
	if href == "" {
		return nil, false
	}
	if startsWithHost(href, base) {
		href = "https://" + href
	}
	u, err := base.Parse(href)
	if err != nil || u.Opaque != "" {
		return nil, false
	}
	u.Scheme = strings.ToLower(u.Scheme)
	if u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || strings.Contains(u.Hostname(), ":") && u.Host[0] != '[' {
		return nil, false
	}
	if !dnsname.IsASCII(u.Host) {
		host, ok := asciiHost(u)
		if !ok {
			return nil, false
		}
		u.Host = host
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	return u, true
}

// asciiHost returns the host of a URL as A-labels, with its port.
func asciiHost(u *url.URL) (string, bool) {
	name := u.Hostname()
	if !utf8.ValidString(name) {
		return "", false
	}
	name, err := dnsname.ToASCII(name)
	if err != nil || strings.ContainsFunc(name, notInHost) {
		return "", false
	}
	if port := u.Port(); port != "" {
		name += ":" + port
	}
	return name, true
}

var lineBreaks = strings.NewReplacer("\t", "", "\r", "", "\n", "")

// startsWithHost reports whether a reference without a scheme starts with a host and not with a
// path segment. The references "rdap.example/domain/" and "rdap.example:8443/" start with a
// host. "domain/alpha.example" does not, nor does "alpha.example" in the response about that
// domain.
func startsWithHost(href string, base *url.URL) bool {
	host := href
	if i := strings.IndexAny(host, "/?#"); i >= 0 {
		host = host[:i]
	}
	name, port, _ := strings.Cut(host, ":")
	last := name[strings.LastIndexByte(name, '.')+1:]
	if !isNumeric(port) || last == name || isNumeric(last) || strings.ContainsFunc(name, notInHost) {
		return false
	}
	path := strings.TrimSuffix(base.Path, "/")
	return !strings.EqualFold(name, path[strings.LastIndexByte(path, '/')+1:])
}

// isNumeric reports whether s has no characters other than digits.
func isNumeric(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

func notInHost(r rune) bool {
	letter, digit := r|0x20 >= 'a' && r|0x20 <= 'z', r >= '0' && r <= '9'
	return r < 0x80 && !letter && !digit && r != '-' && r != '.' && r != '_'
}

// Key normalizes a URL for comparing links. In addition to the differences that
// weburl.Normalize ignores, it ignores percent-encoding, a final slash and letter case.
func Key(u *url.URL) string {
	c := *u
	c.RawPath = ""
	c.Path = strings.ToLower(strings.TrimRight(c.Path, "/"))
	return weburl.Normalize(&c)
}

// A Path is the parsed path of the URL of an object at an RDAP server.
type Path struct {
	Base   string // base URL of the server, which ends in "/"
	Class  string // path segment of the class, such as "domain" or "ips"; empty if the URL is only a base URL
	Object string // path after Class, unescaped
}

// lookupSegments maps the path segments of RFC 9082 section 3.1 to the maximum number of
// segments after them. searchSegments maps the segments of section 3.2 and of RFC 9910, and
// help. These are last or precede one of searchWords.
var (
	lookupSegments = map[string]int{"domain": 1, "ip": 2, "autnum": 1, "nameserver": 1, "entity": 1}
	searchSegments = []string{"domains", "nameservers", "entities", "ips", "autnums", "help"}
	searchWords    = []string{"rirsearch1", "reverse_search"}
)

// Split splits a URL at its last RDAP path segment, because the base URL may contain such
// segments too.
func Split(u *url.URL) Path {
	segments := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	for i, segment := range slices.Backward(segments) {
		word, after := strings.ToLower(segment), segments[i+1:]
		limit, ok := lookupSegments[word]
		if ok && len(after) <= limit || slices.Contains(searchSegments, word) &&
			(len(after) == 0 || slices.Contains(searchWords, strings.ToLower(after[0]))) {
			return Path{baseOf(u, segments[:i]), word, unescapePath(strings.Join(after, "/"))}
		}
	}
	return Path{Base: baseOf(u, segments)}
}

// baseOf returns u with the given segments as its path.
func baseOf(u *url.URL, segments []string) string {
	base := u.Scheme + "://" + u.Host + "/"
	if path := strings.Join(segments, "/"); path != "" {
		base += path + "/"
	}
	return base
}

// Self returns the self links of a response from base.
func Self(links []rdap.Link, base *url.URL) []*url.URL {
	var list []*url.URL
	for _, l := range links {
		if !l.HasRel("self") {
			continue
		}
		if u, ok := resolveHref(l.Href, base); ok {
			list = append(list, u)
		}
	}
	return list
}

// Registrar returns the URLs of the registrar's record of a domain that a record links to (RFC
// 9083 section 4.2, ICANN's technical guide section 3.2), in order and without duplicates. A
// link to the base URL of a server counts as a link to the domain on that server. Registrar
// skips links to web pages, to objects of other classes and to other domains. name is the
// queried name, and path the path of its query at a server.
func Registrar(rec *rdap.Record, name, path string, base *url.URL) []*url.URL {
	var list []*url.URL
	var seen []string
	for _, l := range rec.Links {
		if !l.HasRel("related") || l.HasRel("self") {
			continue
		}
		typ := content.MediaType(l.Type)
		if typ != rdapType && typ != "" {
			continue
		}
		u, ok := resolveHref(l.Href, base)
		if !ok {
			continue
		}
		if u = domainURL(u, rec, name, path, typ == ""); u == nil {
			continue
		}
		if key := Key(u); !slices.Contains(seen, key) {
			list, seen = append(list, u), append(seen, key)
		}
	}
	return list
}

// domainURL returns the URL of the domain that u refers to, or nil if u refers to
// something else. If strict, u must be the complete URL of a domain.
func domainURL(u *url.URL, rec *rdap.Record, name, path string, strict bool) *url.URL {
	p := Split(u)
	switch {
	case p.Class == "domain" && IsNameOf(p.Object, rec, name):
		return u
	case strict:
		return nil
	case p.Class == "" && u.RawQuery != "":
		return u // the query may contain the domain
	case p.Class == "domain" && p.Object != "" && !strings.Contains(p.Object, "."):
		p.Base += "domain/" + p.Object + "/" // the words may belong to a base URL
	case p.Class != "" && (p.Class != "domain" || p.Object != ""):
		return nil
	}
	return Join(p.Base, path)
}

// IsNameOf reports whether a name is the queried name or the name of the record.
func IsNameOf(name string, rec *rdap.Record, queried string) bool {
	ascii, err := dnsname.ToASCII(strings.TrimSuffix(strings.TrimSpace(name), "."))
	if err != nil || ascii == "" {
		return false
	}
	return ascii == queried || (rec.LDHName+rec.UnicodeName != "" && SameName(ascii, rec.LDHName, rec.UnicodeName))
}

// Relation returns the URLs that a record links to with a relation such as "up", in order and
// without duplicates. Registries of numbers also call that relation "rdap-up" (RFC 9910 section
// 5).
func Relation(rec *rdap.Record, relation string, base *url.URL) []*url.URL {
	var list []*url.URL
	var seen []string
	for _, l := range rec.Links {
		if !l.HasRel(relation) && !l.HasRel("rdap-"+relation) || l.HasRel("self") {
			continue
		}
		u, ok := resolveHref(l.Href, base)
		if !ok {
			continue
		}
		// Follow a link without a type only if it looks like RDAP, not like a web page.
		if typ := content.MediaType(l.Type); typ != rdapType && (typ != "" || Split(u).Class == "") {
			continue
		}
		if key := Key(u); !slices.Contains(seen, key) {
			list, seen = append(list, u), append(seen, key)
		}
	}
	return list
}

// unescapePath returns s unchanged if its escapes are malformed.
func unescapePath(s string) string {
	if out, err := url.PathUnescape(s); err == nil {
		return out
	}
	return s
}

// SameName reports whether the names in a response equal the queried name. A response without a
// name matches.
func SameName(queried, ldh, unicode string) bool {
	if ldh == "" && unicode == "" {
		return true
	}
	if ldh != "" && unicode != "" && !rdap.IsUnicodeForm(unicode, ldh) {
		unicode = "" // ignore the unicodeName of another object
	}
	for _, name := range []string{ldh, unicode} {
		ascii, err := dnsname.ToASCII(name)
		if err == nil && name != "" && strings.TrimSuffix(ascii, ".") == strings.TrimSuffix(queried, ".") {
			return true
		}
	}
	return false
}

// Join returns the URL of a query at a server, or nil if base is not a valid URL.
func Join(base, path string) *url.URL {
	u, err := url.Parse(bootstrap.JoinURL(base, path))
	if err != nil || u.Host == "" {
		return nil
	}
	return u
}
