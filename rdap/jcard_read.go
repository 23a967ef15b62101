package rdap

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// params holds the relevant parameters of a property.
type params struct {
	types          []string
	cc, label, ext string
	language       string // language of the value
	altid          string // links properties with the same content in other languages (RFC 6350 section 5.4)
	abuse          bool   // the types mark the property for abuse reports, as RIPE's cards do
}

// property reads [name, parameters, type, value, ...].
func (r *reader) property(c *Contact) {
	if r.peek() != jsontext.KindBeginArray {
		k := r.peek()
		r.skip()
		r.discard(expected("a property", k))
		return
	}
	r.token()
	if !r.next() {
		r.discard("property has no elements")
		return
	}
	if r.peek() != jsontext.KindString {
		r.abandon("property has no name")
		return
	}
	name := strings.ToLower(r.unquote(r.value()))
	p := params{types: reuse(r, r.types)}
	if !r.next() {
		r.discard("property has only one element")
		return
	}
	switch r.peek() {
	case jsontext.KindBeginObject:
		r.params(&p)
		r.types = p.types
	case jsontext.KindNull:
		r.skip()
		r.warn("expected parameters, found null")
	case jsontext.KindBeginArray: // PHP encodes an empty object as an array
		r.skip()
		r.warn("expected parameters, found an array")
	default:
		r.abandon("property has no parameters")
		return
	}
	if !r.next() {
		r.discard("property has only two elements")
		return
	}
	if r.peek() != jsontext.KindString {
		r.abandon("property has no type")
		return
	}
	r.skip()
	if !r.next() {
		r.discard("property has only three elements")
		return
	}
	r.propertyValue(c, name, &p)
}

// abandon skips the rest of the current property and reports why.
func (r *reader) abandon(why string) {
	for {
		r.skip()
		if !r.next() {
			break
		}
	}
	r.discard(why)
}

func (r *reader) params(p *params) {
	r.token()
	for r.next() {
		switch name := r.name(); {
		case strings.EqualFold(name, "type"):
			if r.peek() == jsontext.KindString {
				var t string
				r.str(&t)
				addNonEmpty(&p.types, strings.ToLower(t))
				continue
			}
			r.strings(&p.types)
			for i, t := range p.types {
				p.types[i] = strings.ToLower(t)
			}
		case strings.EqualFold(name, "cc"):
			r.str(&p.cc)
		case strings.EqualFold(name, "label"):
			r.label(&p.label)
		case strings.EqualFold(name, "ext"):
			r.str(&p.ext)
		case r.languages != nil && strings.EqualFold(name, "language"):
			r.str(&p.language)
		case r.languages != nil && strings.EqualFold(name, "altid"):
			r.str(&p.altid)
		default:
			r.skip()
		}
	}
}

// label reads the label of an address, which may be an array of lines.
func (r *reader) label(dst *string) {
	if r.peek() != jsontext.KindBeginArray {
		r.str(dst)
		return
	}
	var lines []string
	r.strings(&lines)
	*dst = strings.Join(lines, "\n")
}

// propertyValue reads the remaining values of the property.
func (r *reader) propertyValue(c *Contact, name string, p *params) {
	if name == "adr" {
		r.address(c, p)
		r.skipRest()
		return
	}
	if !isShown(name) {
		r.skipValues()
		if name != "version" {
			c.Others++
		}
		return
	}
	if r.languages != nil && !r.languages.accept(c, name, p) {
		r.skipValues()
		return
	}
	for {
		r.oneValue(c, name, p)
		if !r.next() {
			return
		}
	}
}

// oneValue reads one value of a property that isShown accepts.
func (r *reader) oneValue(c *Contact, name string, p *params) {
	types := p.types
	p.abuse = name == "email" && containsFold(types, "abuse")
	pass := false
	if r.summaryOnly {
		// The only relevant type of a number is fax.
		pass = !inSummary(name) || name == "tel" && Phone{Types: types}.Fax()
		p.types = nil
	}
	if pass {
		r.skipText()
	} else if s, ok := r.component(", "); ok {
		c.add(name, strings.TrimSpace(s), p)
	}
	p.types = types
}

func (r *reader) address(c *Contact, p *params) {
	if r.summaryOnly {
		r.skipText()
		return
	}
	var a Address
	r.postal(&a, p)
	if !a.empty() && (r.languages == nil || !r.languages.replaceAddress(c, a, p)) {
		c.Addresses = append(c.Addresses, a)
	}
}

// skipRest skips the remaining values.
func (r *reader) skipRest() {
	for r.next() {
		r.skip()
	}
}

// skipValues skips the next value and the remaining values.
func (r *reader) skipValues() {
	r.skip()
	r.skipRest()
}

func isShown(name string) bool {
	switch name {
	case "fn", "n", "kind", "org", "title", "role", "email", "tel", "url", "lang",
		"contact-uri", "contact_uri":
		return true
	}
	return false
}

// inSummary reports whether a Summary needs the property.
func inSummary(name string) bool {
	switch name {
	case "fn", "n", "kind", "org", "email", "tel", "contact-uri", "contact_uri":
		return true
	}
	return false
}

// add adds one value of a property.
func (c *Contact) add(name, s string, p *params) {
	if s == "" {
		return
	}
	switch name {
	case "fn":
		c.Name = s
	case "n":
		if c.Name == "" {
			c.Name = s // fn overrides a name composed from n
		}
	case "kind":
		c.Kind = strings.ToLower(s)
	case "org":
		if c.Org == "" {
			c.Org = s
		}
	case "title":
		if c.Title == "" {
			c.Title = s
		}
	case "role":
		if c.Role == "" {
			c.Role = s
		}
	case "email":
		if address := mailAddress(s); address != "" {
			s = address
		}
		c.Emails = append(c.Emails, s)
		if p.abuse {
			first(&c.AbuseEmail, s)
		}
	case "tel":
		c.addPhone(s, p.ext, p.types)
	case "url":
		c.URLs = append(c.URLs, s)
	case "lang":
		c.Langs = append(c.Langs, s)
	case "contact-uri", "contact_uri":
		c.ContactURIs = append(c.ContactURIs, s)
	}
}

// component reads a string or an array of strings, which may be nested (RFC 7095
// section 3.3.1.3). It omits empty strings.
func (r *reader) component(separator string) (string, bool) {
	switch r.peek() {
	case jsontext.KindString:
		return r.unquote(r.value()), r.err == nil
	case jsontext.KindNumber:
		return r.value(), r.err == nil
	case jsontext.KindBeginArray:
		var parts []string
		r.token()
		for r.next() {
			if s, ok := r.component(separator); ok {
				addNonEmpty(&parts, s)
			}
		}
		return strings.Join(parts, separator), r.err == nil
	}
	r.skipInvalid("text")
	return "", false
}

// skipText skips a value that component would read, and records the same problems.
func (r *reader) skipText() {
	switch r.peek() {
	case jsontext.KindString, jsontext.KindNumber:
		r.skip()
	case jsontext.KindBeginArray:
		r.token()
		for r.next() {
			r.skipText()
		}
	default:
		r.skipInvalid("text")
	}
}

// postal reads the value of an adr property. The value is an array of post office box, extended
// address, street, locality, region, postal code and country (RFC 6350 section 6.3.1). Each is
// a string or an array. Servers also send plain text, or only a label parameter.
func (r *reader) postal(a *Address, p *params) {
	if r.peek() != jsontext.KindBeginArray {
		if s, ok := r.component("\n"); ok {
			a.addLines(s)
		}
	} else {
		r.token()
		for i := 0; r.next(); i++ {
			s, ok := r.component("\n")
			switch {
			case !ok:
			case i == 6:
				a.Country = strings.TrimSpace(s)
			default:
				a.addLines(s)
			}
		}
	}
	if len(a.Lines) == 0 {
		a.addLines(p.label)
	}
	a.CountryCode = strings.TrimSpace(p.cc)
}
