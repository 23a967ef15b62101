package rdap

import "github.com/go-json-experiment/json/jsontext"

func (r *reader) publicIDs(dst *[]PublicID) {
	r.duplicate(len(*dst) > 0)
	out := reuse(r, *dst)
	for l := r.list(); l.more(r); {
		r.token()
		var id PublicID
		for r.next() {
			switch r.member() {
			case "type":
				r.str(&id.Type)
			case "identifier":
				r.str(&id.Identifier)
			default:
				r.skip()
			}
		}
		if id != (PublicID{}) {
			out = append(out, id)
		}
	}
	if len(out) > 0 {
		*dst = out
	}
}

func (r *reader) events(dst *[]Event) {
	r.duplicate(len(*dst) > 0)
	out := reuse(r, *dst)
	for l := r.list(); l.more(r); {
		r.token()
		var e Event
		for r.next() {
			switch r.member() {
			case "eventAction":
				r.str(&e.Action)
			case "eventActor":
				r.str(&e.Actor)
			case "eventDate":
				r.str(&e.Raw)
				if !r.summaryOnly {
					r.date(&e)
				}
			default:
				r.skip()
			}
		}
		if cap(out) == 0 {
			out = make([]Event, 0, 4)
		}
		out = append(out, e)
	}
	if len(out) > 0 {
		*dst = out
	}
}

func (r *reader) date(e *Event) {
	var form dateForm
	switch e.Time, e.DateOnly, form = parseDate(e.Raw); form {
	case dateInvalid:
		r.discard(invalidDate)
	case dateNonstandard:
		r.warn(nonstandardDate)
	}
}

func (r *reader) links(dst *[]Link) {
	if r.summaryOnly {
		r.skip()
		return
	}
	r.duplicate(*dst != nil)
	var out []Link
	for l := r.list(); l.more(r); {
		r.token()
		var link Link
		for r.next() {
			switch r.member() {
			case "href":
				r.str(&link.Href)
			case "rel":
				r.str(&link.Rel)
			case "type":
				r.str(&link.Type)
			case "title":
				r.str(&link.Title)
			case "media":
				r.str(&link.Media)
			case "value":
				r.str(&link.Value)
			case "hreflang":
				if r.peek() == jsontext.KindString { // RFC 9083 section 4.2 permits a string
					var lang string
					r.str(&lang)
					link.Hreflang = append(link.Hreflang, lang)
					continue
				}
				r.strings(&link.Hreflang)
			default:
				r.skip()
			}
		}
		out = append(out, link)
	}
	if out != nil {
		*dst = out
	}
}

// notices reads notices and remarks.
func (r *reader) notices(dst *[]Notice) {
	if r.summaryOnly {
		r.skip()
		return
	}
	r.duplicate(*dst != nil)
	var out []Notice
	for l := r.list(); l.more(r); {
		n := r.notice()
		out = append(out, n)
		if typ := n.Truncation(); typ != "" && len(r.truncations) < maxProblems {
			path := r.path()
			r.truncations = append(r.truncations, Truncation{Path: path, Type: typ, InBrief: isWithin(path) && n.isBrief(), Notice: n})
		}
	}
	if out != nil {
		*dst = out
	}
}

// notice reads the next object.
func (r *reader) notice() Notice {
	r.token()
	var n Notice
	for r.next() {
		switch r.member() {
		case "title":
			r.str(&n.Title)
		case "type":
			r.str(&n.Type)
		case "lang":
			r.str(&n.Lang)
		case "description":
			r.strings(&n.Description)
		case "links":
			r.links(&n.Links)
		default:
			r.skip()
		}
	}
	return n
}

func (r *reader) nameservers(dst *[]Nameserver) {
	r.duplicate(len(*dst) > 0)
	out := reuse(r, *dst)
	for l := r.list().charging(costEntity); l.more(r); {
		r.token()
		if cap(out) == 0 {
			out = make([]Nameserver, 0, 4)
		}
		out = append(out, Nameserver{})
		ns := &out[len(out)-1]
		for r.next() {
			switch name := r.member(); {
			case name == "ldhName":
				r.str(&ns.LDHName)
			case name == "unicodeName":
				r.str(&ns.UnicodeName)
			case r.summaryOnly:
				r.skip()
			case name == "ipAddresses":
				r.addresses(&ns.V4, &ns.V6)
			case r.common(name, &ns.Common):
			default:
				r.skip()
			}
		}
		r.unicodeName(ns.LDHName, &ns.UnicodeName)
	}
	if len(out) > 0 {
		*dst = out
	}
}

// addresses reads the ipAddresses of a nameserver.
func (r *reader) addresses(v4, v6 *[]string) {
	if !r.enterObject() {
		return
	}
	for r.next() {
		switch r.member() {
		case "v4":
			r.strings(v4)
		case "v6":
			r.strings(v6)
		default:
			r.skip()
		}
	}
}

func (r *reader) secureDNS(dst **SecureDNS) {
	if !r.enterObject() {
		return
	}
	r.duplicate(*dst != nil)
	s := r.newSecureDNS()
	for r.next() {
		switch r.member() {
		case "zoneSigned":
			r.tri(&s.ZoneSigned)
		case "delegationSigned":
			r.tri(&s.DelegationSigned)
		case "maxSigLife":
			r.number(&s.MaxSigLife)
		case "dsData":
			r.dsData(&s.DS)
		case "keyData":
			r.keyData(&s.Keys)
		default:
			r.skip()
		}
	}
	*dst = s
}

// newSecureDNS returns an empty SecureDNS. In summary mode it reuses memory.
func (r *reader) newSecureDNS() *SecureDNS {
	if !r.summaryOnly {
		return new(SecureDNS)
	}
	r.dnssec = SecureDNS{DS: r.dnssec.DS[:0], Keys: r.dnssec.Keys[:0]}
	return &r.dnssec
}

func (r *reader) dsData(dst *[]DSData) {
	for l := r.list(); l.more(r); {
		r.token()
		var d DSData
		for r.next() {
			switch name := r.member(); {
			case r.summaryOnly:
				r.skip()
			case name == "keyTag":
				r.number(&d.KeyTag)
			case name == "algorithm":
				r.number(&d.Algorithm)
			case name == "digestType":
				r.number(&d.DigestType)
			case name == "digest":
				r.str(&d.Digest)
			case name == "events":
				r.events(&d.Events)
			default:
				r.skip()
			}
		}
		*dst = append(*dst, d)
	}
}

func (r *reader) keyData(dst *[]KeyData) {
	for l := r.list(); l.more(r); {
		r.token()
		var k KeyData
		for r.next() {
			switch name := r.member(); {
			case r.summaryOnly:
				r.skip()
			case name == "flags":
				r.number(&k.Flags)
			case name == "protocol":
				r.number(&k.Protocol)
			case name == "algorithm":
				r.number(&k.Algorithm)
			case name == "publicKey":
				r.str(&k.PublicKey)
			case name == "events":
				r.events(&k.Events)
			default:
				r.skip()
			}
		}
		*dst = append(*dst, k)
	}
}

func (r *reader) variants(dst *[]Variant) {
	r.duplicate(*dst != nil)
	var out []Variant
	for l := r.list(); l.more(r); {
		r.token()
		var v Variant
		for r.next() {
			switch r.member() {
			case "relation", "relations": // the plural is a common error
				r.strings(&v.Relations)
			case "idnTable":
				r.str(&v.IDNTable)
			case "variantNames":
				r.variantNames(&v.Names)
			default:
				r.skip()
			}
		}
		out = append(out, v)
	}
	if out != nil {
		*dst = out
	}
}

func (r *reader) variantNames(dst *[]VariantName) {
	for l := r.list(); l.more(r); {
		r.token()
		var n VariantName
		for r.next() {
			switch r.member() {
			case "ldhName":
				r.str(&n.LDHName)
			case "unicodeName":
				r.str(&n.UnicodeName)
			default:
				r.skip()
			}
		}
		r.unicodeName(n.LDHName, &n.UnicodeName)
		*dst = append(*dst, n)
	}
}

func (r *reader) redacted(dst *[]Redaction) {
	r.duplicate(*dst != nil)
	var out []Redaction
	for l := r.list(); l.more(r); {
		r.token()
		red := Redaction{}
		for r.next() {
			switch r.member() {
			case "name":
				red.Name = r.typeOrDescription()
			case "reason":
				red.Reason = r.typeOrDescription()
			case "method":
				r.str(&red.Method)
			case "prePath":
				r.str(&red.PrePath)
			case "postPath":
				r.str(&red.PostPath)
			case "replacementPath":
				r.str(&red.ReplacementPath)
			case "pathLang":
				r.str(&red.PathLang)
			default:
				r.skip()
			}
		}
		if red.Method == "" {
			red.Method = "removal" // RFC 9537 section 4.2 defines this default
		}
		if red.PathLang == "" {
			red.PathLang = "jsonpath"
		}
		out = append(out, red)
	}
	if out != nil {
		*dst = out
	}
}

// typeOrDescription reads {"type": ...} or {"description": ...} (RFC 9537 section 4.2),
// or a string in its place.
func (r *reader) typeOrDescription() string {
	var typ, description string
	if r.peek() == jsontext.KindString {
		r.str(&description)
		r.warn("expected an object, found a string")
		return description
	}
	if !r.enterObject() {
		return ""
	}
	for r.next() {
		switch r.member() {
		case "type":
			r.str(&typ)
		case "description":
			r.str(&description)
		default:
			r.skip()
		}
	}
	if typ != "" {
		return typ
	}
	return description
}
