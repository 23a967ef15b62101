package weburl

import "strings"

// EscapeSegment percent-encodes a path segment (RFC 3986). Unlike url.PathEscape, it encodes
// "&", "=", "+" and "$", which some servers decode as a form. It also encodes a segment of only
// dots, which would mean the current or the parent directory.
func EscapeSegment(s string) string {
	dots := s == "." || s == ".."
	return escape(s, func(c byte) bool {
		return isAlnum(c) || c == '-' || c == '_' || c == '~' || c == ':' || c == '.' && !dots
	})
}

// EscapeValue percent-encodes a name or value of a query string. It keeps the "*" of a
// pattern and the ":" and "," of sort properties, which servers expect unescaped.
func EscapeValue(s string) string {
	return escape(s, func(c byte) bool { return isAlnum(c) || strings.IndexByte("-._~*:,", c) >= 0 })
}

// EscapeIRI percent-encodes characters that are invalid in a URL (RFC 3987 section
// 3.1).
func EscapeIRI(s string) string {
	return escape(s, func(c byte) bool { return c > 0x20 && c < 0x7f && c != '"' && c != '<' && c != '>' })
}

// escape percent-encodes all bytes except those that keep accepts.
func escape(s string, keep func(byte) bool) string {
	const hex = "0123456789ABCDEF"
	first := 0
	for first < len(s) && keep(s[first]) {
		first++
	}
	if first == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:first])
	for i := first; i < len(s); i++ {
		if c := s[i]; keep(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
