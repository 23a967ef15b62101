package render

import (
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rdapq/rdapq/internal/safetext"
)

// appendString appends s as a JSON string on one line that is safe for a terminal. Characters
// that [Safe] escapes become equivalent \u escapes. Bytes that are not UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	var before rune // previous character, which decides about a variation selector; 0 after an escape
	for i := 0; i < len(s); {
		c := s[i]
		if isPlain[c] {
			for i++; i < len(s) && isPlain[s[i]]; i++ {
			}
			before = rune(s[i-1])
			continue
		}
		if c < utf8.RuneSelf {
			before = rune(c)
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = appendUnit(dst, uint16(c))
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if broken := r == utf8.RuneError && n == 1; broken || safetext.UnsafeAfter(r, before) {
			dst = append(dst, s[start:i]...)
			if broken {
				dst = utf8.AppendRune(dst, utf8.RuneError)
			} else {
				dst = appendEscape(dst, r)
			}
			start = i + n
			r = 0
		}
		before = r
		i += n
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// isPlain states which bytes appendString copies without inspection of the next byte: ASCII
// without control characters, '"' and the backslash.
var isPlain = func() (plain [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		plain[c] = c != '"' && c != '\\'
	}
	return plain
}()

// appendEscape appends r as a JSON \u escape, or beyond U+FFFF as a surrogate pair.
func appendEscape(dst []byte, r rune) []byte {
	if r < 0x10000 {
		return appendUnit(dst, uint16(r))
	}
	high, low := utf16.EncodeRune(r)
	return appendUnit(appendUnit(dst, uint16(high)), uint16(low))
}

func appendUnit(dst []byte, u uint16) []byte {
	return append(dst, '\\', 'u', hexDigits[u>>12], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}

// An object appends the members of one JSON object. It omits members without a value.
type object struct {
	dst   []byte
	begun bool
}

func (o *object) key(name string) {
	if o.begun {
		o.dst = append(o.dst, ',')
	}
	o.begun = true
	o.dst = append(o.dst, '"')
	o.dst = append(o.dst, name...)
	o.dst = append(o.dst, '"', ':')
}

func (o *object) str(name, value string) {
	if value != "" {
		o.key(name)
		o.dst = appendString(o.dst, value)
	}
}

func (o *object) list(name string, values []string) {
	if len(values) == 0 {
		return
	}
	o.key(name)
	o.elements(values)
}

// elements appends an array of strings.
func (o *object) elements(values []string) {
	o.dst = append(o.dst, '[')
	for i, v := range values {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		o.dst = appendString(o.dst, v)
	}
	o.dst = append(o.dst, ']')
}

func (o *object) integer(name string, value int64) {
	if value != 0 {
		o.key(name)
		o.dst = appendInt(o.dst, value)
	}
}

func (o *object) boolean(name string, value bool) {
	o.key(name)
	if value {
		o.dst = append(o.dst, "true"...)
	} else {
		o.dst = append(o.dst, "false"...)
	}
}
