package render

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rdapq/rdapq/internal/safetext"
)

// Safe returns s on one line and safe for a terminal. Characters that control a terminal or
// that hide or reorder text become visible escapes. These are \x1b for control characters (C0,
// DEL, C1) and bytes that are not UTF-8. They are \u202e or \U000e0041 for bidirectional
// controls, zero-width characters, tags, line separators and variation selectors without
// effect. Safe also escapes line breaks and tabs. Text of any script is unchanged. If s has no
// such characters, Safe returns s itself.
//
// The escapes are for display only: a backslash in the text stays single, so escapes cannot be
// reversed, and Safe is idempotent.
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
		case safetext.UnsafeAfter(r, before):
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

// Lines returns the lines of s, each [Safe], without trailing white space and without
// empty lines at the beginning and end. A line ends with LF, CR or CR LF.
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

// firstUnsafe returns the offset of the first character that Safe escapes, or len(s).
func firstUnsafe(s string) int {
	var before rune
	for i := 0; i < len(s); {
		if c := s[i]; 0x20 <= c && c < 0x7f {
			before = rune(c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || safetext.UnsafeAfter(r, before) {
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
