package rdap

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rdapq/rdapq/internal/safetext"
)

// maxExcerpt is how much of a body that is no RDAP is shown, in characters.
const maxExcerpt = 80

// marks are the members that tell what class an answer is.
type marks struct {
	object      string // objectClassName
	results     string // the name of a search results member
	listed      bool   // that member is an array
	errorCode   bool
	conformance bool   // rdapConformance or notices
	conforms    bool   // rdapConformance
	noticed     bool   // notices
	problem     bool   // a status that is a number (RFC 9457 section 3.1.2)
	content     bool   // what only objects have that are registered
	own         string // the class that has a member seen
	named       bool   // ldhName
	classed     bool   // object is from a member in its right spelling
}

// see takes note of a member and the kind of its value.
func (m *marks) see(name string, kind jsontext.Kind) {
	if kind == jsontext.KindNull {
		return
	}
	switch name {
	case "errorCode":
		m.errorCode = true
	case "rdapConformance":
		m.conformance, m.conforms = true, true
	case "notices":
		m.conformance, m.noticed = true, true
	case "startAddress", "endAddress":
		m.own = ClassIPNetwork
	case "startAutnum", "endAutnum":
		m.own = ClassAutnum
	case "vcardArray", "jscard", "roles":
		m.own = ClassEntity
	case "ipAddresses":
		m.own = ClassNameserver
	case "nameservers", "secureDNS":
		m.own = ClassDomain
	case "ldhName":
		m.named = true
	case "handle", "entities", "events", "publicIds", "redacted":
		m.content = true
	case "status":
		if kind == jsontext.KindNumber {
			m.problem = true
		} else {
			m.content = true
		}
	default:
		if strings.HasSuffix(name, "SearchResults") {
			list := kind == jsontext.KindBeginArray
			if list || m.results == "" {
				m.results = strings.Clone(name)
			}
			m.listed = m.listed || list
		}
	}
}

func (m *marks) class() string {
	switch {
	case m.results != "" && strings.HasSuffix(strings.ToLower(strings.TrimSpace(m.object)), "searchresults"):
		return m.results // some servers add that as the class, in any spelling
	case m.listed && !m.named && !m.content && m.own == "":
		return m.results // or the class of the results
	case m.object != "":
		return strings.ToLower(strings.TrimSpace(m.object))
	case m.results != "":
		return m.results
	case m.errorCode:
		return ClassError
	case m.own != "":
		return m.own
	case m.named:
		return ClassDomain
	case m.problem:
		return ClassError
	case m.conformance && !m.content:
		return ClassHelp
	}
	return ""
}

func notObject(trimmed []byte) string {
	if !jsontext.Value(trimmed).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return "not JSON"
	}
	switch jsontext.Value(trimmed).Kind() {
	case jsontext.KindBeginArray:
		return "a JSON array"
	case jsontext.KindString:
		return "a JSON string"
	case jsontext.KindNumber:
		return "a JSON number"
	case jsontext.KindNull:
		return "JSON null"
	}
	return "JSON true or false"
}

func looksLikeHTML(body []byte) bool {
	head := bytes.ToLower(body[:min(len(body), 1024)])
	return !bytes.HasPrefix(head, []byte("<?xml")) || bytes.Contains(head, []byte("<html"))
}

// excerpt returns the beginning of body on one line, at most maxExcerpt
// characters, without any that act on a terminal.
func excerpt(body []byte) string {
	var b strings.Builder
	space, count := false, 0
	var before rune
	for len(body) > 0 {
		r, n := utf8.DecodeRune(body)
		body = body[n:]
		if unicode.IsSpace(r) {
			space = b.Len() > 0
			continue
		}
		if safetext.UnsafeAfter(r, before) {
			continue
		}
		before = r
		need := 1
		if space {
			need = 2
		}
		if count+need >= maxExcerpt {
			b.WriteRune('…')
			break
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
		count += need
	}
	return b.String()
}
