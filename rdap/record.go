package rdap

import (
	"cmp"
	"net/netip"
	"strings"
	"time"
)

// Classes of a [Record]. The first five are values of objectClassName
// (RFC 9083 section 5); the others stand for answers that have none. A server
// may send others.
const (
	ClassDomain     = "domain"
	ClassIPNetwork  = "ip network"
	ClassAutnum     = "autnum"
	ClassEntity     = "entity"
	ClassNameserver = "nameserver"

	ClassHelp  = "help"  // RFC 9083 section 7
	ClassError = "error" // RFC 9083 section 6

	// Search results are named for the member that holds them (RFC 9083
	// section 8, RFC 9910).
	ClassDomainSearch     = "domainSearchResults"
	ClassNameserverSearch = "nameserverSearchResults"
	ClassEntitySearch     = "entitySearchResults"
	ClassIPSearch         = "ipSearchResults"
	ClassAutnumSearch     = "autnumSearchResults"
)

// A Record is a typed view of an RDAP answer for display and import
// (RFC 9083). It is tolerant: a member that the server left out, sent as null
// or sent in a form without sense is absent here, which is the zero value, and
// nothing stands in for it. Members it does not know are not in it; the
// server's own bytes are in [Result.Raw].
type Record struct {
	// Class is the objectClassName in lower case, or one of the other Class
	// constants; empty when the answer does not say what it is.
	Class string

	Common
	Card // entity

	Name        string       // ip network, autnum: the name the registry gave it (5.4, 5.5)
	Type        string       // ip network, autnum: the kind of allocation
	Country     string       // ip network, autnum: two-letter code
	LDHName     string       // domain, nameserver: as sent; see [DisplayName]
	UnicodeName string       // domain, nameserver: with U-labels, as sent; empty if it is not LDHName with U-labels
	Nameservers []Nameserver // domain (5.3)
	SecureDNS   *SecureDNS   // domain; nil when the server is silent about DNSSEC
	Variants    []Variant    // domain
	Network     *Record      // domain: the network of a reverse domain

	StartAddress string         // ip network: first address, as sent (5.4)
	EndAddress   string         // ip network: last address, as sent
	IPVersion    string         // ip network: "v4" or "v6"
	ParentHandle string         // ip network
	CIDRs        []netip.Prefix // ip network: cidr0_cidrs, else the fewest prefixes that make up the range

	OriginAutnums []uint32 // ip network: AS numbers that announce it, as ARIN's registry knows them (arin_originas0)

	StartAutnum *uint32 // autnum: first number of the block (5.5)
	EndAutnum   *uint32 // autnum: last number of the block

	V4, V6 []string // nameserver: its addresses, as sent (5.2)

	Roles        []string // entity: what it is to the object around it (5.1)
	AsEventActor []Event  // entity: what it did
	Networks     []Record // entity: its ip networks
	Autnums      []Record // entity: its AS numbers

	Redacted    []Redaction // what the server says it left out (RFC 9537)
	Notices     []Notice    // about the service (4.3)
	Conformance []string    // rdapConformance (4.1)

	Results []Record // of a search (8)

	ErrorCode   int      // error: 0 when absent (6); RFC 9457 problems: their status
	Title       string   // error
	Description []string // error: what the server says went wrong, line by line

	// Truncations is what the server says is not whole, at most 100: in the
	// answer and in the objects within it. It stands at the outermost Record.
	Truncations []Truncation

	// Problems is what was wrong with the answer, at most 100. Problems in
	// contact cards are found when those are read: see [Contact] and
	// [Record.CardProblems].
	Problems []Problem
}

// reset empties rec and keeps the memory of the lists that a Summary needs.
func (rec *Record) reset() {
	*rec = Record{
		Common: Common{
			Status: rec.Status[:0], Entities: rec.Entities[:0], Events: rec.Events[:0], PublicIDs: rec.PublicIDs[:0],
		},
		Nameservers: rec.Nameservers[:0],
		Roles:       rec.Roles[:0],
	}
}

// Common holds the members that objects of every class may have (RFC 9083
// section 4, and those of section 5 that stand in several classes).
type Common struct {
	Handle    string
	Status    []string // as sent; see [RDAPStatus]
	Entities  []Entity
	Events    []Event
	Links     []Link
	Remarks   []Notice
	PublicIDs []PublicID
	Port43    string
	Lang      string
}

// An Entity is a person or organisation in another object (RFC 9083
// section 5.1). Its contact data are decoded by Contact.
type Entity struct {
	Common
	Card
	Roles        []string
	AsEventActor []Event
	Networks     []Record
	Autnums      []Record
}

// reset empties e and keeps the memory of the lists that a Summary needs.
func (e *Entity) reset() {
	*e = Entity{
		Common: Common{PublicIDs: e.PublicIDs[:0], Entities: e.Entities[:0]},
		Roles:  e.Roles[:0],
	}
}

// HasRole reports whether role is among the entity's roles, letter case aside.
func (e *Entity) HasRole(role string) bool { return containsFold(e.Roles, role) }

// A PublicID is an identifier given by somebody else, such as the
// "IANA Registrar ID" (RFC 9083 section 4.8).
type PublicID struct {
	Type       string
	Identifier string
}

// An Event is something that happened to an object, or will (RFC 9083
// section 4.5).
type Event struct {
	Action string
	Actor  string
	// Time is when it happened; the zero time when the server sent no date or one
	// that is not understood. It is in UTC if the date has no offset. A leap second
	// is the second after it.
	Time time.Time
	// DateOnly says that the server sent a day without a time. Time is then
	// midnight UTC of that day, and must not be converted to another time zone.
	DateOnly bool
	Raw      string // the date as sent; empty when the server sent none
}

// A Nameserver is a host that a domain is delegated to (RFC 9083 section 5.2).
type Nameserver struct {
	Common
	LDHName     string // as sent; see [DisplayName]
	UnicodeName string
	V4, V6      []string // addresses as sent
}

// A Tri is a boolean that may be absent.
type Tri int8

const (
	Unknown Tri = 0 // the server did not say
	Yes     Tri = 1
	No      Tri = -1
)

// String returns "yes", "no" or "".
func (t Tri) String() string {
	switch t {
	case Yes:
		return "yes"
	case No:
		return "no"
	}
	return ""
}

// SecureDNS is what is known of a domain's DNSSEC (RFC 9083 section 5.3).
type SecureDNS struct {
	ZoneSigned       Tri
	DelegationSigned Tri
	MaxSigLife       *uint32 // seconds
	DS               []DSData
	Keys             []KeyData
}

// Signed says whether the delegation is signed: by the server's word, else Yes
// when it lists DS or key data, else Unknown. It may be called on nil.
func (s *SecureDNS) Signed() Tri {
	switch {
	case s == nil:
		return Unknown
	case s.DelegationSigned != Unknown:
		return s.DelegationSigned
	case len(s.DS) > 0 || len(s.Keys) > 0:
		return Yes
	}
	return Unknown
}

// DSData is a delegation signer record (RFC 4034 section 5). Numbers that the
// server left out are nil.
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

// A Link leads elsewhere (RFC 9083 section 4.2, RFC 8288).
type Link struct {
	Href     string // as sent, which may be relative or have spaces
	Rel      string // relations, separated by spaces; see [Link.HasRel]
	Type     string // media type
	Title    string
	Media    string
	Value    string   // the URL that the link is from
	Hreflang []string // languages
}

// HasRel reports whether rel is among the link's relations, letter case aside.
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
	Type        string // such as "object truncated due to authorization" (10.2.1)
	Lang        string // language tag; empty when the server did not say (4.4)
	Description []string
	Links       []Link
}

// A Redaction is something that the server says it left out or changed
// (RFC 9537). Its paths are hints: they need not lead anywhere in the answer.
type Redaction struct {
	Name            string // name.type, else name.description
	Reason          string
	Method          string // "removal" when the server did not say
	PrePath         string
	PostPath        string
	ReplacementPath string
	PathLang        string // "jsonpath" when the server did not say
}

// Path returns where the redaction is in the answer as it came (postPath, else
// replacementPath), else where it was before (prePath); empty without any.
func (r *Redaction) Path() string { return cmp.Or(r.PostPath, r.ReplacementPath, r.PrePath) }

// A Variant is a group of names that are one with the domain's (RFC 9083
// section 5.3).
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

// DisplayName returns a host or domain name in the form people expect: lower
// case and without final dot, which servers send and which mean nothing.
func DisplayName(name string) string {
	name = strings.TrimSpace(name)
	if len(name) > 1 {
		name = strings.TrimSuffix(name, ".")
	}
	return strings.ToLower(name)
}

func containsFold(list []string, word string) bool {
	for _, s := range list {
		if strings.EqualFold(strings.TrimSpace(s), word) {
			return true
		}
	}
	return false
}
