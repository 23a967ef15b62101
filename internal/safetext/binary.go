package safetext

import "unicode/utf8"

// IsBinary reports whether a body is no text: more than one in ten of its first
// characters are controls or not UTF-8.
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
