// Package jsonscan validates JSON and finds values in valid JSON without decoding it. A
// [Checker] validates one text and reports members to its [Hooks]; the functions navigate text
// that is already known to be valid. The package is independent of RDAP: the hooks decide which
// members matter.
package jsonscan

import (
	"bytes"
	"math/bits"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxNesting limits how deep arrays and objects may nest. Real responses stay under
// 20.
const MaxNesting = 100

// The functions of this file navigate JSON that is known to be valid, which takes a fraction of
// the time of parsing it again. For other text, the results are wrong, but the functions
// terminate and stay within the text.

// Separator is the kind of bytes between values.
const Separator jsontext.Kind = 1

// KindOf maps a byte to the kind of the value or bracket that starts with it.
var KindOf = [256]jsontext.Kind{
	' ': Separator, '\t': Separator, '\n': Separator, '\r': Separator, ',': Separator, ':': Separator,
	'n': jsontext.KindNull, 'f': jsontext.KindFalse, 't': jsontext.KindTrue, '"': jsontext.KindString,
	'{': jsontext.KindBeginObject, '}': jsontext.KindEndObject,
	'[': jsontext.KindBeginArray, ']': jsontext.KindEndArray,
	'-': jsontext.KindNumber, '0': jsontext.KindNumber, '1': jsontext.KindNumber, '2': jsontext.KindNumber,
	'3': jsontext.KindNumber, '4': jsontext.KindNumber, '5': jsontext.KindNumber, '6': jsontext.KindNumber,
	'7': jsontext.KindNumber, '8': jsontext.KindNumber, '9': jsontext.KindNumber,
}

// ValueEnd returns the end of the value that starts at i.
func ValueEnd(text []byte, i int) int {
	if i >= len(text) {
		return len(text)
	}
	switch text[i] {
	case '"':
		return StringEnd(text, i)
	case '{', '[':
		return containerEnd(text, i)
	}
	for i++; i < len(text); i++ {
		switch KindOf[text[i]] {
		case Separator, jsontext.KindEndObject, jsontext.KindEndArray:
			return i
		}
	}
	return i
}

// containerEnd returns the end of the object or array that starts at i.
func containerEnd(text []byte, i int) int {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			i = StringEnd(text, i)
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

// StringEnd returns the end of the string that starts at i, including the closing
// quote.
func StringEnd(text []byte, i int) int {
	for i++; i <= len(text)-8; {
		quotes := matches(Load64(text, i), '"')
		if quotes == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(quotes) / 8
		if text[i-1] != '\\' || !escaped(text, i) {
			return i + 1
		}
		i++
	}
	for ; i < len(text); i++ {
		if text[i] == '"' && (text[i-1] != '\\' || !escaped(text, i)) {
			return i + 1
		}
	}
	return len(text)
}

// escaped reports whether the byte at i is escaped, because an odd number of backslashes
// precedes it. Strings do not start with a backslash.
func escaped(text []byte, i int) bool {
	slashes := 0
	for slashes < i && text[i-1-slashes] == '\\' {
		slashes++
	}
	return slashes%2 == 1
}

// Load64 returns eight bytes of text, the first one lowest. The compiler turns the function
// into one load.
func Load64(text []byte, i int) uint64 {
	_ = text[i+7]
	return uint64(text[i]) | uint64(text[i+1])<<8 | uint64(text[i+2])<<16 | uint64(text[i+3])<<24 |
		uint64(text[i+4])<<32 | uint64(text[i+5])<<40 | uint64(text[i+6])<<48 | uint64(text[i+7])<<56
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x80 * lowBits
)

// IsPlain reports whether all eight bytes are below 0x7f.
func IsPlain(eight uint64) bool { return (eight|(eight+lowBits))&highBits == 0 }

// AllPlain reports whether all bytes of text are below 0x7f.
func AllPlain(text []byte) bool {
	for ; len(text) >= 8; text = text[8:] {
		if !IsPlain(Load64(text, 0)) {
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

// matches finds the first of eight bytes that equals b. The lowest bit set in the result is the
// highest bit of that byte; the result is 0 if there is none.
func matches(eight uint64, b byte) uint64 {
	x := eight ^ uint64(b)*lowBits
	return (x - lowBits) &^ x & highBits
}

// TooDeep reports whether brackets nest deeper than MaxNesting. The result may be wrong
// for invalid JSON, which the decoder rejects anyway.
func TooDeep(raw []byte) bool {
	if bytes.Count(raw, []byte{'['})+bytes.Count(raw, []byte{'{'}) <= MaxNesting {
		return false
	}
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '[', '{':
			if depth++; depth > MaxNesting {
				return true
			}
		case ']', '}':
			depth--
		case '"':
			i = StringEnd(raw, i) - 1
		}
	}
	return false
}

// IsDigit reports whether b is an ASCII digit.
func IsDigit(b byte) bool { return '0' <= b && b <= '9' }

// Unquote returns the content of a JSON string. Bytes that are not UTF-8 become
// U+FFFD.
func Unquote(quoted []byte) string {
	if len(quoted) > 1 && bytes.IndexByte(quoted, '\\') < 0 && utf8.Valid(quoted) {
		return string(quoted[1 : len(quoted)-1])
	}
	b, _ := jsontext.AppendUnquote(nil, quoted) // the only possible error means that bytes became U+FFFD
	return string(b)
}
