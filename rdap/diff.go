package rdap

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rdapq/rdapq/internal/dnsname"
)

// Names of the fields that [Diff] compares. The fields of dates are named for the action of
// their event, such as "expiration" or "registration". The fields of contacts are named for
// their role, such as "registrant".
const (
	FieldHandle      = "handle"
	FieldName        = "name"        // name of a network, a block of AS numbers or an entity
	FieldType        = "type"        // type of a network or a block of AS numbers
	FieldCountry     = "country"     // country of a network or a block of AS numbers
	FieldParent      = "parent"      // handle of the parent network
	FieldRange       = "range"       // range of a network or a block of AS numbers
	FieldOrigins     = "origins"     // AS numbers that announce a network
	FieldStatus      = "status"      // RDAP status values: see [ParseStatus]
	FieldRegistrar   = "registrar"   // registrar's name, and IANA number if the registrar has one
	FieldAbuse       = "abuse"       // e-mail address and phone number for abuse reports
	FieldNameservers = "nameservers" // names of nameservers, as A-labels in lower case
	// addresses of a nameserver, or of each nameserver of a domain after the nameserver's name
	FieldAddresses = "addresses"
	FieldDNSSEC    = "dnssec" // "signed" or "unsigned"
	// DS records in the form "KEYTAG ALGORITHM DIGESTTYPE DIGEST", as in a zone file
	FieldDS        = "ds"
	FieldKeys      = "keys"       // keys in the form "FLAGS PROTOCOL ALGORITHM KEY", as in a zone file
	FieldVariants  = "variants"   // names of IDN variants
	FieldRedacted  = "redacted"   // names of redacted members (RFC 9537)
	FieldContact   = "contact"    // contact data of an entity
	FieldRoles     = "roles"      // roles of an entity
	FieldPublicIDs = "public ids" // identifiers of an entity, in the form "TYPE IDENTIFIER"
)

// A Change is one difference between two records of an object.
type Change struct {
	Field string // stable name: see the Field constants

	// Old and New are the values in each record, nil if the record has none. Names, statuses
	// and DNSSEC data are in their canonical spelling; dates and contacts are as sent.
	Old, New []string

	// OldTime and NewTime are the dates of an event. They are zero for other fields, and for
	// dates that are absent or unrecognized.
	OldTime, NewTime time.Time
}

// Diff returns the differences between two records of the same object, in an order that depends
// only on the fields. It compares what is registered: registrar, statuses, nameservers, DNSSEC
// data, dates, contacts, ranges, redactions. It ignores notices, remarks, links, and the date
// of the database's last update. It also ignores the order of lists, repeated values, case, and
// equivalent spellings of statuses, names, addresses, phone numbers and dates. Two registrars
// with the same IANA number are equal whatever their names. A date without a time equals every
// time of that day in UTC.
//
// A nil record has no data. Neither has a record that does not describe an object, such as an
// error.
func Diff(old, new *Record) []Change {
	before, after := factsOf(old), factsOf(new)
	var out []Change
	for _, f := range before {
		other := after.find(f.field)
		if !f.equal(other) {
			out = append(out, Change{Field: f.field, Old: f.values, New: other.values, OldTime: f.time, NewTime: other.time})
		}
	}
	for _, f := range after {
		if before.find(f.field).field == "" {
			out = append(out, Change{Field: f.field, New: f.values, NewTime: f.time})
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int {
		return cmp.Or(cmp.Compare(rank(a.Field), rank(b.Field)), cmp.Compare(a.Field, b.Field))
	})
	return out
}

// fieldOrder is the order of the fields in a Diff. Fields named by servers follow, sorted by
// name.
var fieldOrder = []string{
	FieldHandle, FieldName, FieldType, FieldCountry, FieldParent, FieldRange, FieldOrigins,
	FieldStatus, string(EventRegistration), string(EventExpiration), string(EventRegistrarExpiration), string(EventTransfer), string(EventLastChanged),
	FieldRegistrar, FieldAbuse, FieldNameservers, FieldAddresses, FieldDNSSEC, FieldDS, FieldKeys, FieldVariants,
	FieldContact, FieldRoles, FieldPublicIDs, FieldRedacted,
}

func rank(field string) int {
	if i := slices.Index(fieldOrder, field); i >= 0 {
		return i
	}
	return len(fieldOrder)
}

// A fact is the value of one field.
type fact struct {
	field  string
	values []string // values to show; not empty
	keys   []string // values in the form for comparison, sorted
	time   time.Time
	day    bool // time is a day without a time
}

type facts []fact

// find returns the fact of a field, or the zero fact.
func (list facts) find(field string) fact {
	if i := slices.IndexFunc(list, func(f fact) bool { return f.field == field }); i >= 0 {
		return list[i]
	}
	return fact{}
}

// equal reports whether two facts of one field have the same meaning.
func (f fact) equal(o fact) bool {
	switch {
	case f.time.IsZero() || o.time.IsZero():
		return slices.Equal(f.keys, o.keys)
	case f.day || o.day:
		return f.time.UTC().Truncate(day).Equal(o.time.UTC().Truncate(day))
	}
	return f.time.Equal(o.time)
}

const day = 24 * time.Hour

// add adds a fact, unless values is empty or the field already has a fact. key returns the form
// of a value for comparison.
func (list *facts) add(field string, values []string, key func(string) string) {
	var f fact
	for _, v := range values {
		if k := key(v); k != "" && !slices.Contains(f.keys, k) {
			f.keys, f.values = append(f.keys, k), append(f.values, v)
		}
	}
	if f.values == nil || list.find(field).field != "" {
		return
	}
	slices.Sort(f.keys)
	f.field = field
	*list = append(*list, f)
}

// factsOf returns the facts in a record.
func factsOf(rec *Record) facts {
	var list facts
	if rec == nil || rec.Class == ClassError || rec.Class == ClassHelp {
		return nil
	}
	s := summaryOf(rec)
	list.add(FieldHandle, []string{rec.Handle}, fold)
	list.add(FieldStatus, s.Statuses, fold)
	list.addRegistrar(rec, &s)
	list.add(FieldAbuse, []string{s.AbuseEmail, s.AbusePhone}, contactKey)
	list.addEvents(rec)
	switch rec.Class {
	case ClassEntity:
		list.add(FieldContact, contactValues(&rec.Card, rec.Handle), contactKey)
		list.add(FieldRoles, rec.Roles, fold)
		var ids []string
		for _, id := range rec.PublicIDs {
			ids = append(ids, strings.TrimSpace(id.Type+" "+id.Identifier))
		}
		list.add(FieldPublicIDs, ids, fold)
	case ClassIPNetwork, ClassAutnum:
		list.addRange(rec, &s)
	default:
		list.addNames(rec)
	}
	list.addContacts(rec.Entities)
	var redacted []string
	for i := range rec.Redacted {
		redacted = append(redacted, cmp.Or(rec.Redacted[i].Name, rec.Redacted[i].Path()))
	}
	list.add(FieldRedacted, redacted, fold)
	return list
}

// summaryOf returns the summary of a record.
func summaryOf(rec *Record) Summary {
	var s summarizer
	s.record(rec)
	return s.out
}

func (list *facts) addRegistrar(rec *Record, s *Summary) {
	id := s.RegistrarID
	if rec.Class == ClassEntity {
		return // the number belongs to the entity itself
	}
	values := []string{s.Registrar}
	if id != "" {
		values = append(values, id)
	}
	list.add(FieldRegistrar, values, fold)
	if id != "" {
		if f := &(*list)[len(*list)-1]; f.field == FieldRegistrar {
			f.keys = []string{id}
		}
	}
}

// addEvents adds the dates of a record, and the registrar's expiration from the
// registrar's entity.
func (list *facts) addEvents(rec *Record) {
	add := func(c *Common, action EventAction) {
		if e, ok := c.Event(action); ok && list.find(string(action)).field == "" {
			*list = append(*list, fact{field: string(action), values: []string{e.Raw}, keys: []string{fold(e.Raw)}, time: e.Time, day: e.DateOnly})
		}
	}
	for _, e := range rec.Events {
		if action, _ := ParseEventAction(e.Action); action != "" && action != EventLastUpdateDatabase {
			add(&rec.Common, action)
		}
	}
	if e := FindRole(rec.Entities, RoleRegistrar); e != nil {
		add(&e.Common, EventRegistrarExpiration)
	}
}

// addRange adds the fields that networks and blocks of AS numbers have.
func (list *facts) addRange(rec *Record, s *Summary) {
	list.add(FieldName, []string{rec.Name}, fold)
	list.add(FieldType, []string{rec.Type}, fold)
	list.add(FieldCountry, []string{rec.Country}, fold)
	list.add(FieldParent, []string{rec.ParentHandle}, fold)
	if s.Start != "" || s.End != "" {
		list.add(FieldRange, []string{s.Start + " - " + s.End}, func(v string) string {
			if first, last, ok := rec.AddressRange(); ok {
				return first.String() + " - " + last.String()
			}
			return fold(v)
		})
	}
	var origins []string
	for _, n := range rec.OriginAutnums {
		origins = append(origins, strconv.FormatUint(uint64(n), 10))
	}
	list.add(FieldOrigins, origins, fold)
}

// addNames adds the fields that domains and nameservers have.
func (list *facts) addNames(rec *Record) {
	var names, addresses []string
	for i := range rec.Nameservers {
		ns := &rec.Nameservers[i]
		name := hostName(ns.LDHName, ns.UnicodeName)
		names = append(names, name)
		for _, a := range slices.Concat(ns.V4, ns.V6) {
			addresses = append(addresses, strings.TrimSpace(name+" "+addressKey(a)))
		}
	}
	for _, a := range slices.Concat(rec.V4, rec.V6) {
		addresses = append(addresses, addressKey(a))
	}
	list.add(FieldNameservers, names, fold)
	list.add(FieldAddresses, addresses, fold)

	switch rec.SecureDNS.Signed() {
	case TriYes:
		list.add(FieldDNSSEC, []string{"signed"}, fold)
	case TriNo:
		list.add(FieldDNSSEC, []string{"unsigned"}, fold)
	}
	if rec.SecureDNS != nil {
		var ds, keys []string
		for _, d := range rec.SecureDNS.DS {
			ds = append(ds, zoneLine(hexKey(d.Digest), d.KeyTag, d.Algorithm, d.DigestType))
		}
		for _, k := range rec.SecureDNS.Keys {
			keys = append(keys, zoneLine(base64Key(k.PublicKey), k.Flags, k.Protocol, k.Algorithm))
		}
		list.add(FieldDS, ds, identity)
		list.add(FieldKeys, keys, identity)
	}

	var variants []string
	for _, v := range rec.Variants {
		for _, n := range v.Names {
			variants = append(variants, hostName(n.LDHName, n.UnicodeName))
		}
	}
	list.add(FieldVariants, variants, fold)
}

// addContacts adds the contacts by role. The registrar and abuse contacts are fields of
// their own.
func (list *facts) addContacts(entities []Entity) {
	byRole := make(map[string][]string)
	var roles []string
	for i := range entities {
		e := &entities[i]
		values := contactValues(&e.Card, e.Handle)
		for _, role := range e.Roles {
			parsed, _ := ParseRole(role)
			if parsed == "" || parsed == RoleRegistrar || parsed == RoleAbuse {
				continue
			}
			r := string(parsed)
			if byRole[r] == nil {
				roles = append(roles, r)
			}
			byRole[r] = append(byRole[r], values...)
		}
	}
	for _, role := range roles {
		list.add(role, byRole[role], contactKey)
	}
}

// contactValues returns the names and addresses of a contact, or the handle if the contact has
// neither.
func contactValues(card *Card, handle string) []string {
	c := card.Contact()
	values := []string{c.Name, c.Org}
	for _, a := range c.Addresses {
		values = append(values, strings.Join(append(slices.Clone(a.Lines), cmp.Or(a.CountryCode, a.Country)), ", "))
	}
	values = append(values, c.Emails...)
	for _, p := range c.Phones {
		values = append(values, p.String())
	}
	values = append(values, c.ContactURIs...)
	values = slices.DeleteFunc(values, func(v string) bool { return strings.Trim(v, ", ") == "" })
	if len(values) == 0 && handle != "" {
		return []string{handle}
	}
	return values
}

// The following functions return equal forms if and only if the values are equivalent.

func identity(v string) string { return v }

// fold returns v without differences of case or in the amount of white space.
func fold(v string) string { return strings.ToLower(strings.Join(strings.Fields(v), " ")) }

// contactKey is like fold, but also ignores the punctuation of phone numbers.
func contactKey(v string) string {
	digits := strings.Map(func(r rune) rune {
		switch r {
		case ' ', '-', '.', '(', ')', '/', '\u00a0':
			return -1
		}
		return r
	}, v)
	if number := strings.TrimPrefix(digits, "+"); number != "" && strings.Trim(number, "0123456789") == "" {
		return digits
	}
	return fold(v)
}

// hostName returns the A-label form of a name.
func hostName(ldh, unicode string) string {
	name := dnsname.Display(cmp.Or(ldh, unicode))
	if ascii, err := dnsname.ToASCII(name); err == nil {
		return ascii
	}
	return name
}

func addressKey(v string) string {
	v = strings.TrimSpace(v)
	if a, err := netip.ParseAddr(v); err == nil {
		return a.String()
	}
	return v
}

// zoneLine returns DNSSEC data as in a zone file; an absent number is "-".
func zoneLine(data string, numbers ...*uint32) string {
	var b strings.Builder
	for _, n := range numbers {
		if n == nil {
			b.WriteString("- ")
			continue
		}
		b.WriteString(strconv.FormatUint(uint64(*n), 10) + " ")
	}
	return strings.TrimSpace(b.String() + data)
}

// hexKey returns a digest in upper case without white space.
func hexKey(v string) string {
	v = strings.Join(strings.Fields(v), "")
	if data, err := hex.DecodeString(v); err == nil {
		return strings.ToUpper(hex.EncodeToString(data))
	}
	return v
}

// base64Key returns a key without white space and with padding.
func base64Key(v string) string {
	v = strings.Join(strings.Fields(v), "")
	if data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "=")); err == nil {
		return base64.StdEncoding.EncodeToString(data)
	}
	return v
}
