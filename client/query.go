package client

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/weburl"
)

// A Type is the kind of object a [Query] asks for.
type Type string

// Types of a [Query]: the path segments of RFC 9082 section 3.1.
const (
	TypeDomain     Type = "domain"
	TypeIP         Type = "ip" // an address or a prefix
	TypeAutnum     Type = "autnum"
	TypeNameserver Type = "nameserver"
	TypeEntity     Type = "entity"
	TypeHelp       Type = "help"
)

// A Query is one question to RDAP (RFC 9082). Make it with [Parse] or
// [ParseAs]; set Server afterwards to ask a server of your own choice.
type Query struct {
	Text   string       // as the user wrote it
	Type   Type         // what is asked for
	Name   string       // domain and nameserver: lower-case A-labels without final dot, "." for the root; entity: the handle byte for byte
	Prefix netip.Prefix // ip: the address with all its bits, or the prefix, host bits kept
	Autnum uint32       // autnum
	Server string       // base URL of the server to ask; empty: bootstrap finds it
	Search *Search      // searches: what is looked for; nil for lookups
	URL    string       // asked as it is, in place of Path at a server: the query is the URL of an RDAP object; empty otherwise
	Note   string       // what is not plain about how Text was read, one sentence; goes into Result.Warnings
	From   string       // the host name that Name is the registrable domain of, see Config.Registrable; empty: Name is what was written

	Referral Referral // whether the registrar of a domain is asked, too; empty: as Config.Referral says
}

// Path returns the path of the query relative to a server's base URL (RFC 9082
// section 3.1), percent-encoded and without a leading slash:
// "domain/xn--bcher-kva.example", "ip/2001:db8::/32", "autnum/64496",
// "domains?name=exam*.com". It is empty for a Query that asks for nothing: the
// zero Query, a domain without a name, a zero Prefix.
func (q Query) Path() string {
	switch q.Type {
	case TypeHelp:
		return "help"
	case "":
		return ""
	case TypeDomains, TypeNameservers, TypeEntities, TypeIPs, TypeAutnums:
		return q.searchPath(q.searchOptions())
	case TypeIP:
		if !q.Prefix.IsValid() {
			return ""
		}
		// The slash of a prefix is a separator of its own (section 3.1.1).
		return "ip/" + q.object()
	case TypeDomain:
		if q.Name == "." {
			return "domain/." // the root; encoded, it would be another name for some servers
		}
		fallthrough
	default:
		object := escapeSegment(q.object())
		if object == "" {
			return ""
		}
		return string(q.Type) + "/" + object
	}
}

// String returns the object asked for in its normal spelling: the name in
// A-labels, the address in RFC 5952 text, "AS64496", the handle, or "help".
func (q Query) String() string {
	switch q.Type {
	case TypeAutnum:
		return "AS" + q.object()
	case TypeHelp:
		return "help"
	case "":
		if strings.Contains(q.Text, "://") {
			return weburl.Redact(q.Text)
		}
		return q.Text
	case TypeDomains, TypeNameservers, TypeEntities, TypeIPs, TypeAutnums:
		return q.searchText()
	default:
		return q.object()
	}
}

// Question returns what to ask bootstrap for the query's server. It is false
// for help, which is about a server and not about an object, and for searches
// that may find something at any registry, so that Query.Server must say which.
func (q Query) Question() (bootstrap.Question, bool) {
	switch q.Type {
	case TypeDomain:
		return bootstrap.Question{Class: bootstrap.Domain, Name: q.Name}, true
	case TypeNameserver:
		return bootstrap.Question{Class: bootstrap.Nameserver, Name: q.Name}, true
	case TypeEntity:
		return bootstrap.Question{Class: bootstrap.Entity, Name: q.Name}, true
	case TypeIP:
		return bootstrap.Question{Class: bootstrap.Address, Prefix: q.Prefix}, true
	case TypeAutnum:
		return bootstrap.Question{Class: bootstrap.Autnum, Autnum: q.Autnum}, true
	default:
		return q.searchQuestion()
	}
}

func (q Query) object() string {
	switch q.Type {
	case TypeIP:
		if q.Prefix.IsSingleIP() {
			return q.Prefix.Addr().String()
		}
		return q.Prefix.String()
	case TypeAutnum:
		return strconv.FormatUint(uint64(q.Autnum), 10)
	default:
		return q.Name
	}
}

// escapeSegment percent-encodes what RFC 3986 does not allow in a path segment.
// It is stricter than url.PathEscape, which leaves "&", "=", "+" and "$" alone:
// some servers read those as a form, so a handle with them would arrive changed.
// A segment of dots only would be taken for "here" or "up" and is encoded too.
func escapeSegment(s string) string {
	const hex = "0123456789ABCDEF"
	dots := s == "." || s == ".."
	stays := func(c byte) bool {
		return isAlnum(c) || c == '-' || c == '_' || c == '~' || c == ':' || c == '.' && !dots
	}
	first := 0
	for first < len(s) && stays(s[first]) {
		first++
	}
	if first == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:first])
	for i := first; i < len(s); i++ {
		c := s[i]
		if stays(c) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
