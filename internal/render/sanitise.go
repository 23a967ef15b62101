package render

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Safe returns s fit for a terminal and on one line. Characters that act on a
// terminal or that hide or reorder text become visible escapes: \x1b for
// control characters (C0, DEL, C1) and for bytes that are not UTF-8, \u202e or
// \U000e0041 for bidirectional controls, zero-width characters, tags, line
// separators and variation selectors that select nothing. Line breaks and tabs
// are escaped too. Text of every script passes as it is, and a string with
// nothing to escape is returned without a copy.
//
// The escapes are for the eye: a backslash of the text itself stays single, so
// they can't be undone, and Safe of a safe string is that string.
func Safe(s string) string {
	i := firstUnsafe(s)
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:i])
	before := lastRune(s[:i])
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			writeEscape(&b, 'x', rune(s[i]), 2)
			before = 0
		case unsafeAfter(r, before):
			escapeRune(&b, r)
			before = 0
		default:
			b.WriteString(s[i : i+n])
			before = r
		}
		i += n
	}
	return b.String()
}

// Lines returns the lines of s, each of them [Safe], without trailing white
// space and without the empty ones at the beginning and end. A line ends with
// LF, CR or both.
func Lines(s string) []string {
	var lines []string
	for s != "" {
		line := s
		if i := strings.IndexAny(s, "\r\n"); i < 0 {
			s = ""
		} else {
			line = s[:i]
			if strings.HasPrefix(s[i:], "\r\n") {
				i++
			}
			s = s[i+1:]
		}
		line = strings.TrimRightFunc(strings.ReplaceAll(line, "\t", " "), unicode.IsSpace)
		if line == "" && len(lines) == 0 {
			continue
		}
		lines = append(lines, Safe(line))
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// firstUnsafe returns where the first character stands that Safe escapes, or
// len(s).
func firstUnsafe(s string) int {
	var before rune
	for i := 0; i < len(s); {
		if c := s[i]; 0x20 <= c && c < 0x7f {
			before = rune(c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || unsafeAfter(r, before) {
			return i
		}
		before = r
		i += n
	}
	return len(s)
}

func lastRune(s string) rune {
	if s == "" {
		return 0
	}
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// unsafeAfter reports whether r, coming after before (0 at the beginning and
// after an escape), must not be shown as it is.
func unsafeAfter(r, before rune) bool {
	if isSelector(r) {
		return !selects(r, before)
	}
	return isUnsafe(r)
}

// isUnsafe reports whether r acts instead of being seen, wherever it stands.
func isUnsafe(r rune) bool {
	switch {
	case r < 0x20, 0x7f <= r && r <= 0x9f:
		return true
	case r < 0xa0:
		return false
	case r == 0x00ad, r == 0x034f: // soft hyphen, grapheme joiner
		return true
	case r < 0x0600:
		return false
	case r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0: // Hangul fillers: letters that are blank
		return true
	case r == 0x17b4, r == 0x17b5: // Khmer vowels that are never shown
		return true
	case r == 0x2028, r == 0x2029:
		return true
	case r&0xfffe == 0xfffe, 0xfdd0 <= r && r <= 0xfdef: // noncharacters
		return true
	case 0xe0000 <= r && r <= 0xe0fff: // tags and what Unicode keeps beside them, invisible all
		return true
	}
	return unicode.Is(unicode.Cf, r) && !isVisibleFormat(r)
}

// isVisibleFormat reports whether r is one of the format characters that are
// drawn: number signs, year signs and verse marks written before digits.
func isVisibleFormat(r rune) bool {
	switch {
	case 0x0600 <= r && r <= 0x0605, r == 0x06dd, r == 0x070f, r == 0x0890, r == 0x0891, r == 0x08e2:
		return true
	case r == 0x110bd, r == 0x110cd:
		return true
	}
	return false
}

func isSelector(r rune) bool {
	return 0xfe00 <= r && r <= 0xfe0f || 0xe0100 <= r && r <= 0xe01ef || 0x180b <= r && r <= 0x180f && r != 0x180e
}

// selects reports whether the variation selector r has something to select. One
// after another, or after plain text, only carries hidden data.
func selects(r, before rune) bool {
	switch {
	case r == 0xfe0e, r == 0xfe0f:
		// Emoji or text style; "1", "#" and "*" make keycaps.
		return before == '#' || before == '*' || '0' <= before && before <= '9' ||
			before >= 0xa0 && unicode.In(before, unicode.S, unicode.P, unicode.Nl, unicode.No)
	case r < 0x1810: // Mongolian
		return unicode.Is(unicode.Mongolian, before) && !isSelector(before)
	case r >= 0xe0100: // ideographs
		return unicode.Is(unicode.Han, before)
	default:
		return before >= 0xa0 && unicode.In(before, unicode.L, unicode.S)
	}
}

func escapeRune(b *strings.Builder, r rune) {
	switch {
	case r < 0x100:
		writeEscape(b, 'x', r, 2)
	case r < 0x10000:
		writeEscape(b, 'u', r, 4)
	default:
		writeEscape(b, 'U', r, 8)
	}
}

const hexDigits = "0123456789abcdef"

func writeEscape(b *strings.Builder, kind byte, r rune, digits int) {
	b.WriteByte('\\')
	b.WriteByte(kind)
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		b.WriteByte(hexDigits[r>>shift&15])
	}
}
