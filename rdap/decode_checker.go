package rdap

import (
	"math/bits"
	"strconv"
	"strings"
)

// A checker validates JSON (RFC 8259) and records what an output row needs to know. It
// accepts what jsontext accepts with the options in lenient, nested at most maxNesting
// deep, in a third of the time of jsontext and a second pass. It does not report what
// is wrong: jsontext does.
type checker struct {
	text        []byte
	pos         int
	hasSpace    bool         // white space between tokens
	highBits    uint64       // has one of highBits unless all strings are plain ASCII
	truncations []truncation // what the document says is omitted

	// offsets holds, for each enclosing object, the offset of the current member's
	// name and, for each enclosing array, ^n in item n. offsets[1] is the document's.
	offsets [maxNesting + 1]int
}

// peek returns the first byte of the next token, 0 at the end.
func (c *checker) peek() byte {
	if c.pos < len(c.text) && c.text[c.pos] > ' ' {
		return c.text[c.pos]
	}
	return c.afterSpace()
}

func (c *checker) afterSpace() byte {
	for ; c.pos < len(c.text); c.pos++ {
		switch b := c.text[c.pos]; b {
		case ' ', '\t', '\n', '\r':
			c.hasSpace = true
		default:
			return b
		}
	}
	return 0
}

// value reads the next value, which is in depth containers.
func (c *checker) value(depth int) bool {
	switch c.peek() {
	case '"':
		return c.str()
	case '{':
		return c.object(depth+1, nil)
	case '[':
		return c.array(depth + 1)
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	case 'n':
		return c.literal("null")
	}
	return c.number()
}

// object reads the next object. It calls each, which may be nil, with the JSON text of
// every member; names come without quotation marks.
func (c *checker) object(depth int, each func(name, value []byte)) bool {
	if depth > maxNesting {
		return false
	}
	start := c.pos
	var reason []byte // type or title of a notice about truncation
	hasType := false  // reason is the type
	c.pos++
	if c.peek() == '}' {
		c.pos++
		return true
	}
	for {
		if c.peek() != '"' {
			return false
		}
		name := c.pos
		if !c.str() {
			return false
		}
		nameEnd := c.pos
		if c.peek() != ':' {
			return false
		}
		c.pos++
		c.peek()
		value := c.pos
		c.offsets[depth] = name
		if !c.value(depth) {
			return false
		}
		if v := c.text[value:c.pos]; mayBeTruncationType(v) {
			switch c.noticeMember(depth) {
			case "type":
				reason, hasType = v, true
			case "title":
				if !hasType {
					reason = v
				}
			}
		}
		if each != nil {
			each(c.text[name+1:nameEnd-1], c.text[value:c.pos])
		}
		switch c.peek() {
		case ',':
			c.pos++
		case '}':
			c.pos++
			if reason != nil {
				c.noteTruncation(depth, c.text[start:c.pos], reason, hasType)
			}
			return true
		default:
			return false
		}
	}
}

// array reads the next array.
func (c *checker) array(depth int) bool {
	if depth > maxNesting {
		return false
	}
	c.pos++
	if c.peek() == ']' {
		c.pos++
		return true
	}
	for n := 0; ; n++ {
		c.offsets[depth] = ^n
		if !c.value(depth) {
			return false
		}
		switch c.peek() {
		case ',':
			c.pos++
		case ']':
			c.pos++
			return true
		default:
			return false
		}
	}
}

// member returns the name of the current member of the object at that depth; if an
// array is at that depth, of the object around it.
func (c *checker) member(depth int) []byte {
	if depth > 1 && c.offsets[depth] < 0 {
		depth--
	}
	if depth < 1 || c.offsets[depth] < 0 {
		return nil
	}
	name := c.offsets[depth]
	return c.text[name+1 : stringEnd(c.text, name)-1]
}

// path returns the path of the current value at that depth.
func (c *checker) path(depth int) string {
	var b strings.Builder
	for _, at := range c.offsets[1 : depth+1] {
		switch {
		case at < 0:
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(^at))
			b.WriteByte(']')
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(unquoted(c.text[at:stringEnd(c.text, at)]))
		}
	}
	return b.String()
}

func (c *checker) literal(word string) bool {
	if len(c.text)-c.pos < len(word) || string(c.text[c.pos:c.pos+len(word)]) != word {
		return false
	}
	c.pos += len(word)
	return true
}

// number reads a number (RFC 8259 section 6).
func (c *checker) number() bool {
	if c.at('-') {
		c.pos++
	}
	if c.at('0') {
		c.pos++
	} else if !c.digits() {
		return false
	}
	if c.at('.') {
		c.pos++
		if !c.digits() {
			return false
		}
	}
	if c.at('e') || c.at('E') {
		c.pos++
		if c.at('+') || c.at('-') {
			c.pos++
		}
		return c.digits()
	}
	return true
}

func (c *checker) at(b byte) bool { return c.pos < len(c.text) && c.text[c.pos] == b }

func (c *checker) digits() bool {
	start := c.pos
	for c.pos < len(c.text) && isDigit(c.text[c.pos]) {
		c.pos++
	}
	return c.pos > start
}

// str reads a string (RFC 8259 section 7).
func (c *checker) str() bool {
	text, i := c.text, c.pos+1
	for {
		for i <= len(text)-8 {
			x := load64(text, i)
			c.highBits |= x | (x + lowBits)
			n := firstSpecial(x)
			if i += n; n < 8 {
				break
			}
		}
		for i < len(text) && text[i] >= ' ' && text[i] != '"' && text[i] != '\\' {
			c.highBits |= uint64(text[i]) | uint64(text[i]+1)
			i++
		}
		switch {
		case i >= len(text) || text[i] < ' ':
			return false
		case text[i] == '"':
			c.pos = i + 1
			return true
		}
		n := escapeLen(text[i:])
		if n == 0 {
			return false
		}
		i += n
	}
}

// escapeLen returns the length of the escape at the start of text, 0 if it is invalid.
func escapeLen(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(text) >= 6 && isHex(text[2]) && isHex(text[3]) && isHex(text[4]) && isHex(text[5]) {
			return 6
		}
	}
	return 0
}

func isHex(b byte) bool { return isDigit(b) || 'a' <= b|0x20 && b|0x20 <= 'f' }

// firstSpecial returns the index of the first of eight bytes that is a quotation mark,
// a backslash or a control character, 8 if there is none. In each of the three terms
// only the lowest bit set is reliable.
func firstSpecial(eight uint64) int {
	quote, slash := eight^'"'*lowBits, eight^'\\'*lowBits
	m := (quote-lowBits)&^quote | (slash-lowBits)&^slash | (eight-' '*lowBits)&^eight
	return bits.TrailingZeros64(m&highBits) / 8
}
