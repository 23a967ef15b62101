// Package pastetext removes what reports, messages and logs add to a name.
package pastetext

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// refang reverses the defanging of host names and URLs in security reports: "courbu[.]re", "hxxps://", "user[at]example.com".
func refang(s string) string {
	if strings.ContainsAny(s, `[({\`) {
		s = defangedMarks.ReplaceAllStringFunc(s, func(mark string) string {
			switch word := strings.ToLower(strings.Trim(mark, `[](){}\ `)); word {
			case "dot":
				return "."
			case "at":
				return "@"
			default:
				return word
			}
		})
	}
	if s != "" && s[0]|0x20 == 'h' && strings.Contains(s, ":") {
		if m := defangedScheme.FindStringSubmatch(s); m != nil {
			s = "http" + strings.ToLower(m[1]) + "://" + s[len(m[0]):]
		}
	}
	return s
}

var (
	defangedMarks = regexp.MustCompile(`(?i)[\[({] ?(?:\.|dot|@|at|://|//|:|/) ?[\])}]|\[\.|\.\]|\\\.`)
	// At least one letter of http is replaced; "http" itself does not match.
	defangedScheme = regexp.MustCompile(`(?i)^h(?:xx|x\*|\*x|xt|tx|\*\*|\*t|t\*)p(s?)(?:://|:/|:\\\\)`)
)

// Characters that surround names in running text and occur in no name.
const (
	openers = "<\"'`(\u2018\u201c\u00ab\u2039\u201e"
	closers = ">\"'`)]},;!?\u2019\u201d\u00bb\u203a\u2026"
)

// unwrap removes quotation marks, brackets and punctuation around a query. The
// final dot of an absolute name stays.
func unwrap(s string) string {
	for {
		before := s
		s = strings.TrimSpace(strings.TrimLeft(s, openers))
		if inner, ok := strings.CutPrefix(s, "["); ok && !strings.Contains(s, ":") {
			s = inner
		}
		s = strings.TrimPrefix(s, "{")
		switch last, size := utf8.DecodeLastRuneInString(s); {
		case size == 0:
			return s
		case last == ']' && strings.HasPrefix(s, "["): // keep the brackets of an IPv6 address
		case strings.ContainsRune(closers, last):
			s = s[:len(s)-size]
		case last == ':' && strings.Count(s, ":") == 1:
			s = s[:len(s)-1]
		case last == '.' && len(s) > 1:
			inner, _ := utf8.DecodeLastRuneInString(s[:len(s)-1])
			if inner == '.' && strings.Trim(s, ".") != "" || strings.ContainsRune(closers, inner) {
				s = s[:len(s)-1]
			}
		}
		if s = strings.TrimSpace(s); s == before {
			return s
		}
	}
}

// IsBare reports whether s has only characters of ASCII names, addresses and AS
// numbers, so that nothing can be removed from it.
func IsBare(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isAlnum(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return s == "" || s[0] != '.' && !strings.HasSuffix(s, "..")
}

// Clean removes text that reports, messages or logs add to a name, if the removal is
// unambiguous.
func Clean(s string) string {
	if IsBare(s) {
		return s
	}
	s = unwrap(refang(s))
	if len(s) > 1 && s[0] == '.' && s[1] != '.' { // ".com" means com
		s = s[1:]
	}
	return s
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
