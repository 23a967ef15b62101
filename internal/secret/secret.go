// Package secret finds known secrets in responses and output: verbatim, percent-encoded,
// and escaped as in JSON. It does not depend on the origin of secrets.
package secret

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// MinLength is the minimum length of a secret, in bytes. Shorter secrets would match unrelated
// text.
const MinLength = 8

// Replacement replaces a secret in text.
const Replacement = "REDACTED"

// A Set is a set of known secrets. A nil Set is empty. It is safe for concurrent use.
type Set struct {
	forms    [][]byte // spellings of all secrets, longest first
	replacer *strings.Replacer
}

// NewSet returns a Set of the secrets with at least MinLength bytes, or nil if there
// are none.
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

// forms returns the spellings of a secret.
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

// lowerHex converts the digits of percent-encoding to lower case.
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

// In reports whether b contains a secret.
func (s *Set) In(b []byte) bool {
	return s != nil && slices.ContainsFunc(s.forms, func(form []byte) bool { return bytes.Contains(b, form) })
}

// InURL reports whether u contains a secret, in any part and spelling.
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

// Bytes returns b with each secret replaced, and reports whether it found a secret. It does not
// modify b.
func (s *Set) Bytes(b []byte) (redacted []byte, found bool) {
	if !s.In(b) {
		return b, false
	}
	return []byte(s.replacer.Replace(string(b))), true
}

// JSON is like Bytes for JSON text, where any character of a secret may be escaped.
func (s *Set) JSON(b []byte) (redacted []byte, found bool) {
	if s == nil || bytes.IndexByte(b, '\\') < 0 {
		return s.Bytes(b)
	}
	plain, at := unescape(b)
	end := 0 // end of the copied part of b
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

// prefix returns the length of the secret at the start of b, or 0 if there is none.
func (s *Set) prefix(b []byte) int {
	for _, form := range s.forms {
		if bytes.HasPrefix(b, form) {
			return len(form)
		}
	}
	return 0
}

// unescape returns JSON text with its escapes resolved, and for each byte its offset in
// b. The last offset is the length of b.
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

// escapeLength returns the length of the escape at the start of b, or of the surrogate pair.
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

// String is like Bytes for a string.
func (s *Set) String(text string) (redacted string, found bool) {
	if s == nil {
		return text, false
	}
	redacted = s.replacer.Replace(text)
	return redacted, redacted != text
}

// keyWords lists words that occur in the names of query parameters with secret values.
var keyWords = []string{"key", "token", "auth", "pass", "pwd", "secret", "sig", "jwt", "session", "credential", "farv1_id"}

// IsKey reports whether a query parameter with the name has a secret value.
func IsKey(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(keyWords, func(word string) bool { return strings.Contains(name, word) })
}

// OfURL returns the secrets in a URL: the password, and the values of parameters whose names
// satisfy IsKey.
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
