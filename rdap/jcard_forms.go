package rdap

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Messages for invalid forms of jCards that can be read nevertheless.
const (
	cardIsObject     = "jCard is an object, not an array"
	cardIsFlat       = "jCard properties are not in an array of their own"
	cardIsDeep       = "jCard properties are nested in one array too many"
	propertyIsObject = "property is an object, not an array"
)

// jCard reads ["vcard", [property, ...]] (RFC 7095 section 3.2) and the invalid forms
// that servers send.
func (r *reader) jCard(c *Contact) {
	r.cardStart = r.pos
	switch r.peek() {
	case jsontext.KindBeginObject:
		r.cardObject(c, cardIsObject)
	case jsontext.KindBeginArray:
		if r.beginsProperty() {
			r.form(cardIsFlat)
			r.property(c)
			return
		}
		r.card(c)
	default:
		r.skipInvalid("a jCard")
	}
}

// card reads the array of a jCard.
func (r *reader) card(c *Contact) {
	r.token()
	for first := true; r.next(); first = false {
		switch k := r.peek(); {
		case k == jsontext.KindString:
			if s := r.unquote(r.value()); !first || !strings.EqualFold(s, "vcard") {
				r.warn("jCard does not begin with \"vcard\" and an array")
			}
		case k == jsontext.KindBeginArray && r.beginsWith("vcard"):
			r.form(cardIsDeep)
			r.card(c)
		case k == jsontext.KindBeginArray && r.beginsProperty():
			r.form(cardIsFlat)
			r.property(c)
		case k == jsontext.KindBeginArray:
			r.properties(c)
		case k == jsontext.KindBeginObject:
			r.cardObject(c, cardIsObject)
		default:
			r.skipInvalid("an array of properties")
		}
	}
}

// properties reads an array of properties.
func (r *reader) properties(c *Contact) {
	r.token()
	for r.next() {
		switch r.peek() {
		case jsontext.KindBeginArray:
			if r.firstKind() == jsontext.KindBeginArray {
				r.form(cardIsDeep)
				r.properties(c)
				continue
			}
			r.property(c)
		case jsontext.KindBeginObject:
			r.cardObject(c, propertyIsObject)
		default:
			r.property(c)
		}
	}
}

// firstKind returns the kind of the first element of the next array, or the kind of the closing
// bracket if the array is empty.
func (r *reader) firstKind() jsontext.Kind {
	start := r.pos
	r.token()
	k := r.peek()
	r.pos = start
	return k
}

// beginsWith reports whether the first element of the next array is word.
func (r *reader) beginsWith(word string) bool {
	if r.firstKind() != jsontext.KindString {
		return false
	}
	start := r.pos
	r.token()
	is := strings.EqualFold(r.unquote(r.value()), word)
	r.pos = start
	return is
}

// beginsProperty reports whether the next array is a property: a name followed by
// parameters.
func (r *reader) beginsProperty() bool {
	if r.firstKind() != jsontext.KindString || r.beginsWith("vcard") {
		return false
	}
	start := r.pos
	r.token()
	r.skip()
	k := r.peek()
	if k == jsontext.KindBeginArray { // PHP encodes an empty object as an array
		k = r.firstKind()
	}
	r.pos = start
	switch k {
	case jsontext.KindBeginObject, jsontext.KindEndArray, jsontext.KindNull:
		return true
	}
	return false
}

// cardObject reads an object that represents one property, with name and value members,
// or several properties as its members. form describes the defect.
func (r *reader) cardObject(c *Contact, form string) {
	name, params, value, end := r.propertyObject()
	if value == 0 {
		r.membersOf(c, form)
		return
	}
	r.form(propertyIsObject)
	p := paramsOf(r)
	if params > 0 {
		r.pos = params
		r.params(&p)
		r.types = p.types
	}
	r.pos = value
	r.memberValue(c, name, &p)
	r.pos = end
}

// propertyObject locates the parts of {"name": ..., "parameters": {...}, "value": ...}
// and returns the end of the object. If the next object has another form, value is 0
// and the reader has not moved.
func (r *reader) propertyObject() (name string, params, value, end int) {
	start := r.pos
	r.token()
	for r.next() {
		switch member := r.name(); {
		case strings.EqualFold(member, "name") && r.peek() == jsontext.KindString:
			name = strings.ToLower(r.unquote(r.value()))
		case (strings.EqualFold(member, "params") || strings.EqualFold(member, "parameters")) && r.peek() == jsontext.KindBeginObject:
			params = r.skip()
		case strings.EqualFold(member, "value") || strings.EqualFold(member, "values"):
			value = r.skip()
		default:
			r.skip()
		}
	}
	end = r.pos
	if name == "" || value == 0 {
		r.pos = start
		return "", 0, 0, 0
	}
	return name, params, value, end
}

// membersOf reads an object such as {"fn": ..., "email": ...}.
func (r *reader) membersOf(c *Contact, form string) {
	if !r.hasProperties() {
		r.skip()
		r.discard("expected properties, found an object")
		return
	}
	r.form(form)
	r.token()
	for r.next() {
		p := paramsOf(r)
		r.memberValue(c, strings.ToLower(r.name()), &p)
	}
}

// hasProperties reports whether a member of the next object has the name of a property.
func (r *reader) hasProperties() bool {
	start, found := r.pos, false
	r.token()
	for r.next() {
		name := strings.ToLower(r.name())
		found = found || name == "adr" || isShown(name)
		r.skip()
	}
	r.pos = start
	return found
}

// form records an invalid form, once per card.
func (r *reader) form(message string) {
	for _, p := range r.problems {
		if p.Message == message {
			return
		}
	}
	here := r.pos
	r.pos = r.cardStart
	r.warnRow(message)
	r.pos = here
}

func paramsOf(r *reader) params { return params{types: reuse(r, r.types)} }

// memberValue reads the value of a property, or an array of its values.
func (r *reader) memberValue(c *Contact, name string, p *params) {
	switch {
	case name == "adr":
		r.address(c, p)
	case !isShown(name):
		if r.skip(); name != "version" {
			c.Others++
		}
	case r.peek() == jsontext.KindBeginArray && name != "n" && name != "org":
		r.token()
		for r.next() {
			r.oneValue(c, name, p)
		}
	default:
		r.oneValue(c, name, p)
	}
}
