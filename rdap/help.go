package rdap

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Help describes the capabilities of a server (RFC 9083 section 7 and the RFCs of
// extensions).
type Help struct {
	Conformance   []string          // rdapConformance (RFC 9083 section 4.1)
	ReverseSearch []ReverseProperty // reverse searches of RFC 9536 section 5
	OpenID        *OpenIDSupport    // support of RFC 9560 section 3.1.1; nil if the help does not mention it
}

// A ReverseProperty is a property that a server supports in reverse searches.
type ReverseProperty struct {
	Searchable string // class of the results, such as "domains"
	Related    string // class of the related objects, such as "entity"
	Property   string // property of the related objects, such as "fn", "handle", "email" or "role"
}

// OpenIDSupport describes how a server supports authentication with OpenID Connect.
type OpenIDSupport struct {
	Sessions, Tokens Tri      // supported types of clients
	Providers        []string // names of the identity providers, or their URLs if they have no names
}

// ReadHelp reads the response to a help query. Its errors are those of [Read].
func ReadHelp(raw []byte) (*Help, error) {
	doc, err := open(raw)
	if err != nil {
		return nil, err
	}
	return doc.help(), nil
}

func (d *document) help() *Help {
	h := new(Help)
	readHelp(newReader(d.object, ""), h)
	return h
}

func readHelp(r *reader, h *Help) {
	if !r.enterObject() {
		return
	}
	for r.next() {
		switch r.name() {
		case "rdapConformance":
			r.strings(&h.Conformance)
		case "reverse_search_properties":
			for l := r.list(); l.more(r); {
				h.ReverseSearch = append(h.ReverseSearch, readReverseProperty(r))
			}
		case "farv1_openidcConfiguration":
			if r.peek() != jsontext.KindBeginObject {
				r.skip()
				continue
			}
			h.OpenID = new(OpenIDSupport)
			readOpenID(r, h.OpenID)
		default:
			r.skip()
		}
	}
}

func readReverseProperty(r *reader) ReverseProperty {
	var p ReverseProperty
	r.token()
	for r.next() {
		switch r.name() {
		case "searchableResourceType":
			r.str(&p.Searchable)
		case "relatedResourceType":
			r.str(&p.Related)
		case "property":
			r.str(&p.Property)
		default:
			r.skip()
		}
	}
	return p
}

func readOpenID(r *reader, o *OpenIDSupport) {
	r.token()
	for r.next() {
		switch r.name() {
		case "sessionClientSupported":
			r.tri(&o.Sessions)
		case "tokenClientSupported":
			r.tri(&o.Tokens)
		case "openidcProviders":
			for l := r.list(); l.more(r); {
				r.token()
				var name, iss string
				for r.next() {
					switch r.name() {
					case "name":
						r.str(&name)
					case "iss":
						r.str(&iss)
					default:
						r.skip()
					}
				}
				if name = cmp.Or(name, iss); name != "" {
					o.Providers = append(o.Providers, name)
				}
			}
		default:
			r.skip()
		}
	}
}

// Announces reports whether the server lists an extension in its conformance. "paging" also
// matches "paging_level_0" and "paging_0", because some servers append a level. h may be nil.
func (h *Help) Announces(extension string) bool {
	return h != nil && slices.ContainsFunc(h.Conformance, func(c string) bool {
		c = strings.TrimSpace(c)
		rest, ok := strings.CutPrefix(strings.ToLower(c), strings.ToLower(extension))
		if !ok {
			return false
		}
		rest = strings.TrimPrefix(rest, "_level")
		return rest == "" || rest[0] == '_' && strings.Trim(rest[1:], "0123456789") == ""
	})
}

// Reverses returns the properties of related objects that the server supports in reverse
// searches for a class such as "domains". h may be nil.
func (h *Help) Reverses(searchable, related string) []string {
	if h == nil {
		return nil
	}
	var list []string
	for _, p := range h.ReverseSearch {
		if strings.EqualFold(p.Searchable, searchable) && strings.EqualFold(p.Related, related) && !slices.Contains(list, p.Property) {
			list = append(list, p.Property)
		}
	}
	return list
}
