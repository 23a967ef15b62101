package client

import (
	"net/url"
	"strings"
)

// A Card is the contact data of an entity as the server sent them: a jCard
// (RFC 7095), a JSContact card (RFC 9553) or both. The zero Card is empty.
type Card struct {
	vcard    string // JSON text of vcardArray
	jscard   string // JSON text of jscard
	vcardAt  int    // where in the answer they begin
	jscardAt int
}

func (c *Card) readVCard(r *reader) {
	c.vcard = r.value()
	c.vcardAt = r.pos - len(c.vcard)
}

func (c *Card) readJSCard(r *reader) {
	c.jscard = r.value()
	c.jscardAt = r.pos - len(c.jscard)
}

// A Contact is the readable part of a [Card]. Fields that the card does not
// have, or has empty because they are redacted, are empty.
type Contact struct {
	Name        string // fn; else put together from n
	Kind        string // "individual", "org", "group" and others
	Org         string // organisation and its units, comma between
	Title       string
	Role        string
	Emails      []string
	Phones      []Phone
	Addresses   []Address
	ContactURIs []string // where to reach the contact otherwise: mailto:, https: (RFC 8605)
	URLs        []string
	Langs       []string // language tags
	Others      int      // properties that are not shown here

	// Problems is what was wrong with the card. Paths begin at the entity:
	// "vcardArray[1][3]".
	Problems []Problem
}

// A Phone is a telephone number.
type Phone struct {
	Number string   // as in the card, without "tel:"
	Ext    string   // extension
	Types  []string // "voice", "fax", "work" and others, in lower case
}

// String returns the number and its extension.
func (p Phone) String() string {
	if p.Ext == "" {
		return p.Number
	}
	return p.Number + " ext. " + p.Ext
}

// Fax reports whether the number is for fax and not for voice.
func (p Phone) Fax() bool { return containsFold(p.Types, "fax") && !containsFold(p.Types, "voice") }

// An Address is a postal address.
type Address struct {
	Lines       []string // from the post office box or street to the postal code, without empty ones
	Country     string   // its name; some servers put the code here
	CountryCode string   // two letters (RFC 8605 parameter cc)
}

// IsZero reports whether the server sent no card.
func (c Card) IsZero() bool { return c == Card{} }

// Contact decodes the card. A property that cannot be read is skipped and
// stands in Problems; a card that is no card at all gives an empty Contact with
// a problem. JSContact is preferred where there are both. Each call decodes
// anew.
func (c Card) Contact() Contact {
	var out Contact
	c.decode(&out, func(text string, _ int, base string) *reader { return newReader([]byte(text), base) })
	return out
}

// decode reads the card into out. The readers that it gets from open stand at
// the card's text, which is at the given place of the answer.
func (c *Card) decode(out *Contact, open func(text string, at int, base string) *reader) {
	if c.jscard != "" {
		r := open(c.jscard, c.jscardAt, "jscard")
		r.jsContact(out)
		out.Problems = r.problems
	}
	if c.vcard != "" && out.empty() {
		r := open(c.vcard, c.vcardAt, "vcardArray")
		r.jCard(out)
		out.Problems = append(out.Problems, r.problems...)
	}
}

// reset empties c and keeps the memory of the lists that a Summary needs.
func (c *Contact) reset() {
	*c = Contact{Emails: c.Emails[:0], Phones: c.Phones[:0], ContactURIs: c.ContactURIs[:0]}
}

func (c *Contact) empty() bool {
	return c.Name == "" && c.Org == "" && c.Title == "" && c.Role == "" &&
		len(c.Emails)+len(c.Phones)+len(c.Addresses)+len(c.ContactURIs)+len(c.URLs) == 0
}

// addPhone takes a number as text or as a tel URI (RFC 3966).
func (c *Contact) addPhone(text, ext string, types []string) {
	text = strings.TrimSpace(text)
	p := Phone{Number: text, Ext: ext, Types: types}
	if len(text) >= 4 && strings.EqualFold(text[:4], "tel:") {
		number, params, _ := strings.Cut(text[4:], ";")
		p.Number = unescapeURI(strings.TrimSpace(number))
		for param := range strings.SplitSeq(params, ";") {
			if k, v, _ := strings.Cut(param, "="); strings.EqualFold(k, "ext") && v != "" {
				p.Ext = unescapeURI(v)
			}
		}
	}
	if p.Number != "" {
		c.Phones = append(c.Phones, p)
	}
}

func (a *Address) empty() bool {
	return len(a.Lines) == 0 && a.Country == "" && a.CountryCode == ""
}

// addLines splits text at line breaks, which some servers send as a backslash
// and an n.
func (a *Address) addLines(text string) {
	if strings.Contains(text, `\n`) {
		text = strings.ReplaceAll(text, `\n`, "\n")
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			a.Lines = append(a.Lines, line)
		}
	}
}

// mailAddress returns the address of a mailto URI, empty for other URIs.
func mailAddress(uri string) string {
	const scheme = "mailto:"
	if len(uri) < len(scheme) || !strings.EqualFold(uri[:len(scheme)], scheme) {
		return ""
	}
	address, _, _ := strings.Cut(uri[len(scheme):], "?")
	return strings.TrimSpace(unescapeURI(address))
}

func unescapeURI(s string) string {
	if out, err := url.PathUnescape(s); err == nil {
		return out
	}
	return s
}

func addNonEmpty(dst *[]string, s string) {
	if s = strings.TrimSpace(s); s != "" {
		*dst = append(*dst, s)
	}
}
