package client

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/internal/weburl"
)

// A Type is the type of object that a [Query] looks up.
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

// A Query is an RDAP query (RFC 9082). Create a Query with [Parse] or [ParseAs]; then set
// Server to query a particular server.
type Query struct {
	Text string // text as the user wrote it
	Type Type   // type of the object
	// for a domain or nameserver: lower-case A-labels without final dot, "." for the root; for
	// an entity: the handle, byte for byte
	Name   string
	Prefix netip.Prefix // for an IP query, the address with its full length, or the prefix with its host bits
	Autnum uint32       // for an AS number query, the number
	Server string       // base URL of the server; if empty, the Resolver finds the server
	Search *Search      // parameters of a search; nil for lookups
	// URL to request unchanged, instead of Path at a server, if the query is an RDAP URL;
	// otherwise empty
	URL string

	Referral Referral // whether the registrar of a domain is queried too; if empty, Config.Referral decides

	note string // how Text was interpreted, if that is not obvious; one sentence, which becomes a WarnQuery
}

// Path returns the path of the query relative to a server's base URL (RFC 9082 section 3.1),
// percent-encoded and without a leading slash: "domain/xn--bcher-kva.example",
// "ip/2001:db8::/32", "autnum/64496", "domains?name=exam*.com". The path is empty for an empty
// Query: the zero Query, a domain without a name, a zero Prefix.
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
		// The slash of a prefix separates segments (section 3.1.1).
		return "ip/" + q.object()
	case TypeDomain:
		if q.Name == "." {
			return "domain/." // the root; some servers read an encoded dot as another name
		}
		fallthrough
	default:
		object := weburl.EscapeSegment(q.object())
		if object == "" {
			return ""
		}
		return string(q.Type) + "/" + object
	}
}

// isEmpty reports whether Path is empty.
func (q *Query) isEmpty() bool {
	switch q.Type {
	case TypeDomain, TypeNameserver, TypeEntity:
		return q.Name == "" // avoid making the path, which allocates
	}
	return q.Path() == ""
}

// String returns the object in its normal spelling: the name in
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

// Question returns the question that a Resolver answers with the servers of the
// query. It returns false if Query.Server is required: for help, which is about a
// server, and for searches for which no registry is authoritative.
func (q Query) Question() (bootstrap.Question, bool) {
	switch q.Type {
	case TypeDomain:
		return bootstrap.Question{For: bootstrap.ForDomain, Name: q.Name}, true
	case TypeNameserver:
		return bootstrap.Question{For: bootstrap.ForNameserver, Name: q.Name}, true
	case TypeEntity:
		return bootstrap.Question{For: bootstrap.ForEntity, Name: q.Name}, true
	case TypeIP:
		return bootstrap.Question{For: bootstrap.ForAddress, Prefix: q.Prefix}, true
	case TypeAutnum:
		return bootstrap.Question{For: bootstrap.ForAutnum, Autnum: q.Autnum}, true
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

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
