package rdap

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A scan is what a look at an answer finds out, so that those who read the
// answer afterwards need not find it out again.
type scan struct {
	isValid        bool   // one JSON object and nothing else, nested no deeper than maxNesting
	minified       bool   // no white space between its tokens
	plain          bool   // nothing hidden in it, and UTF-8
	class          string // as Classify says; empty when the members don't tell
	members        int
	hasConformance bool         // it has rdapConformance, which only RDAP has
	noNotices      bool         // it has no notices, which busy servers send in place of an object
	truncations    []truncation // what it says was left out of it
	ldh            []byte       // the ldhName as it came, quoted; nil when it is no string

	ldhSpelled bool // ldh is from a member in its right spelling
}

// scanOf looks at raw. All that it says of an answer that is not valid is
// that it is not.
func scanOf(raw []byte) scan {
	var s scan
	if s.isValid = s.run(raw); !s.isValid {
		return scan{}
	}
	return s
}

// run reads raw, and reports whether it is an object that a checker accepts.
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

// observe takes note of a member. The conversions of short names need no memory.
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
		if respelled && s.ldhSpelled {
			break
		}
		s.ldhSpelled = !respelled
		if s.ldh = nil; value[0] == '"' {
			s.ldh = value
		}
	}
}

// knownClass returns the class that a JSON text stands for if it is one of
// RFC 9083 in its usual spelling, which needs no memory.
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

// hasLDHName reports whether the ldhName is that name, which is in lower case.
func (s *scan) hasLDHName(name string) bool {
	if len(s.ldh) < 2 {
		return false
	}
	ldh := bytes.TrimSuffix(s.ldh[1:len(s.ldh)-1], []byte{'.'})
	return len(ldh) == len(name) && strings.EqualFold(string(ldh), name)
}
