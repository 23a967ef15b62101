package rdap

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A locator knows where in a document a position stands. It is asked only when
// something is wrong there, so that a walk over a document in order has nothing
// to keep up; it goes through the document once, however often it is asked for
// positions that come one after another.
type locator struct {
	pos    int
	frames []frame
}

// A frame is one of the objects and arrays that a position stands in.
type frame struct {
	start    int  // where it begins
	from, to int  // object: where the member name read last stands
	named    bool // object: that name is read, its value is not
	array    bool
	count    int // items or members begun
}

// advance goes to the position to.
func (p *locator) advance(raw []byte, to int) {
	if to < p.pos {
		p.pos, p.frames = 0, p.frames[:0]
	}
	for p.pos < to {
		kind := kindOf[raw[p.pos]]
		if kind == separator {
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
			p.pos = valueEnd(raw, p.pos)
		}
		if in != nil {
			in.observe(start, p.pos)
		}
		if kind == jsontext.KindBeginObject || kind == jsontext.KindBeginArray {
			p.frames = append(p.frames, frame{start: start, array: kind == jsontext.KindBeginArray})
		}
	}
}

// observe notes the beginning of a value, or a member name.
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

// path returns where the value last read stands.
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
