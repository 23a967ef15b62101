package rdap

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A scan holds what one pass over a response finds out, so that later readers need not
// repeat the work.
type scan struct {
	isValid        bool   // one JSON object, no other data, nested at most maxNesting deep
	minified       bool   // no white space between tokens
	plain          bool   // valid UTF-8 without invisible characters
	class          string // the result of Classify; empty if the members do not determine it
	members        int
	hasConformance bool         // has rdapConformance, which only RDAP has
	noNotices      bool         // has no notices; overloaded servers send notices in place of an object
	truncations    []truncation // what the response says is omitted
	ldh            []byte       // ldhName as sent, quoted; nil if it is not a string

	exactLDHName bool // ldh comes from a correctly spelled member
}

// scanOf scans raw. For an invalid response only isValid is set.
func scanOf(raw []byte) scan {
	var s scan
	if s.isValid = s.run(raw); !s.isValid {
		return scan{}
	}
	return s
}

// run scans raw and reports whether a checker accepts it as one object.
func (s *scan) run(raw []byte) bool {
	c := checker{text: raw}
	if c.peek() != '{' {
		return false
	}
	c.hasSpace = false
	var m classHints
	if !c.object(1, func(name, value []byte) {
		s.members++
		s.observe(&m, name, value)
	}) {
		return false
	}
	s.class = m.class()
	s.hasConformance, s.noNotices = m.hasConformance, !m.hasNotices
	s.minified = !c.hasSpace
	s.truncations = c.truncations
	s.plain = c.highBits&highBits == 0 || !hasHidden(raw)
	c.peek()
	return c.pos == len(raw)
}

// observe records a member. Converting short names does not allocate.
func (s *scan) observe(m *classHints, name, value []byte) {
	if bytes.IndexByte(name, '\\') >= 0 || !utf8.Valid(name) {
		name, _ = jsontext.AppendUnquote(nil, append(append([]byte{'"'}, name...), '"'))
	}
	known := memberName(string(name))
	respelled := known != string(name)
	m.observe(known, jsontext.Value(value).Kind())
	switch known {
	case "objectClassName":
		if respelled && m.exactClass {
			break
		}
		m.exactClass = !respelled
		if c := knownClass(value); c != "" {
			m.objectClass = c
			break
		}
		r := newReader(value, "")
		m.objectClass = ""
		r.str(&m.objectClass)
	case "ldhName":
		if respelled && s.exactLDHName {
			break
		}
		s.exactLDHName = !respelled
		if s.ldh = nil; value[0] == '"' {
			s.ldh = value
		}
	}
}

// knownClass returns the class of an objectClassName in its usual spelling, without
// allocating. It returns "" for any other JSON text.
func knownClass(value []byte) string {
	switch string(value) {
	case `"domain"`:
		return ClassDomain
	case `"ip network"`:
		return ClassIPNetwork
	case `"autnum"`:
		return ClassAutnum
	case `"entity"`:
		return ClassEntity
	case `"nameserver"`:
		return ClassNameserver
	}
	return ""
}

// hasLDHName reports whether the ldhName is name, which must be in lower case.
func (s *scan) hasLDHName(name string) bool {
	if len(s.ldh) < 2 {
		return false
	}
	ldh := bytes.TrimSuffix(s.ldh[1:len(s.ldh)-1], []byte{'.'})
	return len(ldh) == len(name) && strings.EqualFold(string(ldh), name)
}
