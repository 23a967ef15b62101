package jsonscan

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// A Checker validates JSON (RFC 8259) and records the properties that an output row depends on.
// It accepts duplicate names and invalid UTF-8, and at most MaxNesting levels. It takes a third
// of the time of jsontext with a second pass, but does not describe errors. The zero Checker
// has no hooks.
type Checker struct {
	Hooks Hooks

	text      []byte
	pos       int
	hasSpace  bool   // there is white space between tokens
	hasEscape bool   // a string has an escape
	highBits  uint64 // has a bit of the constant highBits set unless all strings are plain ASCII

	long []Span // containers found so far; see LongContainers

	// offsets holds the position in each container. For an object it is the offset of the
	// current member's name, for an array ^n in item n. offsets[1] is for the outermost
	// container.
	offsets [MaxNesting + 1]int
}

// Hooks holds functions that a Checker calls while it validates a text. Each function may be
// nil. The rest of the text may be invalid. The byte slices are parts of the text.
type Hooks struct {
	// Member is called for each member of the outermost object. name has no quotation
	// marks; value is JSON.
	Member func(name, value []byte)

	// String is called for each member whose value is a string of MinString to MaxString bytes.
	// value is JSON; depth is the number of enclosing containers. The function returns the rank
	// of the member, or 0 if the member is irrelevant.
	String               func(depth int, value []byte) (rank int)
	MinString, MaxString int

	// Object is called at the end of each object for which String returned a rank. It gets the
	// JSON of the object, and value and rank of the last member with the highest rank.
	Object func(depth int, object, value []byte, rank int)
}

// A Span is a part of a text, from the offset Start up to End.
type Span struct{ Start, End int32 }

// Limits of the containers that a Checker records. A second search for the end of a shorter
// container takes less time than a record.
const (
	minLong  = 64
	maxLong  = 64
	maxCheck = math.MaxInt32 // larger texts have no record
)

// Check validates text and reports whether it is one object, with optional white space
// around it.
func (c *Checker) Check(text []byte) bool {
	c.text, c.pos, c.highBits, c.hasEscape, c.long = text, 0, 0, false, c.long[:0]
	if c.peek() != '{' {
		return false
	}
	c.hasSpace = false
	if !c.object(1) {
		return false
	}
	hasSpace := c.hasSpace
	c.peek()
	c.hasSpace = hasSpace
	return c.pos == len(text)
}

// Release drops the text.
func (c *Checker) Release() { c.text = nil }

// HasSpace reports whether the last object checked has white space between tokens.
func (c *Checker) HasSpace() bool { return c.hasSpace }

// HasEscape reports whether a string of the last object checked has an escape.
func (c *Checker) HasEscape() bool { return c.hasEscape }

// LongContainers returns objects and arrays of the last object checked, by their start. It
// returns the first 64 that are at least 64 bytes long and the value of a member. The next
// Check overwrites the slice.
func (c *Checker) LongContainers() []Span { return c.long }

// IsASCII reports whether all strings of the last object checked are ASCII without
// control characters.
func (c *Checker) IsASCII() bool { return c.highBits&highBits == 0 }

// peek returns the first byte of the next token, or 0 at the end.
func (c *Checker) peek() byte {
	if c.pos < len(c.text) && c.text[c.pos] > ' ' {
		return c.text[c.pos]
	}
	return c.afterSpace()
}

func (c *Checker) afterSpace() byte {
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
func (c *Checker) value(depth int) bool {
	switch c.peek() {
	case '"':
		return c.str()
	case '{':
		return c.object(depth + 1)
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

// object reads the next object.
func (c *Checker) object(depth int) bool {
	if depth > MaxNesting {
		return false
	}
	start := c.pos
	var ranked []byte // value with the highest rank
	best := 0
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
		isString := c.peek() == '"'
		value := c.pos
		c.offsets[depth] = name
		if isString && !c.str() || !isString && !c.memberValue(depth) {
			return false
		}
		v := c.text[value:c.pos]
		if n := len(v) - len(`""`); n >= c.Hooks.MinString && n <= c.Hooks.MaxString && v[0] == '"' && c.Hooks.String != nil {
			if rank := c.Hooks.String(depth, v); rank > 0 && rank >= best {
				ranked, best = v, rank
			}
		}
		if depth == 1 && c.Hooks.Member != nil {
			c.Hooks.Member(c.text[name+1:nameEnd-1], v)
		}
		switch c.peek() {
		case ',':
			c.pos++
		case '}':
			c.pos++
			if best > 0 && c.Hooks.Object != nil {
				c.Hooks.Object(depth, c.text[start:c.pos], ranked, best)
			}
			return true
		default:
			return false
		}
	}
}

// memberValue reads the value of a member and records it if it is a long container.
func (c *Checker) memberValue(depth int) bool {
	b := c.peek()
	n, start := len(c.long), c.pos
	if b != '[' && b != '{' || n == maxLong || len(c.text) > maxCheck {
		return c.value(depth)
	}
	c.long = append(c.long, Span{Start: int32(start)})
	if !c.value(depth) {
		return false
	}
	if c.pos-start < minLong {
		c.long = c.long[:n] // the containers in a short container are shorter still
	} else {
		c.long[n].End = int32(c.pos)
	}
	return true
}

// array reads the next array.
func (c *Checker) array(depth int) bool {
	if depth > MaxNesting {
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

// Member returns the name of the current member of the object at that depth. If an array is at
// that depth, it returns the name of the array's own member.
func (c *Checker) Member(depth int) []byte {
	if depth > 1 && c.offsets[depth] < 0 {
		depth--
	}
	if depth < 1 || c.offsets[depth] < 0 {
		return nil
	}
	name := c.offsets[depth]
	return c.text[name+1 : StringEnd(c.text, name)-1]
}

// Path returns the path of the current value at that depth.
func (c *Checker) Path(depth int) string {
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
			b.WriteString(Unquote(c.text[at:StringEnd(c.text, at)]))
		}
	}
	return b.String()
}

func (c *Checker) literal(word string) bool {
	if len(c.text)-c.pos < len(word) || string(c.text[c.pos:c.pos+len(word)]) != word {
		return false
	}
	c.pos += len(word)
	return true
}

// number reads a number (RFC 8259 section 6).
func (c *Checker) number() bool {
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

func (c *Checker) at(b byte) bool { return c.pos < len(c.text) && c.text[c.pos] == b }

func (c *Checker) digits() bool {
	start := c.pos
	for c.pos < len(c.text) && IsDigit(c.text[c.pos]) {
		c.pos++
	}
	return c.pos > start
}

// str reads a string (RFC 8259 section 7).
func (c *Checker) str() bool {
	text, i, high := c.text, c.pos+1, c.highBits
	for {
		for i <= len(text)-8 {
			x := Load64(text, i)
			high |= x | (x + lowBits)
			special := specials(x)
			if special != 0 {
				i += bits.TrailingZeros64(special) / 8
				break
			}
			i += 8
		}
		for i < len(text) && text[i] >= ' ' && text[i] != '"' && text[i] != '\\' {
			high |= uint64(text[i]) | uint64(text[i]+1)
			i++
		}
		switch {
		case i >= len(text) || text[i] < ' ':
			return false
		case text[i] == '"':
			c.pos, c.highBits = i+1, high
			return true
		}
		n := escapeLen(text[i:])
		if n == 0 {
			return false
		}
		c.hasEscape = true
		i += n
	}
}

// escapeLen returns the length of the escape at the start of text, or 0 if the escape is
// invalid.
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

func isHex(b byte) bool { return IsDigit(b) || 'a' <= b|0x20 && b|0x20 <= 'f' }

// specials finds the first of eight bytes that is a quotation mark, a backslash or a control
// character. The lowest bit set in the result is the highest bit of that byte; the result is 0
// if there is none. In each of the two terms only the lowest bit set is reliable.
func specials(eight uint64) uint64 {
	slash := eight ^ '\\'*lowBits
	low := eight ^ 2*lowBits // each byte is at most ' ' if the byte of eight is a quotation mark or below ' '
	return ((slash-lowBits)&^slash | (low-(' '+1)*lowBits)&^low) & highBits
}
