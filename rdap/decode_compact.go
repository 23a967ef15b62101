package rdap

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rdapq/rdapq/internal/safetext"
	"github.com/rdapq/rdapq/rdap/internal/jsonscan"
)

// Compact appends the JSON document raw to dst as one line. It removes a byte-order mark and
// white space outside strings; members, their order, duplicate names and the spelling of
// numbers and escapes stay as sent. Bytes that are not UTF-8 become U+FFFD. Characters that
// cannot be seen (controls, line separators, bidirectional controls, zero width, tags) become
// equivalent \u escapes. warnings lists changes other than white space. If raw is not JSON or
// nests more than 100 levels deep, Compact returns a [*FormatError] and dst unchanged.
func Compact(dst, raw []byte) (out []byte, warnings []string, err error) {
	raw = trimBOM(raw)
	if jsonscan.TooDeep(raw) {
		return dst, nil, errTooDeep()
	}
	src := raw
	if hasHidden(raw) {
		src, warnings = clean(raw)
	}
	if isValid(src) {
		return appendMinified(dst, src), warnings, nil
	}
	// Some servers send line breaks and tabs within strings, which is not valid JSON.
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

// appendMinified appends src, which must be valid JSON, without white space between
// tokens.
func appendMinified(dst, src []byte) []byte {
	from := 0
	for i := 0; i < len(src); {
		switch src[i] {
		case '"':
			i = jsonscan.StringEnd(src, i)
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

// hasHidden reports whether raw contains bytes that are not UTF-8 or characters that must not
// appear in a row unescaped. It ignores controls below U+0020, which are white space outside
// strings and invalid inside strings.
func hasHidden(raw []byte) bool {
	for i := 0; i < len(raw); {
		if i+8 <= len(raw) && jsonscan.IsPlain(jsonscan.Load64(raw, i)) {
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

// unsafeAt reports whether r, at offset i of raw, must not be printed unescaped.
func unsafeAt(raw []byte, i int, r rune) bool {
	if !safetext.IsSelector(r) {
		return safetext.Unsafe(r)
	}
	before, _ := utf8.DecodeLastRune(raw[:i])
	return safetext.UnsafeAfter(r, before)
}

// appendEscape appends r as a JSON \u escape, or beyond U+FFFF as a surrogate pair.
func appendEscape(dst []byte, r rune) []byte {
	if r < 0x10000 {
		return fmt.Appendf(dst, `\u%04x`, r)
	}
	high, low := utf16.EncodeRune(r)
	return fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
}

// clean returns a copy of raw in UTF-8 with invisible characters in strings escaped.
func clean(raw []byte) (out []byte, warnings []string) {
	out = make([]byte, 0, len(raw)+64)
	var broken, control int
	inString, escaped := false, false
	var before rune // previous character, which decides about a variation selector; 0 after an escape
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
			// After a backslash an escape would change the meaning of the text.
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
