package rdap

import (
	"math/bits"

	"github.com/go-json-experiment/json/jsontext"
)

// The functions of this file find their way in JSON that has been found
// valid, which takes a fraction of the time of reading it with all checks once
// more. On other text they give wrong answers, but always end, and never leave
// the text.

// separator stands in kindOf for what may stand between values.
const separator jsontext.Kind = 1

// kindOf has for each byte the kind of the value that begins with it or of the
// bracket that it is.
var kindOf = [256]jsontext.Kind{
	' ': separator, '\t': separator, '\n': separator, '\r': separator, ',': separator, ':': separator,
	'n': jsontext.KindNull, 'f': jsontext.KindFalse, 't': jsontext.KindTrue, '"': jsontext.KindString,
	'{': jsontext.KindBeginObject, '}': jsontext.KindEndObject,
	'[': jsontext.KindBeginArray, ']': jsontext.KindEndArray,
	'-': jsontext.KindNumber, '0': jsontext.KindNumber, '1': jsontext.KindNumber, '2': jsontext.KindNumber,
	'3': jsontext.KindNumber, '4': jsontext.KindNumber, '5': jsontext.KindNumber, '6': jsontext.KindNumber,
	'7': jsontext.KindNumber, '8': jsontext.KindNumber, '9': jsontext.KindNumber,
}

// valueEnd returns where the value ends that begins at i.
func valueEnd(text []byte, i int) int {
	if i >= len(text) {
		return len(text)
	}
	switch text[i] {
	case '"':
		return stringEnd(text, i)
	case '{', '[':
		return containerEnd(text, i)
	}
	for i++; i < len(text); i++ {
		switch kindOf[text[i]] {
		case separator, jsontext.KindEndObject, jsontext.KindEndArray:
			return i
		}
	}
	return i
}

// containerEnd returns where the object or array ends that begins at i.
func containerEnd(text []byte, i int) int {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			i = stringEnd(text, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return i
}

// stringEnd returns where the string ends that begins at i, quotation marks
// included.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		for i <= len(text)-8 {
			n := firstQuote(load64(text, i))
			if i += n; n < 8 {
				break
			}
		}
		for i < len(text) && text[i] != '"' {
			i++
		}
		if i < len(text) && (text[i-1] != '\\' || !escaped(text, i)) {
			return i + 1
		}
	}
	return len(text)
}

// escaped reports whether what stands at i is meant literally, because an odd
// number of backslashes stands before it. Strings begin with none.
func escaped(text []byte, i int) bool {
	slashes := 0
	for slashes < i && text[i-1-slashes] == '\\' {
		slashes++
	}
	return slashes%2 == 1
}

// load64 returns eight bytes of text, the first one lowest. The compiler makes
// one load of it.
func load64(text []byte, i int) uint64 {
	_ = text[i+7]
	return uint64(text[i]) | uint64(text[i+1])<<8 | uint64(text[i+2])<<16 | uint64(text[i+3])<<24 |
		uint64(text[i+4])<<32 | uint64(text[i+5])<<40 | uint64(text[i+6])<<48 | uint64(text[i+7])<<56
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x80 * lowBits
)

// isPlain reports whether all of eight bytes are under 0x7f.
func isPlain(eight uint64) bool { return (eight|(eight+lowBits))&highBits == 0 }

// allPlain reports whether all bytes of text are under 0x7f.
func allPlain(text []byte) bool {
	for ; len(text) >= 8; text = text[8:] {
		if !isPlain(load64(text, 0)) {
			return false
		}
	}
	for _, b := range text {
		if b >= 0x7f {
			return false
		}
	}
	return true
}

// firstQuote returns which of eight bytes is the first quotation mark, 8 if
// none is.
func firstQuote(eight uint64) int {
	x := eight ^ '"'*lowBits
	return bits.TrailingZeros64((x-lowBits)&^x&highBits) / 8
}
