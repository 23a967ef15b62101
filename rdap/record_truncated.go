package rdap

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rdapq/rdapq/rdap/internal/jsonscan"
)

// A Truncation is a notice or remark which says that data is omitted (RFC 9083 section 10.2.1).
type Truncation struct {
	Path string // location of the notice: "notices[0]", "entities[1].remarks[0]"
	Type string // see [Notice.Truncation]
	// InBrief reports that the object is nested in another object and abbreviated on purpose. A
	// query for the object returns the rest.
	InBrief bool
	Notice  Notice
	More    int // number of further notices of that type; 0 in [Record.Truncations], which lists each notice
}

// Truncation returns the notice's type if that says that data is omitted from the response or
// the object. An example is "object truncated due to authorization". Otherwise it returns "".
// Some servers put these words in the title and send no type.
func (n *Notice) Truncation() string {
	switch {
	case isTruncationType(n.Type):
		return n.Type
	case n.Type == "" && isTruncationType(n.Title):
		return n.Title
	}
	return ""
}

// Phrases by which registries say that a query for the object returns the rest.
const (
	briefSummary = "summary data only"
	briefQuery   = "for complete data, send a specific query"
)

// isBrief reports whether a notice of a nested object says that a query for the object
// returns the rest.
func (n *Notice) isBrief() bool {
	return mentionsBrief(n.Title) || slices.ContainsFunc(n.Description, mentionsBrief)
}

func mentionsBrief(s string) bool {
	s = strings.ToLower(s)
	return strings.Contains(s, briefSummary) || strings.Contains(s, briefQuery)
}

// mayBeBrief reports whether isBrief may be true for a notice with this JSON text. Many
// responses have a notice of redaction in each entity, and reading all those notices took 5% of
// the CPU time of a batch.
func mayBeBrief(text []byte) bool {
	if bytes.IndexByte(text, '\\') >= 0 || !jsonscan.AllPlain(text) {
		return true
	}
	return hasFold(text, briefQuery, strings.IndexByte(briefQuery, 'q')) ||
		hasFold(text, briefSummary, strings.LastIndexByte(briefSummary, 'y'))
}

// hasFold reports whether ASCII text contains phrase, which must be in lower case,
// ignoring case. It searches for the letter of phrase at index rare.
func hasFold(text []byte, phrase string, rare int) bool {
	for _, letter := range [...]byte{phrase[rare], phrase[rare] - 'a' + 'A'} {
		for at := rare; at < len(text); at++ {
			i := bytes.IndexByte(text[at:], letter)
			if i < 0 {
				break
			}
			at += i
			start := at - rare
			if start+len(phrase) <= len(text) && startsFold(text[start:], phrase) {
				return true
			}
		}
	}
	return false
}

func startsFold(text []byte, phrase string) bool {
	for i := range len(phrase) {
		if b := text[i]; b != phrase[i] && ('A' > b || b > 'Z' || b+'a'-'A' != phrase[i]) {
			return false
		}
	}
	return true
}

// isWithin reports whether the notice at path belongs to a nested object.
func isWithin(path string) bool {
	return !strings.HasPrefix(path, "remarks") && !strings.HasPrefix(path, "notices")
}

// Limits of the length of truncation types. The registered types have 36 to 49 bytes; new types
// get registered.
const (
	minTruncationType = 30
	maxTruncationType = 60
)

// mayBeTruncationType reports whether a JSON text may be a truncation type: a string of
// suitable length and beginning. The checker calls it for every member of every
// response.
func mayBeTruncationType(value []byte) bool {
	if n := len(value) - len(`""`); n < minTruncationType || n > maxTruncationType || value[0] != '"' {
		return false
	}
	switch value[1] | 0x20 {
	case 'o':
		return value[2]|0x20 == 'b'
	case 'r':
		return value[2]|0x20 == 'e'
	}
	return false
}

// A truncation is a type of truncation that a response mentions.
type truncation struct {
	path, typ string // path and type of the first notice with the type
	quoted    []byte // typ as JSON
	more      int    // number of further notices with the type
}

// Ranks of the members by which a notice may declare a truncation.
const (
	rankTitle = 1
	rankType  = 2
)

// rankTruncation returns the rank of the current member if it may declare a truncation:
// the type or title of a notice or remark.
func (s *scanner) rankTruncation(depth int, value []byte) (rank int) {
	if !mayBeTruncationType(value) {
		return 0
	}
	switch string(s.checker.Member(depth)) {
	case "type":
		rank = rankType
	case "title":
		rank = rankTitle
	default:
		return 0
	}
	switch string(s.checker.Member(depth - 1)) {
	case "notices", "remarks":
		return rank
	}
	return 0
}

// noteTruncation records a notice, depth containers deep, if value says that data is omitted.
// value is the type of the notice, or its title if it has no type.
func (s *scanner) noteTruncation(depth int, notice, value []byte, rank int) {
	notice = notice[:min(len(notice), maxPooled)] // limit the memory, because a response may have many notices
	list := s.scan.truncations
	known := slices.IndexFunc(list, func(t truncation) bool { return bytes.Equal(t.quoted, value) })
	typ := ""
	if known < 0 {
		typ = jsonscan.Unquote(value)
	}
	if known < 0 && !isTruncationType(typ) || rank < rankType && readNotice(notice).Type != "" {
		return
	}
	// the response's own notices are at a lower depth
	if depth > 3 && mayBeBrief(notice) && readNotice(notice).isBrief() {
		return
	}
	if known >= 0 {
		list[known].more++
		return
	}
	for i := range list {
		if strings.EqualFold(list[i].typ, typ) {
			list[i].more++
			return
		}
	}
	if len(list) < maxProblems {
		s.scan.truncations = append(list, truncation{path: s.checker.Path(depth - 1), typ: typ, quoted: value})
	}
}

func readNotice(text []byte) *Notice {
	n := newReader(text, "").notice()
	return &n
}

// isTruncationType reports whether s is a type such as "result set truncated due to
// authorization" or "object redacted due to authorization".
func isTruncationType(s string) bool {
	if len(s) < minTruncationType || len(s) > maxTruncationType {
		return false
	}
	what, why, ok := strings.Cut(strings.ToLower(s), " due to ")
	if !ok || why == "" {
		return false
	}
	switch what, how, _ := cutLast(what); what {
	case "result set", "object", "response":
		return how == "truncated" || how == "redacted"
	}
	return false
}

// cutLast splits s at its last space.
func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndexByte(s, ' ')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
