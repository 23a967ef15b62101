package safetext

import (
	"fmt"
	"strings"
)

// MaxQuoted limits untrusted text in a message, in bytes.
const MaxQuoted = 240

// Quote returns untrusted text for a message, quoted, on one line, and truncated.
func Quote(s string) string { return `"` + Visible(s) + `"` }

// Visible returns untrusted text for a message without quotes: control, bidirectional
// and line-separating characters become escapes, white space is folded, and long text
// is truncated.
func Visible(s string) string {
	if isVisible(s) {
		return s
	}
	var b strings.Builder
	for _, word := range strings.Fields(s) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		before := rune(' ')
		for _, r := range word {
			if b.Len() >= MaxQuoted {
				b.WriteString("…")
				return b.String()
			}
			switch unsafe := UnsafeAfter(r, before); {
			case unsafe && r > 0xffff:
				fmt.Fprintf(&b, `\U%08x`, r)
			case unsafe:
				fmt.Fprintf(&b, `\u%04x`, r)
			default:
				b.WriteRune(r)
				before = r
				continue
			}
			before = 0
		}
	}
	return b.String()
}

// isVisible reports whether Visible returns s unchanged, because s is short and single spaces
// separate its words of printable ASCII.
func isVisible(s string) bool {
	if len(s) > MaxQuoted {
		return false
	}
	before := byte(' ')
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || s[i] == ' ' && before == ' ' {
			return false
		}
		before = s[i]
	}
	return s == "" || before != ' '
}
