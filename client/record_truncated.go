package client

import (
	"bytes"
	"strconv"
	"strings"
)

// A Truncation is a notice or remark which says that something was left out
// (RFC 9083 section 10.2.1).
type Truncation struct {
	Path   string // where the notice stands: "notices[0]", "entities[1].remarks[0]"
	What   string // see [Notice.Truncation]
	Notice Notice
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

// The types that tell of something left out are between 36 and 49 octets long,
// and more are registered now and then.
const (
	minLossType = 30
	maxLossType = 60
)

// mayTellOfLoss reports whether a string of JSON, which is text[from:to] with its
// quotation marks, is worth a closer look. It is asked of every string of every
// answer.
func mayTellOfLoss(text []byte, from, to int) bool {
	if n := to - from - 2; n < minLossType || n > maxLossType {
		return false
	}
	switch text[from+1] {
	case 'o', 'O':
		return text[from+2]|0x20 == 'b'
	case 'r', 'R':
		return text[from+2]|0x20 == 'e'
	}
	return false
}

// warnTruncations adds a warning for each way in which the answer is not whole.
func (r *Result) warnTruncations() {
	if !bytes.Contains(r.Raw, []byte(" due to ")) {
		return
	}
	rec, err := r.readRecord()
	if err != nil {
		return
	}
	var told []string
	for i, t := range rec.Truncations {
		if containsFold(told, t.What) {
			continue
		}
		told = append(told, t.What)
		more := 0
		for _, other := range rec.Truncations[i+1:] {
			if strings.EqualFold(other.What, t.What) {
				more++
			}
		}
		where := t.Path
		if more > 0 {
			where += " and " + strconv.Itoa(more) + " more"
		}
		r.warn("the server says: " + visible(t.What) + " (" + where + ")")
	}
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
