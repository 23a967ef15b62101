package client

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A survey is what a look at an answer finds out, so that those who read the
// answer afterwards need not find it out again.
type survey struct {
	valid   bool   // one JSON object and nothing else, nested no deeper than maxNesting
	tight   bool   // no white space between its tokens
	plain   bool   // nothing hidden in it, and UTF-8
	class   string // as CheckRDAP says; empty when the members don't tell
	members int
	high    uint64 // see stringEnd
	cut     bool   // something in it may say that the answer is not whole
	ldh     []byte // the ldhName as it came, quoted; nil when it is no string
}

// surveyOf looks at raw. All that it says of an answer that is not valid is
// that it is not.
func surveyOf(raw []byte) survey {
	var s survey
	if !isValid(raw) {
		return s
	}
	deepest := s.walk(raw)
	s.valid = deepest > 0 && deepest <= maxNesting
	s.plain = s.high&highBits == 0 || !hasHidden(raw)
	return s
}

// walk reads the names of the members of object, which is valid JSON, and what
// it needs of their values. It returns how deep they are nested, 0 for what is
// no object.
func (s *survey) walk(object []byte) (deepest int) {
	start := separatorsEnd(object, 0)
	if start >= len(object) || object[start] != '{' {
		return 0
	}
	var m marks
	deepest, s.tight = 1, true
	for i := start + 1; ; s.members++ {
		i = s.between(object, i)
		if i >= len(object) || object[i] != '"' {
			break
		}
		from := i
		var high uint64
		i, high = stringEnd(object, i)
		s.high |= high
		name := object[from+1 : i-1]
		i = s.between(object, i)
		from = i
		i = s.pass(object, i, &deepest)
		s.member(&m, name, object[from:i])
	}
	s.class = m.class()
	return deepest
}

// between passes over what stands between two values.
func (s *survey) between(object []byte, i int) int {
	for ; i < len(object) && kindOf[object[i]] == separator; i++ {
		if object[i] != ',' && object[i] != ':' {
			s.tight = false
		}
	}
	return i
}

// pass passes over the value of a member.
func (s *survey) pass(object []byte, i int, deepest *int) int {
	switch kind := kindOf[object[i]]; kind {
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		c := containerEnd(object, i)
		*deepest = max(*deepest, 1+c.deepest)
		s.high |= c.high
		s.tight = s.tight && !c.spaced
		s.cut = s.cut || c.cut
		return c.end
	case jsontext.KindString:
		end, high := stringEnd(object, i)
		s.high |= high
		return end
	}
	return valueEnd(object, i)
}

// member takes note of a member. The conversions of short names need no memory.
func (s *survey) member(m *marks, name, value []byte) {
	if bytes.IndexByte(name, '\\') >= 0 || !utf8.Valid(name) {
		name, _ = jsontext.AppendUnquote(nil, append(append([]byte{'"'}, name...), '"'))
	}
	m.see(string(name), jsontext.Value(value).Kind())
	switch string(name) {
	case "objectClassName":
		if c := knownClass(value); c != "" {
			m.object = c
			break
		}
		r := newReader(value, "")
		r.str(&m.object)
	case "ldhName":
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

// is reports whether the ldhName is that name, which is in lower case.
func (s *survey) is(name string) bool {
	if len(s.ldh) < 2 {
		return false
	}
	ldh := bytes.TrimSuffix(s.ldh[1:len(s.ldh)-1], []byte{'.'})
	return len(ldh) == len(name) && strings.EqualFold(string(ldh), name)
}
