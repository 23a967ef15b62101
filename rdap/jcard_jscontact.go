package rdap

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// jsContact reads the properties that a JSContact card (RFC 9553) shares with a jCard.
func (r *reader) jsContact(c *Contact) {
	if !r.enterObject() {
		return
	}
	for r.next() {
		switch r.name() {
		case "@type", "version", "@version", "uid", "created", "updated":
			r.skip()
		case "kind":
			r.str(&c.Kind)
		case "language":
			var lang string
			r.str(&lang)
			addNonEmpty(&c.Langs, lang)
		case "preferredLanguages":
			r.each(func() { addNonEmpty(&c.Langs, r.jsName("language", "")) })
		case "name":
			c.Name = r.jsName("full", " ")
		case "organizations":
			r.each(func() { first(&c.Org, r.jsName("name", ", ")) })
		case "titles":
			r.each(func() { r.jsTitle(c) })
		case "emails":
			r.each(func() { addNonEmpty(&c.Emails, r.jsName("address", "")) })
		case "links":
			r.each(func() { r.jsLink(c) })
		case "phones":
			r.each(func() { r.jsPhone(c) })
		case "addresses":
			r.each(func() { r.jsAddress(c) })
		default:
			r.skip()
			c.Others++
		}
	}
}

func first(dst *string, s string) {
	if *dst == "" {
		*dst = s
	}
}

// each calls read for each value of a JSContact map, in the order sent.
func (r *reader) each(read func()) {
	if !r.enterObject() {
		return
	}
	for r.next() {
		r.name()
		read()
	}
}

// jsTitle reads a title or role (RFC 9553 section 2.2.5).
func (r *reader) jsTitle(c *Contact) {
	kind, title := r.jsKind("name", ", ")
	if kind == "role" {
		first(&c.Role, title)
	} else {
		first(&c.Title, title)
	}
}

// jsLink reads a link, which may be a contact URI (RFC 9553 section 2.6.3) as in a
// jCard.
func (r *reader) jsLink(c *Contact) {
	kind, uri := r.jsKind("uri", "")
	if kind == "contact" {
		addNonEmpty(&c.ContactURIs, uri)
	} else {
		addNonEmpty(&c.URLs, uri)
	}
}

// jsName returns a member of the next object, or if it is absent, its joined components or
// units.
func (r *reader) jsName(member, separator string) string {
	_, name := r.jsKind(member, separator)
	return name
}

// jsKind is like jsName and also returns the object's kind.
func (r *reader) jsKind(member, separator string) (kind, text string) {
	if !r.enterObject() {
		return "", ""
	}
	var whole string
	var parts []string
	for r.next() {
		switch name := r.name(); name {
		case member:
			r.str(&whole)
		case "kind":
			r.str(&kind)
		case "components", "units":
			for l := r.list(); l.more(r); {
				_, value := r.jsComponent()
				addNonEmpty(&parts, value)
			}
		default:
			r.skip()
		}
	}
	switch {
	case member == "full" && whole != "":
		return kind, whole
	case whole != "":
		parts = append([]string{whole}, parts...)
	}
	return kind, strings.Join(parts, separator)
}

// jsComponent reads {"kind": ..., "value": ...} or {"name": ...}.
func (r *reader) jsComponent() (kind, value string) {
	r.token()
	for r.next() {
		switch r.name() {
		case "kind", "type":
			r.str(&kind)
		case "value", "name":
			r.str(&value)
		default:
			r.skip()
		}
	}
	return kind, value
}

func (r *reader) jsPhone(c *Contact) {
	if !r.enterObject() {
		return
	}
	var number string
	var types []string
	for r.next() {
		switch r.name() {
		case "number":
			r.str(&number)
		case "features", "contexts":
			if !r.enterObject() {
				continue
			}
			for r.next() {
				name := strings.ToLower(r.name())
				if r.peek() == jsontext.KindTrue {
					types = append(types, name)
				}
				r.skip()
			}
		default:
			r.skip()
		}
	}
	c.addPhone(number, "", types)
}

func (r *reader) jsAddress(c *Contact) {
	if !r.enterObject() {
		return
	}
	var a Address
	var full string
	for r.next() {
		switch r.name() {
		case "full":
			r.str(&full)
		case "countryCode":
			r.str(&a.CountryCode)
		case "components":
			for l := r.list(); l.more(r); {
				switch kind, value := r.jsComponent(); kind {
				case "separator":
				case "country":
					a.Country = value
				default:
					a.addLines(value)
				}
			}
		default:
			r.skip()
		}
	}
	if len(a.Lines) == 0 {
		a.addLines(full)
	}
	if !a.empty() {
		c.Addresses = append(c.Addresses, a)
	}
}
