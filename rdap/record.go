package rdap

import (
	"cmp"
	"net/netip"
	"strings"
	"time"
)

// Classes of a [Record]. The first five are values of objectClassName (RFC 9083 section 5); the
// others are for responses without objectClassName. Servers may send other values.
const (
	ClassDomain     = "domain"
	ClassIPNetwork  = "ip network"
	ClassAutnum     = "autnum"
	ClassEntity     = "entity"
	ClassNameserver = "nameserver"

	ClassHelp  = "help"  // class of RFC 9083 section 7
	ClassError = "error" // class of RFC 9083 section 6

	// Search results are named for the member that holds them (RFC 9083
	// section 8, RFC 9910).
	ClassDomainSearch     = "domainSearchResults"
	ClassNameserverSearch = "nameserverSearchResults"
	ClassEntitySearch     = "entitySearchResults"
	ClassIPSearch         = "ipSearchResults"
	ClassAutnumSearch     = "autnumSearchResults"
)

// A Record is a typed view of an RDAP response (RFC 9083) for display and import. It is
// tolerant: a member that is absent, null or unreadable has the zero value. It omits
// unknown members; the caller still has the raw response.
type Record struct {
	// Class is the objectClassName in lower case, or one of the other Class constants. It is
	// empty if the response does not determine the class.
	Class string

	Common
	Card // entity: contact data

	Name    string // ip network, autnum: name assigned by the registry (5.4, 5.5)
	Type    string // ip network, autnum: type of allocation
	Country string // ip network, autnum: two-letter code
	LDHName string // domain, nameserver: name as sent
	// domain, nameserver: name with U-labels, as sent; empty if it does not match LDHName
	UnicodeName string
	Nameservers []Nameserver // domain: nameservers (5.3)
	SecureDNS   *SecureDNS   // domain: DNSSEC data; nil if absent
	Variants    []Variant    // domain: variants of the name
	Network     *Record      // domain: the network of a reverse domain

	StartAddress string         // ip network: first address, as sent (5.4)
	EndAddress   string         // ip network: last address, as sent
	IPVersion    string         // ip network: "v4" or "v6"
	ParentHandle string         // ip network: handle of the parent network
	CIDRs        []netip.Prefix // ip network: cidr0_cidrs, else the fewest prefixes that cover the range

	// ip network: AS numbers that announce the network, according to ARIN (arin_originas0)
	OriginAutnums []uint32

	StartAutnum *uint32 // autnum: first number of the block (5.5)
	EndAutnum   *uint32 // autnum: last number of the block

	V4, V6 []string // nameserver: addresses, as sent (5.2)

	Roles        []string // entity: relations to the enclosing object (5.1)
	AsEventActor []Event  // entity: events that it caused
	Networks     []Record // entity: ip networks
	Autnums      []Record // entity: AS numbers

	Redacted    []Redaction // redactions that the server declares (RFC 9537)
	Notices     []Notice    // notices about the service (4.3)
	Conformance []string    // rdapConformance (4.1)

	Results []Record // results of a search (8)

	ErrorCode   int      // error: member errorCode (6), or the status of RFC 9457 problems; 0 if absent
	Title       string   // error: title of the message
	Description []string // error: the server's explanation, line by line

	// Truncations lists the notices which say that the response or its nested objects are
	// incomplete, at most 100. Only the outermost Record has them.
	Truncations []Truncation

	// Problems lists the defects of the response, at most 100. The defects of contact cards
	// appear when the cards are decoded; see [Contact] and [Record.CardProblems].
	Problems []Problem
}

// reset empties rec but keeps the slice capacity that a Summary needs.
func (rec *Record) reset() {
	*rec = Record{
		Common: Common{
			Status: rec.Status[:0], Entities: rec.Entities[:0], Events: rec.Events[:0], PublicIDs: rec.PublicIDs[:0],
		},
		Nameservers: rec.Nameservers[:0],
		Roles:       rec.Roles[:0],
	}
}

// Common holds the members that several object classes share (RFC 9083 sections 4 and
// 5).
type Common struct {
	Handle    string
	Status    []string // statuses as sent; see [Common.Statuses]
	Entities  []Entity
	Events    []Event
	Links     []Link
	Remarks   []Notice
	PublicIDs []PublicID
	Port43    string
	Lang      string
}

// An Entity is a person or organisation related to another object (RFC 9083 section 5.1). The
// method Contact decodes the contact data.
type Entity struct {
	Common
	Card
	Roles        []string
	AsEventActor []Event
	Networks     []Record
	Autnums      []Record
}

// reset empties e but keeps the slice capacity that a Summary needs.
func (e *Entity) reset() {
	*e = Entity{
		Common: Common{PublicIDs: e.PublicIDs[:0], Entities: e.Entities[:0]},
		Roles:  e.Roles[:0],
	}
}

// HasRole reports whether the entity has the role, ignoring case.
func (e *Entity) HasRole(role Role) bool { return containsFold(e.Roles, string(role)) }

// A PublicID is an identifier assigned by a third party, such as the "IANA Registrar
// ID" (RFC 9083 section 4.8).
type PublicID struct {
	Type       string
	Identifier string
}

// An Event is a past or future event of an object (RFC 9083 section 4.5).
type Event struct {
	Action string
	Actor  string
	// Time is the zero time if the date is absent or unrecognized. It is in UTC if the
	// date has no offset. A leap second becomes the second after it.
	Time time.Time
	// DateOnly reports that the server sent a day without a time. Time is then midnight UTC of
	// that day, and must not be converted to another time zone.
	DateOnly bool
	Raw      string // date as sent; empty if absent
}

// A Nameserver is a host to which a domain is delegated (RFC 9083 section 5.2).
type Nameserver struct {
	Common
	LDHName     string // name as sent
	UnicodeName string
	V4, V6      []string // addresses as sent
}

// A Tri is a boolean that may be absent.
type Tri int8

// Values of a [Tri].
const (
	TriUnknown Tri = 0 // the boolean is absent
	TriYes     Tri = 1
	TriNo      Tri = -1
)

// String returns "yes", "no" or "".
func (t Tri) String() string {
	switch t {
	case TriYes:
		return "yes"
	case TriNo:
		return "no"
	}
	return ""
}

// SecureDNS is the DNSSEC data of a domain (RFC 9083 section 5.3).
type SecureDNS struct {
	ZoneSigned       Tri
	DelegationSigned Tri
	MaxSigLife       *uint32 // maximum signature lifetime in seconds
	DS               []DSData
	Keys             []KeyData
}

// Signed reports whether the delegation is signed, as the server states. Without a statement it
// returns Yes if there are DS or key data, and otherwise Unknown. s may be nil.
func (s *SecureDNS) Signed() Tri {
	switch {
	case s == nil:
		return TriUnknown
	case s.DelegationSigned != TriUnknown:
		return s.DelegationSigned
	case len(s.DS) > 0 || len(s.Keys) > 0:
		return TriYes
	}
	return TriUnknown
}

// DSData is a delegation signer record (RFC 4034 section 5). Absent numbers are nil.
type DSData struct {
	KeyTag, Algorithm, DigestType *uint32
	Digest                        string
	Events                        []Event
}

// KeyData is a DNSSEC key (RFC 4034 section 2).
type KeyData struct {
	Flags, Protocol, Algorithm *uint32
	PublicKey                  string
	Events                     []Event
}

// A Link refers to a related resource (RFC 9083 section 4.2, RFC 8288).
type Link struct {
	Href     string // target as sent; may be relative or contain spaces
	Rel      string // relations, separated by spaces; see [Link.HasRel]
	Type     string // media type
	Title    string
	Media    string
	Value    string   // context URL of the link
	Hreflang []string // languages of the target
}

// HasRel reports whether rel is among the link's relations, ignoring case.
func (l Link) HasRel(rel string) bool {
	for word := range strings.FieldsSeq(l.Rel) {
		if strings.EqualFold(word, rel) {
			return true
		}
	}
	return false
}

// A Notice is a note about the service, or a remark about an object (RFC 9083
// section 4.3).
type Notice struct {
	Title       string
	Type        string // type of the notice, such as "object truncated due to authorization" (10.2.1)
	Lang        string // language tag; empty if absent (4.4)
	Description []string
	Links       []Link
}

// A Redaction is data that the server declares as removed or changed (RFC 9537). Its
// paths are hints: they may not exist in the response.
type Redaction struct {
	Name            string // member name.type, or name.description without a type
	Reason          string
	Method          string // method of the redaction; "removal" if absent
	PrePath         string
	PostPath        string
	ReplacementPath string
	PathLang        string // language of the paths; "jsonpath" if absent
}

// Path returns postPath or replacementPath, the location in the response. Without these, it
// returns prePath, the location before the redaction, which may be empty.
func (r *Redaction) Path() string { return cmp.Or(r.PostPath, r.ReplacementPath, r.PrePath) }

// A Variant is a group of names that are variants of the domain (RFC 9083 section 5.3).
type Variant struct {
	Relations []string
	IDNTable  string
	Names     []VariantName
}

// A VariantName is one name of a [Variant].
type VariantName struct {
	LDHName     string
	UnicodeName string
}

func containsFold(list []string, word string) bool {
	for _, s := range list {
		if strings.EqualFold(strings.TrimSpace(s), word) {
			return true
		}
	}
	return false
}

// CardProblems returns the defects of all contact cards in the response, at most 100.
// Each call decodes the cards again.
func (rec *Record) CardProblems() []Problem {
	var w cardWalk
	w.record(rec)
	return mergeProblems(w.problems)
}

// maxCards limits the cards that a cardWalk decodes, because a response may have a million.
const maxCards = 1000

// A cardWalk visits the cards of a response.
type cardWalk struct {
	problems []Problem
	cards    int
}

func (w *cardWalk) record(rec *Record) {
	w.card(rec.Card)
	w.entities(rec.Entities)
	for i := range rec.Nameservers {
		w.entities(rec.Nameservers[i].Entities)
	}
	if rec.Network != nil {
		w.record(rec.Network)
	}
	for _, list := range [...][]Record{rec.Networks, rec.Autnums, rec.Results} {
		for i := range list {
			w.record(&list[i])
		}
	}
}

func (w *cardWalk) entities(list []Entity) {
	for i := range list {
		e := &list[i]
		w.card(e.Card)
		w.entities(e.Entities)
		for _, list := range [...][]Record{e.Networks, e.Autnums} {
			for i := range list {
				w.record(&list[i])
			}
		}
	}
}

func (w *cardWalk) card(c Card) {
	if w.cards == maxCards || len(w.problems) == maxProblems || c.IsZero() {
		return
	}
	w.cards++
	w.problems = append(w.problems, c.Contact().Problems...)
	w.problems = w.problems[:min(len(w.problems), maxProblems)]
}
