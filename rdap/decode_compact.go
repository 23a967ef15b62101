package rdap

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rdapq/rdapq/internal/safetext"
)

// Compact appends to dst the JSON document raw as one line: white space
// outside strings is removed, as is a byte-order mark; members, their order,
// repeated names and the spelling of numbers and escapes stay as they are.
// Bytes that are not UTF-8 become U+FFFD, and what is not seen (controls, line
// separators, bidirectional controls, zero width, tags) becomes \u escapes, which
// mean the same; warnings say what was changed beyond white space. The error is a
// [*FormatError] for what is not JSON or nests more than 100
// deep; dst then comes back as it was.
func Compact(dst, raw []byte) (out []byte, warnings []string, err error) {
	raw = trimBOM(raw)
	if tooDeep(raw) {
		return dst, nil, errTooDeep()
	}
	src := raw
	if hasHidden(raw) {
		src, warnings = clean(raw)
	}
	if isValid(src) {
		return appendMinified(dst, src), warnings, nil
	}
	// Line breaks and tabs within strings are not JSON, and servers send them.
	src, warnings = clean(raw)
	first, followed, err := firstValue(src)
	if err != nil {
		return dst, nil, syntaxError(err)
	}
	if followed {
		warnings = append(warnings, "data after the JSON document was omitted")
	}
	return appendMinified(dst, first), warnings, nil
}

// appendMinified appends src, which is valid JSON, without the white space between
// its tokens.
func appendMinified(dst, src []byte) []byte {
	from := 0
	for i := 0; i < len(src); {
		switch src[i] {
		case '"':
			i = stringEnd(src, i)
		case ' ', '\t', '\n', '\r':
			dst = append(dst, src[from:i]...)
			for i++; i < len(src) && src[i] <= ' '; i++ {
				continue
			}
			from = i
		default:
			i++
		}
	}
	return append(dst, src[from:]...)
}

// hasHidden reports whether raw holds bytes that are not UTF-8 or characters
// that must not stand in a row as they are. Those under U+0020 don't count:
// outside strings they are white space, inside they are not JSON at all.
func hasHidden(raw []byte) bool {
	for i := 0; i < len(raw); {
		if i+8 <= len(raw) && isPlain(load64(raw, i)) {
			i += 8
			continue
		}
		if c := raw[i]; c < 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && n == 1 || unsafeAt(raw, i, r) {
			return true
		}
		i += n
	}
	return false
}

// unsafeAt reports whether r, which is at i of raw, must not be printed as it is.
func unsafeAt(raw []byte, i int, r rune) bool {
	if !safetext.IsSelector(r) {
		return safetext.Unsafe(r)
	}
	before, _ := utf8.DecodeLastRune(raw[:i])
	return safetext.UnsafeAfter(r, before)
}

// appendEscape appends r as JSON's \u escape, two of them beyond U+FFFF.
func appendEscape(dst []byte, r rune) []byte {
	if r < 0x10000 {
		return fmt.Appendf(dst, `\u%04x`, r)
	}
	high, low := utf16.EncodeRune(r)
	return fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
}

// clean returns a copy of raw in UTF-8 with hidden characters in strings as
// escapes.
func clean(raw []byte) (out []byte, warnings []string) {
	out = make([]byte, 0, len(raw)+64)
	var broken, control int
	inString, escaped := false, false
	var before rune // for variation selectors; 0 after an escape
	for i := 0; i < len(raw); {
		r, n := rune(raw[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(raw[i:])
		}
		switch {
		case r == utf8.RuneError && n == 1:
			out = utf8.AppendRune(out, utf8.RuneError)
			broken++
			escaped, before = false, utf8.RuneError
		case inString && !escaped && safetext.UnsafeAfter(r, before):
			// After a backslash an escape would change what the text says.
			out = appendEscape(out, r)
			if r < 0x20 {
				control++
			}
			before = 0
		default:
			out = append(out, raw[i:i+n]...)
			before = r
			switch {
			case !inString:
				inString = r == '"'
			case escaped:
				escaped = false
			case r == '\\':
				escaped = true
			case r == '"':
				inString = false
			}
		}
		i += n
	}
	if broken > 0 {
		warnings = append(warnings, fmt.Sprintf("%d bytes that are not UTF-8 became U+FFFD", broken))
	}
	if control > 0 {
		warnings = append(warnings, fmt.Sprintf("%d control characters that are not allowed in JSON strings became escapes", control))
	}
	return out, warnings
}
