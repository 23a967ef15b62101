package rdap

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rdapq/rdapq/rdap/internal/jsonscan"
)

// A scan holds the findings of one pass over a response, so that later readers need not
// repeat it.
type scan struct {
	// the response is one JSON object without other data, nested at most MaxNesting levels
	isValid        bool
	minified       bool            // there is no white space between tokens
	plain          bool            // the response is valid UTF-8 without invisible characters
	literal        bool            // the response is valid UTF-8, and no string has an escape
	long           []jsonscan.Span // long containers, see source
	class          string          // class of the response; empty if the members do not determine it
	members        int
	hasConformance bool // the response has rdapConformance, which only RDAP has
	// the response has no notices; overloaded servers send notices in place of an object
	noNotices   bool
	truncations []truncation // omissions that the response states
	ldh         []byte       // ldhName as sent, quoted; nil if the value is not a string

	exactLDHName bool // ldh comes from a correctly spelled member
}

// scanOf scans raw. For an invalid response, it sets only isValid.
func scanOf(raw []byte) scan {
	s := scanners.Get().(*scanner)
	out := scan{}
	if s.checker.Check(raw) {
		s.finish(raw)
		out = s.scan
	}
	s.release()
	return out
}

// A scanner makes a scan.
type scanner struct {
	checker jsonscan.Checker
	scan    scan
	hints   classHints
}

// scanners pools scanners, whose hooks would otherwise be allocated for each response.
var scanners = sync.Pool{New: func() any {
	s := new(scanner)
	s.checker.Hooks = jsonscan.Hooks{
		Member: s.observe,
		String: s.rankTruncation, MinString: minTruncationType, MaxString: maxTruncationType,
		Object: s.noteTruncation,
	}
	return s
}}

// finish sets the fields that are known only at the end of a valid response.
func (s *scanner) finish(raw []byte) {
	s.scan.isValid = true
	s.scan.class = s.hints.class()
	s.scan.hasConformance, s.scan.noNotices = s.hints.hasConformance, !s.hints.hasNotices
	s.scan.minified = !s.checker.HasSpace()
	s.scan.plain = s.checker.IsASCII() || !hasHidden(raw)
	s.scan.literal = s.scan.plain && !s.checker.HasEscape()
	s.scan.long = slices.Clone(s.checker.LongContainers())
}

// release drops the response and returns s to the pool.
func (s *scanner) release() {
	s.checker.Release()
	s.scan, s.hints = scan{}, classHints{}
	scanners.Put(s)
}

// observe records a member. The conversion of short names to strings does not allocate.
func (s *scanner) observe(name, value []byte) {
	s.scan.members++
	m := &s.hints
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
		if respelled && s.scan.exactLDHName {
			break
		}
		s.scan.exactLDHName = !respelled
		if s.scan.ldh = nil; value[0] == '"' {
			s.scan.ldh = value
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
