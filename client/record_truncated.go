package client

import (
	"bytes"
	"iter"
	"slices"
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

// warnTruncations adds a warning for each way in which the answer is not whole.
func (r *Result) warnTruncations() {
	if nextDueTo(r.Raw) < 0 {
		return
	}
	doc, err := r.document()
	if err != nil {
		return
	}
	type loss struct {
		path, what string
		more       int
	}
	var told []loss
	for path, what := range truncations(doc.object) {
		i := slices.IndexFunc(told, func(l loss) bool { return strings.EqualFold(l.what, what) })
		if i < 0 {
			told = append(told, loss{path: path(), what: what})
			continue
		}
		told[i].more++
	}
	for _, l := range told {
		if l.more > 0 {
			l.path += " and " + strconv.Itoa(l.more) + " more"
		}
		r.warn("the server says: " + visible(l.what) + " (" + l.path + ")")
	}
}

// nextDueTo returns where the words stand that every type has which tells of
// something left out, or -1.
func nextDueTo(text []byte) int {
	i := bytes.Index(text, []byte(" due to "))
	if i >= 0 {
		text = text[:i]
	}
	if j := bytes.Index(text, []byte(" DUE TO ")); j >= 0 {
		return j
	}
	return i
}

// truncations finds the notices and remarks which say that something was left
// out, at most maxProblems, without reading the rest of the document: most
// answers of registries have one or two. It gives what they say and where they
// stand.
func truncations(doc []byte) iter.Seq2[func() string, string] {
	return func(yield func(path func() string, what string) bool) {
		r := &reader{source: source{raw: doc}}
		for range maxProblems {
			i := nextDueTo(doc[r.place.pos:])
			if i < 0 {
				return
			}
			r.pos = r.place.pos + i
			r.place.advance(doc, r.pos)
			notice, member := r.place.notice(doc)
			if notice == nil {
				continue
			}
			n := newReader(notice, "").notice()
			what := n.Truncation()
			if what == "" || member == "title" && n.Type != "" {
				continue
			}
			path := func() string {
				r.text = string(doc)
				return r.pathTo(len(r.place.levels) - 1)
			}
			if !yield(path, what) {
				return
			}
		}
	}
}

// notice returns the notice or remark that the string read last is the type or
// the title of, and which of them; nil if it is neither.
func (p *place) notice(doc []byte) (notice []byte, member string) {
	depth := len(p.levels) - 1
	if depth < 1 || p.levels[depth].array {
		return nil, ""
	}
	in := p.levels[depth]
	switch member = string(doc[in.from:in.to]); member {
	case `"type"`, `"title"`:
	default:
		return nil, ""
	}
	holder := p.levels[depth-1]
	if holder.array && depth > 1 {
		holder = p.levels[depth-2]
	}
	switch string(doc[holder.from:holder.to]) {
	case `"notices"`, `"remarks"`:
		return doc[in.start:containerEnd(doc, in.start)], strings.Trim(member, `"`)
	}
	return nil, ""
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
