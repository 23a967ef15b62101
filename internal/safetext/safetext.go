// Package safetext holds the only table of characters that must not be printed unescaped. These
// characters control a terminal or a line, reorder text, or are invisible. It does not deal
// with formats, except for quoting in messages.
package safetext

import (
	"unicode"
	"unicode/utf8"
)

// Unsafe reports whether r must not be printed in any context. Such characters are C0 and C1
// controls, line separators, bidirectional controls, noncharacters, and characters that are
// blank or have no width (Unicode's default ignorable code points and format characters).
// [UnsafeAfter] covers variation selectors, except those among the tags.
func Unsafe(r rune) bool {
	switch {
	case r < 0x20, 0x7f <= r && r <= 0x9f:
		return true
	case r < 0xa0:
		return false
	case r == 0x00ad, r == 0x034f: // the soft hyphen and the grapheme joiner
		return true
	case r < 0x0600:
		return false
	case r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0: // Hangul fillers, which are blank letters
		return true
	case r == 0x17b4, r == 0x17b5: // Khmer vowels that are never displayed
		return true
	case r == 0x2028, r == 0x2029:
		return true
	case 0x2060 <= r && r <= 0x206f: // U+2065 is unassigned and ignorable, as are its neighbours
		return true
	case 0xfff0 <= r && r <= 0xfffb: // unassigned ignorable characters, and interlinear annotation
		return true
	case r&0xfffe == 0xfffe, 0xfdd0 <= r && r <= 0xfdef: // noncharacters
		return true
	case 0xe0000 <= r && r <= 0xe0fff: // tags and the reserved range around them, which are all invisible
		return true
	}
	return unicode.Is(unicode.Cf, r) && !isVisibleFormat(r)
}

// UnsafeAfter reports whether r must not be printed after before, which is 0 at the beginning
// of the text and after an escape. It equals [Unsafe] except for variation selectors: a
// selector is safe after a character of which it selects a form. Elsewhere it only carries
// hidden data.
func UnsafeAfter(r, before rune) bool {
	if IsSelector(r) {
		return !selects(r, before)
	}
	return Unsafe(r)
}

// IsSelector reports whether r is a variation selector.
func IsSelector(r rune) bool {
	return 0xfe00 <= r && r <= 0xfe0f || 0xe0100 <= r && r <= 0xe01ef || 0x180b <= r && r <= 0x180f && r != 0x180e
}

// isVisibleFormat reports whether r is a visible format character. These are number signs, year
// signs and verse marks before digits.
func isVisibleFormat(r rune) bool {
	switch {
	case 0x0600 <= r && r <= 0x0605, r == 0x06dd, r == 0x070f, r == 0x0890, r == 0x0891, r == 0x08e2:
		return true
	case r == 0x110bd, r == 0x110cd:
		return true
	}
	return false
}

// selects reports whether the variation selector r applies to before.
func selects(r, before rune) bool {
	switch {
	case r == 0xfe0e, r == 0xfe0f:
		// The selector chooses emoji or text style; "1", "#" and "*" make keycaps.
		return before == '#' || before == '*' || '0' <= before && before <= '9' ||
			before >= 0xa0 && unicode.In(before, unicode.S, unicode.P, unicode.Nl, unicode.No)
	case r < 0x1810: // selectors of Mongolian
		return unicode.Is(unicode.Mongolian, before) && !IsSelector(before)
	case r >= 0xe0100: // selectors of ideographs
		return unicode.Is(unicode.Han, before)
	default:
		return before >= 0xa0 && unicode.In(before, unicode.L, unicode.S)
	}
}

// IsBinary reports whether a body is not text: more than 10% of its first characters
// are controls or not UTF-8.
func IsBinary(body []byte) bool {
	head := body[:min(len(body), 1024)]
	bad, all := 0, 0
	for i := 0; i < len(head); all++ {
		r, n := utf8.DecodeRune(head[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			if len(head)-i >= utf8.UTFMax || len(head) == len(body) {
				bad++
			}
		case r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' && r != 0x1b, r == 0x7f:
			bad++
		}
		i += n
	}
	return bad*10 > all
}
