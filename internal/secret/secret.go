// Package secret finds known secrets in text that a server sent or that a person
// is to see: as they are, percent-encoded, and escaped as in JSON.
package secret

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// MinLength is the length of a secret, in bytes, from which on it is looked for:
// shorter ones are found in texts that have nothing to do with them.
const MinLength = 8

// Replacement stands in a text where a secret was.
const Replacement = "REDACTED"

// A Set is a number of known secrets. A nil Set knows none. It is safe for
// concurrent use.
type Set struct {
	forms    [][]byte // of all secrets, longest first
	replacer *strings.Replacer
}

// NewSet returns a Set of those secrets that are long enough, nil if none is.
func NewSet(secrets []string) *Set {
	seen := make(map[string]bool)
	for _, s := range secrets {
		if len(s) < MinLength {
			continue
		}
		for _, form := range forms(s) {
			seen[form] = true
		}
	}
	if len(seen) == 0 {
		return nil
	}
	s := new(Set)
	for form := range seen {
		s.forms = append(s.forms, []byte(form))
	}
	slices.SortFunc(s.forms, func(a, b []byte) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return bytes.Compare(a, b)
	})
	var pairs []string
	for _, form := range s.forms {
		pairs = append(pairs, string(form), Replacement)
	}
	s.replacer = strings.NewReplacer(pairs...)
	return s
}

// forms are the spellings of a secret.
func forms(secret string) []string {
	list := []string{secret}
	for _, escaped := range []string{url.QueryEscape(secret), url.PathEscape(secret)} {
		list = append(list, escaped, lowerHex(escaped))
	}
	for _, html := range []bool{false, true} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(html)
		if e.Encode(secret) != nil {
			continue
		}
		quoted := strings.TrimSuffix(b.String(), "\n")
		inside := quoted[1 : len(quoted)-1]
		list = append(list, inside, strings.ReplaceAll(inside, "/", `\/`))
	}
	return list
}

// lowerHex writes the digits of percent-encoding in lower case.
func lowerHex(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}

// In reports whether b has a secret in it.
func (s *Set) In(b []byte) bool {
	return s != nil && slices.ContainsFunc(s.forms, func(form []byte) bool { return bytes.Contains(b, form) })
}

// InURL reports whether u has a secret in it, in any part and spelling.
func (s *Set) InURL(u *url.URL) bool {
	if s == nil {
		return false
	}
	text := u.String()
	if s.In([]byte(text)) {
		return true
	}
	for _, unescape := range []func(string) (string, error){url.PathUnescape, url.QueryUnescape} {
		if plain, err := unescape(text); err == nil && s.In([]byte(plain)) {
			return true
		}
	}
	return false
}

// Bytes returns b with each secret replaced, and whether there was one. It does
// not write to b.
func (s *Set) Bytes(b []byte) (redacted []byte, found bool) {
	if !s.In(b) {
		return b, false
	}
	return []byte(s.replacer.Replace(string(b))), true
}

// JSON is Bytes for a JSON text, in which any character of a secret may be
// written as an escape.
func (s *Set) JSON(b []byte) (redacted []byte, found bool) {
	if s == nil || bytes.IndexByte(b, '\\') < 0 {
		return s.Bytes(b)
	}
	plain, at := unescape(b)
	end := 0 // of what has been copied of b
	for i := 0; i < len(plain); {
		n := s.prefix(plain[i:])
		if n == 0 {
			i++
			continue
		}
		redacted = append(redacted, b[end:at[i]]...)
		redacted = append(redacted, Replacement...)
		i += n
		end, found = at[i], true
	}
	if !found {
		return s.Bytes(b)
	}
	return append(redacted, b[end:]...), true
}

// prefix returns the length of the secret that b begins with, 0 without one.
func (s *Set) prefix(b []byte) int {
	for _, form := range s.forms {
		if bytes.HasPrefix(b, form) {
			return len(form)
		}
	}
	return 0
}

// unescape returns a JSON text with the escapes in it resolved, and where each
// byte of that stands in b. A last entry is the length of b.
func unescape(b []byte) (plain []byte, at []int) {
	for i := 0; i < len(b); {
		n := 1
		if b[i] == '\\' {
			n = escapeLength(b[i:])
		}
		var c string
		if n == 1 || json.Unmarshal([]byte(`"`+string(b[i:i+n])+`"`), &c) != nil {
			c = string(b[i : i+n])
		}
		for range len(c) {
			at = append(at, i)
		}
		plain = append(plain, c...)
		i += n
	}
	return plain, append(at, len(b))
}

// escapeLength returns how long the escape is that b begins with; a pair of
// surrogates counts as one.
func escapeLength(b []byte) int {
	unit := func(b []byte) bool { return len(b) >= 6 && b[0] == '\\' && b[1] == 'u' }
	switch {
	case unit(b) && unit(b[6:]) && (b[2] == 'd' || b[2] == 'D'):
		return 12
	case unit(b):
		return 6
	}
	return min(2, len(b))
}

// String is Bytes for a string.
func (s *Set) String(text string) (redacted string, found bool) {
	if s == nil {
		return text, false
	}
	redacted = s.replacer.Replace(text)
	return redacted, redacted != text
}

// keyWords are in the names of query parameters whose values are secrets.
var keyWords = []string{"key", "token", "auth", "pass", "pwd", "secret", "sig", "jwt", "session", "credential", "farv1_id"}

// IsKey reports whether the value of a query parameter of that name is a secret.
func IsKey(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(keyWords, func(word string) bool { return strings.Contains(name, word) })
}

// OfURL returns the secrets in a URL: the password, and the values of query
// parameters that are named like keys.
func OfURL(u *url.URL) []string {
	var list []string
	if password, ok := u.User.Password(); ok {
		list = append(list, password)
	}
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, _ := strings.Cut(part, "=")
		if !IsKey(name) {
			continue
		}
		list = append(list, value)
		if plain, err := url.QueryUnescape(value); err == nil && plain != value {
			list = append(list, plain)
		}
	}
	return list
}
