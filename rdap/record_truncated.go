package rdap

import (
	"strings"
)

// A Truncation is a notice or remark which says that something was left out
// (RFC 9083 section 10.2.1).
type Truncation struct {
	Path string // where the notice stands: "notices[0]", "entities[1].remarks[0]"
	What string // see [Notice.Truncation]
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
	case tellsOfLoss(n.Type):
		return n.Type
	case n.Type == "" && tellsOfLoss(n.Title):
		return n.Title
	}
	return ""
}

// inBrief reports whether a notice of an object within another one says that a query
// for that object returns the rest, in the words that registries use for it.
func (n *Notice) inBrief() bool {
	for _, s := range append([]string{n.Title}, n.Description...) {
		s = strings.ToLower(s)
		if strings.Contains(s, "summary data only") || strings.Contains(s, "for complete data, send a specific query") {
			return true
		}
	}
	return false
}

// isWithin reports whether the notice at path is one of an object within the answer.
func isWithin(path string) bool {
	return !strings.HasPrefix(path, "remarks") && !strings.HasPrefix(path, "notices")
}

// The types that tell of something left out are between 36 and 49 octets long,
// and more are registered now and then.
const (
	minLossType = 30
	maxLossType = 60
)

// mayTellOfLoss reports whether a JSON text is worth a closer look: a string of
// such a length with the right beginning. It is asked of every member of every
// answer.
func mayTellOfLoss(value []byte) bool {
	if n := len(value) - len(`""`); n < minLossType || n > maxLossType || value[0] != '"' {
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

// A loss is a way in which an answer is not whole.
type loss struct {
	path, what string // of the first notice that tells of it
	more       int    // how many others tell the same
}

// lose takes note of the notice or remark that begins at start if the member of
// it that the checker is at says that something was left out.
func (c *checker) lose(depth, start int, value []byte) {
	isType := false
	switch string(c.member(depth)) {
	case "type":
		isType = true
	case "title":
	default:
		return
	}
	switch string(c.member(depth - 1)) {
	case "notices", "remarks":
	default:
		return
	}
	what := unquoted(value)
	if !tellsOfLoss(what) || !isType && c.typed(start) {
		return
	}
	if depth > 3 && c.noticeAt(start).inBrief() { // the answer's own notices are less deep
		return
	}
	for i := range c.losses {
		if strings.EqualFold(c.losses[i].what, what) {
			c.losses[i].more++
			return
		}
	}
	if len(c.losses) < maxProblems {
		c.losses = append(c.losses, loss{path: c.path(depth - 1), what: what})
	}
}

// typed reports whether the notice that begins at start has a type.
func (c *checker) typed(start int) bool { return c.noticeAt(start).Type != "" }

// noticeAt reads the notice that begins at start. It does not look far, since there
// may be many to look at.
func (c *checker) noticeAt(start int) *Notice {
	text := c.text[start:min(start+maxReused, len(c.text))]
	n := newReader(text[:containerEnd(text, 0)], "").notice()
	return &n
}

// tellsOfLoss reports whether a type is one of "result set truncated due to
// authorization", "object redacted due to authorization" and so on.
func tellsOfLoss(s string) bool {
	if len(s) < minLossType || len(s) > maxLossType {
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
