package rdap

import (
	"net/url"
	"slices"
	"strings"
)

// A Card is the contact data of an entity as sent: a jCard (RFC 7095), a JSContact card
// (RFC 9553) or both. The zero Card is empty.
type Card struct {
	vcard  int     // offset of vcardArray in the response; 0 if absent
	jscard int     // offset of jscard in the response; 0 if absent
	uri    int     // offset of contact_URI, which some servers send in addition to the card
	source *source // response that has the card; nil while reading a Summary
}

// read records the offset of the next value.
func (c *Card) read(r *reader, at *int) {
	start := r.skip()
	if start == len(r.raw) || r.raw[start] == 'n' { // the value is absent or null
		return
	}
	*at = start
	if !r.summaryOnly {
		c.source = &r.source
	}
}

// A Contact is the readable part of a [Card]. Fields that are absent or redacted are
// empty.
type Contact struct {
	Name        string // name from fn, or composed from n
	Kind        string // "individual", "org", "group" and others
	Org         string // organisation and its units, separated by commas
	Title       string
	Role        string
	Emails      []string
	AbuseEmail  string // e-mail address that the card marks for abuse reports, one of Emails
	Phones      []Phone
	Addresses   []Address
	ContactURIs []string // other ways to reach the contact: mailto:, https: (RFC 8605)
	URLs        []string
	Langs       []string // language tags
	Others      int      // number of properties that Contact does not include

	// Problems lists the defects of the card. Paths are relative to the response:
	// "entities[0].vcardArray[1][3]".
	Problems []Problem
}

// A Phone is a telephone number with its types.
type Phone struct {
	Number string   // number as in the card, without "tel:" or "fax:"
	Ext    string   // extension
	Types  []string // types in lower case, such as "voice", "fax" and "work"
}

// String returns the number and its extension.
func (p Phone) String() string {
	if p.Ext == "" {
		return p.Number
	}
	return p.Number + " ext. " + p.Ext
}

// Fax reports whether the number is a fax number and not also a voice number.
func (p Phone) Fax() bool { return containsFold(p.Types, "fax") && !containsFold(p.Types, "voice") }

// An Address is a postal address, line by line.
type Address struct {
	Lines       []string // lines from the post office box or street to the postal code, without empty lines
	Country     string   // name of the country; some servers put the code here
	CountryCode string   // code of two letters (parameter cc of RFC 8605)
}

// IsZero reports whether the server sent no card.
func (c Card) IsZero() bool { return c.vcard == 0 && c.jscard == 0 && c.uri == 0 }

// Contact decodes the card. It skips unreadable properties and lists them in Problems; an
// invalid card gives an empty Contact with a problem. It prefers JSContact if the server sent
// both forms. Each call decodes the card again.
func (c Card) Contact() Contact { return c.ContactIn(nil) }

// ContactIn decodes the card in the language that matches best if its name, organisation,
// title, role or address exists in several languages (RFC 7095 section 3.4, RFC 9553 section
// 2.7.1). languages is a list as returned by [ParseLanguages]. If it is empty, ContactIn
// ignores languages.
func (c Card) ContactIn(languages []string) Contact {
	var out Contact
	if !c.IsZero() {
		r := &reader{source: *c.source}
		if len(languages) > 0 {
			r.languages = &languagePicker{preferred: languages}
		}
		c.decode(&out, r)
	}
	return out
}

// decode parses the card into out using a reader over the enclosing response.
func (c *Card) decode(out *Contact, r *reader) {
	r.problems = nil
	if c.jscard > 0 {
		r.pos = c.jscard
		r.jsContact(out)
		if r.languages != nil {
			r.languages.applyLocalizations(out, r.raw[c.jscard:r.pos])
		}
	}
	if c.vcard > 0 && out.empty() {
		r.pos = c.vcard
		r.jCard(out)
	}
	if c.uri > 0 {
		r.pos = c.uri
		if s, ok := r.component(" "); ok {
			addNonEmpty(&out.ContactURIs, s)
		}
	}
	out.Problems = mergeProblems(r.problems)
}

// reset empties c but keeps the slice capacity that a Summary needs.
func (c *Contact) reset() {
	*c = Contact{Emails: c.Emails[:0], Phones: c.Phones[:0], ContactURIs: c.ContactURIs[:0]}
}

func (c *Contact) empty() bool {
	return c.Name == "" && c.Org == "" && c.Title == "" && c.Role == "" &&
		len(c.Emails)+len(c.Phones)+len(c.Addresses)+len(c.ContactURIs)+len(c.URLs) == 0
}

// addPhone adds a number given as text or as a tel URI (RFC 3966). Some cards use the
// former scheme "fax:" (RFC 2806).
func (c *Contact) addPhone(text, ext string, types []string) {
	text = strings.TrimSpace(text)
	p := Phone{Number: text, Ext: ext, Types: types}
	fax := len(text) >= 4 && strings.EqualFold(text[:4], "fax:")
	if fax && !p.Fax() { // the scheme overrides the types
		p.Types = append(slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "voice" || t == "fax" }), "fax")
	}
	if fax || len(text) >= 4 && strings.EqualFold(text[:4], "tel:") {
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

// addLines splits text at line breaks. Some servers send a backslash and an n instead of a line
// break.
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

// mailAddress returns the address of a mailto URI, or "" for other URIs.
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
