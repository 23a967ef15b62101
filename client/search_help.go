package client

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Help is what a server makes known of what it can do (RFC 9083 section 7 and the
// RFCs of extensions).
type Help struct {
	Conformance   []string          // rdapConformance (RFC 9083 section 4.1)
	ReverseSearch []ReverseProperty // RFC 9536 section 5
	OpenID        *OpenIDSupport    // RFC 9560 section 3.1.1; nil: the help doesn't tell
}

// A ReverseProperty is something that a server searches by in reverse.
type ReverseProperty struct {
	Searchable Type   // what is found: "domains"
	Related    string // the class of the related objects: "entity"
	Property   string // of them: "fn", "handle", "email", "role"
}

// OpenIDSupport says how a server lets clients authenticate with OpenID Connect.
type OpenIDSupport struct {
	Sessions, Tokens Tri      // kinds of clients that are supported
	Providers        []string // names of the identity providers, else their URLs
}

// ReadHelp reads the answer to a help query. The error is that of [ReadRecord].
func ReadHelp(raw []byte) (*Help, error) { return (&Result{Raw: raw}).Help() }

// Help reads the answer in r.Raw as that to a help query: see [ReadHelp].
func (r *Result) Help() (*Help, error) {
	doc, err := r.document()
	if err != nil {
		return nil, err
	}
	h, walk := new(Help), newReader(doc.object, "")
	walk.help(h)
	return h, nil
}

func (r *reader) help(h *Help) {
	if !r.enterObject() {
		return
	}
	for r.next() {
		switch r.name() {
		case "rdapConformance":
			r.strings(&h.Conformance)
		case "reverse_search_properties":
			for l := r.list(); l.more(r); {
				h.ReverseSearch = append(h.ReverseSearch, r.reverseProperty())
			}
		case "farv1_openidcConfiguration":
			if r.peek() != jsontext.KindBeginObject {
				r.skip()
				continue
			}
			h.OpenID = new(OpenIDSupport)
			r.openID(h.OpenID)
		default:
			r.skip()
		}
	}
}

func (r *reader) reverseProperty() ReverseProperty {
	var p ReverseProperty
	r.token()
	for r.next() {
		switch r.name() {
		case "searchableResourceType":
			r.str((*string)(&p.Searchable))
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

func (r *reader) openID(o *OpenIDSupport) {
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

// Announces reports whether the server names an extension in its conformance, with
// or without the level that some write behind it: "paging" also as "paging_level_0"
// and "paging_0". It may be called on nil.
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

// Reverses returns the properties of related objects that the server searches
// objects of a type by in reverse. It may be called on nil.
func (h *Help) Reverses(t Type, related string) []string {
	if h == nil {
		return nil
	}
	var list []string
	for _, p := range h.ReverseSearch {
		if strings.EqualFold(string(p.Searchable), string(t)) && strings.EqualFold(p.Related, related) && !slices.Contains(list, p.Property) {
			list = append(list, p.Property)
		}
	}
	return list
}

// helps remembers what servers have made known, by their base URLs, and who is
// being asked.
type helps struct {
	mu     sync.Mutex
	known  map[string]*Help
	claims map[string]claim
}

// A claim is the help of a server being asked for, or that having failed lately.
type claim struct {
	at     time.Time
	failed bool
}

const (
	// helpPause is after what time a search looks again whether the help has come
	// that another one asks for.
	helpPause = 20 * time.Millisecond
	// helpPatience bounds how long that is waited for: whoever asks may have been
	// given up.
	helpPatience = 5 * time.Second
)

// claim reports whether the caller is to ask for the help of a server. If not,
// somebody else does. One that failed is asked for by all who need it: they would
// wait for each other's failures.
func (k *helps) claim(base string, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.known[base]; ok {
		return false // it came since the caller looked
	}
	if c, ok := k.claims[base]; ok && now.Sub(c.at) < helpPatience {
		return c.failed
	}
	if k.claims == nil {
		k.claims = make(map[string]claim)
	}
	if len(k.claims) >= maxHelps {
		clear(k.claims)
	}
	k.claims[base] = claim{at: now}
	return true
}

// failed tells that asking for the help of a server came to nothing.
func (k *helps) failed(base string, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.claims[base]; ok {
		k.claims[base] = claim{now, true}
	}
}

// maxHelps bounds what is remembered.
const maxHelps = 256

func (k *helps) get(base string) (*Help, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	h, ok := k.known[base]
	return h, ok
}

func (k *helps) put(base string, h *Help) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = make(map[string]*Help)
	}
	if len(k.known) >= maxHelps {
		clear(k.known)
	}
	k.known[base] = h
	delete(k.claims, base)
}
