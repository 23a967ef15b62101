package render

import (
	"strings"

	"github.com/rdapq/rdapq/internal/secret"
)

// redactURL returns the URL s without user name and password, and with the
// values of parameters that carry keys replaced. All else stays as it is.
func redactURL(s string) string {
	at := strings.IndexByte(s, '@') >= 0
	query := strings.IndexByte(s, '?')
	if !at && query < 0 {
		return s
	}
	if at {
		s = dropUserinfo(s)
		query = strings.IndexByte(s, '?')
	}
	if query < 0 {
		return s
	}
	head, params := s[:query+1], s[query+1:]
	params, fragment, hasFragment := strings.Cut(params, "#")
	changed := false
	parts := strings.Split(params, "&")
	for i, part := range parts {
		name, value, ok := strings.Cut(part, "=")
		if ok && value != "" && secret.IsKey(name) {
			parts[i] = name + "=REDACTED"
			changed = true
		}
	}
	if !changed {
		return s
	}
	s = head + strings.Join(parts, "&")
	if hasFragment {
		s += "#" + fragment
	}
	return s
}

func dropUserinfo(s string) string {
	_, rest, ok := strings.Cut(s, "://")
	if !ok {
		return s
	}
	authority := rest
	if i := strings.IndexAny(rest, `/?#\`); i >= 0 {
		authority = rest[:i]
	}
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return s
	}
	return s[:len(s)-len(rest)] + rest[at+1:]
}
