package rdap

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rdapq/rdapq/internal/safetext"
)

// maxExcerpt limits how much of a body that is not RDAP an error quotes, in characters.
const maxExcerpt = 80

// classHints collects the members that determine the class of a response.
type classHints struct {
	objectClass     string // value of objectClassName
	results         string // name of a search results member
	resultsAreArray bool   // the search results member is an array
	errorCode       bool
	conformance     bool   // there is a member rdapConformance or notices
	hasConformance  bool   // there is a member rdapConformance
	hasNotices      bool   // there is a member notices
	problemStatus   bool   // status is a number (RFC 9457 section 3.1.2)
	isObject        bool   // there is a member that only registered objects have
	memberClass     string // class that alone has one of the members seen
	hasLDHName      bool   // there is a member ldhName
	exactClass      bool   // objectClass comes from a correctly spelled member
}

// observe records a member and the kind of its value.
func (m *classHints) observe(name string, kind jsontext.Kind) {
	if kind == jsontext.KindNull {
		return
	}
	switch name {
	case "errorCode":
		m.errorCode = true
	case "rdapConformance":
		m.conformance, m.hasConformance = true, true
	case "notices":
		m.conformance, m.hasNotices = true, true
	case "startAddress", "endAddress":
		m.memberClass = ClassIPNetwork
	case "startAutnum", "endAutnum":
		m.memberClass = ClassAutnum
	case "vcardArray", "jscard", "roles":
		m.memberClass = ClassEntity
	case "ipAddresses":
		m.memberClass = ClassNameserver
	case "nameservers", "secureDNS":
		m.memberClass = ClassDomain
	case "ldhName":
		m.hasLDHName = true
	case "handle", "entities", "events", "publicIds", "redacted":
		m.isObject = true
	case "status":
		if kind == jsontext.KindNumber {
			m.problemStatus = true
		} else {
			m.isObject = true
		}
	default:
		if strings.HasSuffix(name, "SearchResults") {
			list := kind == jsontext.KindBeginArray
			if list || m.results == "" {
				m.results = strings.Clone(name)
			}
			m.resultsAreArray = m.resultsAreArray || list
		}
	}
}

func (m *classHints) class() string {
	switch {
	case m.results != "" && strings.HasSuffix(strings.ToLower(strings.TrimSpace(m.objectClass)), "searchresults"):
		return m.results // some servers send such a class, in various spellings
	case m.resultsAreArray && !m.hasLDHName && !m.isObject && m.memberClass == "":
		return m.results // some servers send the class of the results
	case m.objectClass != "":
		return strings.ToLower(strings.TrimSpace(m.objectClass))
	case m.results != "":
		return m.results
	case m.errorCode:
		return ClassError
	case m.memberClass != "":
		return m.memberClass
	case m.hasLDHName:
		return ClassDomain
	case m.problemStatus:
		return ClassError
	case m.conformance && !m.isObject:
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

// excerpt returns the beginning of body on one line, at most maxExcerpt characters,
// without characters that control a terminal.
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
