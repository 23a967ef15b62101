package rdap

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A place knows where in a document a position stands. It is asked only when
// something is wrong there, so that a walk over a document in order has nothing
// to keep up; it goes through the document once, however often it is asked for
// positions that come one after another.
type place struct {
	pos    int
	levels []level
}

// A level is one of the objects and arrays that a position stands in.
type level struct {
	start    int  // where it begins
	from, to int  // object: where the member name read last stands
	named    bool // object: that name is read, its value is not
	array    bool
	count    int // items or members begun
}

// advance goes to the position to.
func (p *place) advance(raw []byte, to int) {
	if to < p.pos {
		p.pos, p.levels = 0, p.levels[:0]
	}
	for p.pos < to {
		kind := kindOf[raw[p.pos]]
		if kind == separator {
			p.pos++
			continue
		}
		var in *level
		if len(p.levels) > 0 {
			in = &p.levels[len(p.levels)-1]
		}
		start := p.pos
		switch kind {
		case jsontext.KindEndObject, jsontext.KindEndArray:
			p.pos++
			p.levels = p.levels[:max(len(p.levels)-1, 0)]
			continue
		case jsontext.KindBeginObject, jsontext.KindBeginArray:
			p.pos++
		default:
			p.pos = valueEnd(raw, p.pos)
		}
		if in != nil {
			in.take(start, p.pos)
		}
		if kind == jsontext.KindBeginObject || kind == jsontext.KindBeginArray {
			p.levels = append(p.levels, level{start: start, array: kind == jsontext.KindBeginArray})
		}
	}
}

// take notes the beginning of a value, or a member name.
func (l *level) take(from, to int) {
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
	r.place.advance(r.raw, r.pos)
	var b strings.Builder
	b.WriteString(r.base)
	for i := range r.place.levels {
		l := &r.place.levels[i]
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
