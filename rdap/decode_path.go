package rdap

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rdapq/rdapq/rdap/internal/jsonscan"
)

// A locator computes the path of a position in a document. It does so only on demand,
// so reading a well-formed document costs nothing; successive positions are found in
// one pass over the document.
type locator struct {
	pos    int
	frames []frame
}

// A frame is an object or array that encloses the position.
type frame struct {
	start    int  // offset of its opening bracket
	from, to int  // object: offsets of the last member name
	named    bool // object: the name has been read, its value has not
	array    bool
	count    int // items or members started
}

// advance moves to the position to.
func (p *locator) advance(raw []byte, to int) {
	if to < p.pos {
		p.pos, p.frames = 0, p.frames[:0]
	}
	for p.pos < to {
		kind := jsonscan.KindOf[raw[p.pos]]
		if kind == jsonscan.Separator {
			p.pos++
			continue
		}
		var in *frame
		if len(p.frames) > 0 {
			in = &p.frames[len(p.frames)-1]
		}
		start := p.pos
		switch kind {
		case jsontext.KindEndObject, jsontext.KindEndArray:
			p.pos++
			p.frames = p.frames[:max(len(p.frames)-1, 0)]
			continue
		case jsontext.KindBeginObject, jsontext.KindBeginArray:
			p.pos++
		default:
			p.pos = jsonscan.ValueEnd(raw, p.pos)
		}
		if in != nil {
			in.observe(start, p.pos)
		}
		if kind == jsontext.KindBeginObject || kind == jsontext.KindBeginArray {
			p.frames = append(p.frames, frame{start: start, array: kind == jsontext.KindBeginArray})
		}
	}
}

// observe records a member name or the start of a value.
func (l *frame) observe(from, to int) {
	switch {
	case l.array:
		l.count++
	case l.named:
		l.named = false
	default:
		l.from, l.to, l.named = from, to, true
		l.count++
	}
}

// path returns the path of the last value read.
func (r *reader) path() string {
	r.locator.advance(r.raw, r.pos)
	var b strings.Builder
	b.WriteString(r.base)
	for i := range r.locator.frames {
		l := &r.locator.frames[i]
		switch {
		case l.count == 0:
		case l.array:
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(l.count - 1))
			b.WriteByte(']')
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(r.unquote(r.text[l.from:l.to]))
		}
	}
	return b.String()
}
