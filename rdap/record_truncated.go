package rdap

import (
	"bytes"
	"slices"
	"strings"
)

// A Truncation is a notice or remark which says that something was left out
// (RFC 9083 section 10.2.1).
type Truncation struct {
	Path string // where the notice stands: "notices[0]", "entities[1].remarks[0]"
	Type string // see [Notice.Truncation]
	// InBrief says that nothing failed: the object is within another one and is
	// given in brief, and a query for it returns the rest.
	InBrief bool
	Notice  Notice
	More    int // how many other notices say the same; 0 in [Record.Truncations], which has each
}

// Truncation returns the notice's type if that says that something was left
// out of the answer or the object: "object truncated due to authorization". It
// is empty for other notices. Some servers have these words in the title and no
// type.
func (n *Notice) Truncation() string {
	switch {
	case isTruncationType(n.Type):
		return n.Type
	case n.Type == "" && isTruncationType(n.Title):
		return n.Title
	}
	return ""
}

// The words in which registries say that a query for an object returns the rest.
const (
	briefSummary = "summary data only"
	briefQuery   = "for complete data, send a specific query"
)

// isBrief reports whether a notice of an object within another one says that a query
// for that object returns the rest.
func (n *Notice) isBrief() bool {
	return mentionsBrief(n.Title) || slices.ContainsFunc(n.Description, mentionsBrief)
}

func mentionsBrief(s string) bool {
	s = strings.ToLower(s)
	return strings.Contains(s, briefSummary) || strings.Contains(s, briefQuery)
}

// mayBeBrief reports whether inBrief may be true for a notice with this JSON text.
// Many responses have a notice of redaction in each entity, and reading all of them
// took 5% of the CPU time of a batch.
func mayBeBrief(text []byte) bool {
	if bytes.IndexByte(text, '\\') >= 0 || !allPlain(text) {
		return true
	}
	return hasFold(text, briefQuery, strings.IndexByte(briefQuery, 'q')) ||
		hasFold(text, briefSummary, strings.LastIndexByte(briefSummary, 'y'))
}

// hasFold reports whether ASCII text has phrase in it, which is in lower case. It
// looks at the places that have the letter of phrase at the index rare.
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

// isWithin reports whether the notice at path is one of an object within the answer.
func isWithin(path string) bool {
	return !strings.HasPrefix(path, "remarks") && !strings.HasPrefix(path, "notices")
}

// The types that tell of something left out are between 36 and 49 octets long,
// and more are registered now and then.
const (
	minTruncationType = 30
	maxTruncationType = 60
)

// mayBeTruncationType reports whether a JSON text is worth a closer look: a string of
// such a length with the right beginning. It is asked of every member of every
// answer.
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

// A truncation is a way in which an answer is not whole.
type truncation struct {
	path, typ string // of the first notice that tells of it
	quoted    []byte // what, as JSON
	more      int    // how many others tell the same
}

// noticeMember returns the name of the member that the position stands in of the
// object that is depth containers deep, if it is the type or the title of a notice or
// remark.
func (c *checker) noticeMember(depth int) string {
	name := ""
	switch string(c.member(depth)) {
	case "type":
		name = "type"
	case "title":
		name = "title"
	default:
		return ""
	}
	switch string(c.member(depth - 1)) {
	case "notices", "remarks":
		return name
	}
	return ""
}

// noteTruncation takes note of a notice, which is depth containers deep, if value says that
// something was left out: the type of the notice, or its title if it has no type.
func (c *checker) noteTruncation(depth int, notice, value []byte, isType bool) {
	notice = notice[:min(len(notice), maxPooled)] // there may be many
	known := slices.IndexFunc(c.truncations, func(l truncation) bool { return bytes.Equal(l.quoted, value) })
	what := ""
	if known < 0 {
		what = unquoted(value)
	}
	if known < 0 && !isTruncationType(what) || !isType && readNotice(notice).Type != "" {
		return
	}
	if depth > 3 && mayBeBrief(notice) && readNotice(notice).isBrief() { // the answer's own notices are less deep
		return
	}
	if known >= 0 {
		c.truncations[known].more++
		return
	}
	for i := range c.truncations {
		if strings.EqualFold(c.truncations[i].typ, what) {
			c.truncations[i].more++
			return
		}
	}
	if len(c.truncations) < maxProblems {
		c.truncations = append(c.truncations, truncation{path: c.path(depth - 1), typ: what, quoted: value})
	}
}

func readNotice(text []byte) *Notice {
	n := newReader(text, "").notice()
	return &n
}

// isTruncationType reports whether a type is one of "result set truncated due to
// authorization", "object redacted due to authorization" and so on.
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

// cutLast cuts s at its last space.
func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndexByte(s, ' ')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
