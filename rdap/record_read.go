package rdap

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/idna"

	"github.com/rdapq/rdapq/internal/dnsname"
	"github.com/rdapq/rdapq/internal/safetext"
	"github.com/rdapq/rdapq/rdap/internal/jsonscan"
)

// Read decodes an RDAP response: an object, search results, help or an error (RFC 9083). It
// accepts common deviations, such as a byte-order mark, bytes that are not UTF-8, and null
// anywhere. It accepts numbers for strings and strings for numbers, and a single value for an
// array. Of duplicate members, the last one counts. [Record.Problems] lists the defects. The
// error is a [*FormatError] if raw is not a JSON object or nests more than 100 levels deep.
// Read does not retain raw.
func Read(raw []byte) (*Record, error) {
	doc, err := open(raw)
	if err != nil {
		return nil, err
	}
	return doc.record(), nil
}

// open locates the object in a response. It validates the bytes only once.
func open(raw []byte) (*document, error) {
	doc, err := openDocument(raw)
	if err != nil {
		return nil, err
	}
	return &doc, nil
}

// A document is a readable response.
type document struct {
	sent     []byte          // response as sent, without byte-order mark
	object   []byte          // the object in sent; it is valid JSON, nested at most jsonscan.MaxNesting levels
	utf8     bool            // object is known to be valid UTF-8
	literal  bool            // the strings of object are also known to have no escapes
	long     []jsonscan.Span // long containers of object, see source
	followed bool            // other data follows the object
	warnings []string        // descriptions of corrections
}

// record decodes the document.
func (d *document) record() *Record {
	walk := newReader(bytes.Clone(d.object), "") // cards refer to this copy
	rec := new(Record)
	walk.record(rec)
	rec.Problems = d.problems(walk.problems)
	rec.Truncations = walk.truncations
	return rec
}

// openDocument locates the object in a response.
func openDocument(raw []byte) (document, *FormatError) {
	raw = trimBOM(raw)
	if jsonscan.TooDeep(raw) {
		return document{}, errTooDeep()
	}
	object, followed, err := firstObject(raw)
	if err == nil {
		return document{sent: raw, object: object, followed: followed}, nil
	}
	// Some servers send line breaks and tabs within strings, which is not valid JSON.
	if fixed, warnings := clean(raw); len(warnings) > 0 {
		if object, followed, again := firstObject(fixed); again == nil {
			return document{sent: raw, object: object, followed: followed, warnings: warnings}, nil
		}
	}
	return document{}, err
}

func firstObject(raw []byte) (object []byte, followed bool, err *FormatError) {
	value, followed, broken := firstValue(raw)
	if broken != nil {
		return nil, false, syntaxError(broken)
	}
	if k := jsontext.Value(value).Kind(); k != jsontext.KindBeginObject {
		return nil, false, formatError(nil, "%s", expected("an object", k))
	}
	return value, followed, nil
}

// problems adds the defects of the whole document to the defects of its members.
func (d *document) problems(list []Problem) []Problem {
	if d.followed {
		list = append(list, Problem{Message: "extra data after the JSON object"})
	}
	for _, w := range d.warnings {
		list = append(list, Problem{Message: w})
	}
	return list[:min(len(list), maxProblems)]
}

// record reads the next object.
func (r *reader) record(rec *Record) {
	if !r.enterObject() {
		return
	}
	var m classHints
	var code *uint32
	var problemStatus *uint32 // status of RFC 9457 section 3.1.2
	var cidrs []cidr
	whole := true // no item of cidrs was discarded
	for r.next() {
		name := r.member()
		m.observe(name, r.peek())
		switch name {
		case "objectClassName":
			r.str(&m.objectClass)
		case "status":
			if r.peek() == jsontext.KindNumber {
				r.number(&problemStatus)
				continue
			}
			r.strings(&rec.Status)
		case "name":
			r.str(&rec.Name)
		case "type":
			r.str(&rec.Type)
		case "country":
			r.str(&rec.Country)
		case "ldhName":
			r.str(&rec.LDHName)
		case "unicodeName":
			r.str(&rec.UnicodeName)
		case "nameservers":
			r.nameservers(&rec.Nameservers)
		case "secureDNS":
			r.secureDNS(&rec.SecureDNS)
		case "startAddress":
			r.rangeEnd(&rec.StartAddress)
		case "endAddress":
			r.rangeEnd(&rec.EndAddress)
		case "ipVersion":
			r.str(&rec.IPVersion)
		case "parentHandle":
			r.str(&rec.ParentHandle)
		case "cidr0_cidrs":
			cidrs, whole = r.cidrs()
		case "startAutnum":
			r.number(&rec.StartAutnum)
		case "endAutnum":
			r.number(&rec.EndAutnum)
		case "roles":
			r.strings(&rec.Roles)
		case "vcardArray":
			rec.read(r, &rec.vcard)
		case "jscard":
			rec.read(r, &rec.jscard)
		case "contact_URI":
			rec.read(r, &rec.uri)
		case "title":
			r.str(&rec.Title)
		case "description":
			r.strings(&rec.Description)
		case "detail":
			r.appendString(&rec.Description)
		case "errorCode":
			r.number(&code)
		default:
			switch {
			case r.common(name, &rec.Common):
			case r.summaryOnly || !r.recordRest(name, rec):
				r.skip()
			}
		}
	}
	switch {
	case code != nil:
		rec.ErrorCode = int(*code)
	case problemStatus != nil && m.objectClass == "":
		rec.ErrorCode = int(*problemStatus)
	}
	if rec.Class = m.class(); m.objectClass == "" && (m.memberClass != "" || m.hasLDHName) && rec.Class != "" {
		r.warn("missing objectClassName")
	}
	r.unicodeName(rec.LDHName, &rec.UnicodeName)
	r.fillCIDRs(rec, cidrs, whole)
}

// appendString reads a string where RFC 9457 has one and RFC 9083 has an array.
func (r *reader) appendString(dst *[]string) {
	var s string
	r.str(&s)
	if s != "" {
		*dst = append(*dst, s)
	}
}

// recordRest reads a member that a Summary does not need. It returns false if the name is
// unknown.
func (r *reader) recordRest(name string, rec *Record) bool {
	switch name {
	case "ipAddresses":
		r.addresses(&rec.V4, &rec.V6)
	case "arin_originas0_originautnums":
		r.numbers(&rec.OriginAutnums)
	case "variants":
		r.variants(&rec.Variants)
	case "network":
		if r.peek() != jsontext.KindBeginObject {
			r.skipInvalid("an object")
			return true
		}
		rec.Network = new(Record)
		r.record(rec.Network)
	case "asEventActor":
		r.events(&rec.AsEventActor)
	case "networks":
		r.records(&rec.Networks)
	case "autnums":
		r.records(&rec.Autnums)
	case "notices":
		r.notices(&rec.Notices)
	case "redacted":
		r.redacted(&rec.Redacted)
	case "rdapConformance":
		r.strings(&rec.Conformance)
	default:
		if !strings.HasSuffix(name, "SearchResults") {
			return false
		}
		r.records(&rec.Results)
	}
	return true
}

func (r *reader) records(dst *[]Record) {
	r.duplicate(*dst != nil)
	var out []Record
	for l := r.list().charging(costRecord); l.more(r); {
		out = append(out, Record{})
		r.record(&out[len(out)-1])
	}
	if out != nil {
		*dst = out
	}
}

// common reads a member of Common. It returns false for any other name.
func (r *reader) common(name string, c *Common) bool {
	switch name {
	case "handle":
		r.str(&c.Handle)
	case "status":
		r.strings(&c.Status)
	case "entities":
		r.entities(&c.Entities)
	case "events":
		r.events(&c.Events)
	case "links":
		r.links(&c.Links)
	case "remarks":
		r.notices(&c.Remarks)
	case "publicIds":
		r.publicIDs(&c.PublicIDs)
	case "port43":
		r.str(&c.Port43)
	case "lang":
		r.str(&c.Lang)
	default:
		return false
	}
	return true
}

func (r *reader) entities(dst *[]Entity) {
	r.duplicate(len(*dst) > 0)
	out := reuse(r, *dst)
	for l := r.list().charging(costEntity); l.more(r); {
		if len(out) < cap(out) { // reuse the memory of the previous response
			out = out[:len(out)+1]
			out[len(out)-1].reset()
		} else {
			out = append(out, Entity{})
		}
		r.entity(&out[len(out)-1])
	}
	if len(out) > 0 {
		*dst = out
	}
}

func (r *reader) entity(e *Entity) {
	if !r.enterObject() {
		return
	}
	for r.next() {
		switch name := r.member(); name {
		case "roles":
			r.strings(&e.Roles)
		case "vcardArray":
			e.read(r, &e.vcard)
		case "jscard":
			e.read(r, &e.jscard)
		case "contact_URI":
			e.read(r, &e.uri)
		case "handle":
			r.str(&e.Handle)
		case "publicIds":
			r.publicIDs(&e.PublicIDs)
		case "entities":
			r.entities(&e.Entities)
		default:
			switch {
			case r.summaryOnly:
				r.skip()
			case r.common(name, &e.Common):
			case name == "asEventActor":
				r.events(&e.AsEventActor)
			case name == "networks":
				r.records(&e.Networks)
			case name == "autnums":
				r.records(&e.Autnums)
			default:
				r.skip()
			}
		}
	}
}

// unicodeName discards a unicodeName that is not the Unicode form of the ldhName, because
// displaying it would show another name. Without an ldhName it accepts any unicodeName.
func (r *reader) unicodeName(ldh string, unicode *string) {
	if *unicode == "" || ldh == "" || strings.EqualFold(*unicode, ldh) || IsUnicodeForm(*unicode, ldh) {
		return
	}
	r.discard("unicodeName " + safetext.Quote(*unicode) + " is not the Unicode form of ldhName " + safetext.Quote(ldh))
	*unicode = ""
}

// IsUnicodeForm reports whether unicode is the Unicode form of the IDN ldh. It ignores
// case, final dots and the full stops of other scripts.
func IsUnicodeForm(unicode, ldh string) bool {
	unicode, ldh = trimName(unicode), trimName(ldh)
	a, err := dnsname.ToASCII(unicode)
	if err != nil {
		return false
	}
	b, err := dnsname.ToASCII(ldh)
	if err != nil {
		return false
	}
	if a == b {
		return true
	}
	// Current IDNA rejects or maps some registered labels.
	decoded, err := idna.Punycode.ToUnicode(b)
	return err == nil && decoded == strings.ToLower(unicode)
}

func trimName(name string) string {
	name = dnsname.FullStops.Replace(strings.TrimSpace(name))
	return strings.TrimSuffix(name, ".")
}
