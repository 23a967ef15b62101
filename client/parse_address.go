package client

import "strings"

// isURLOrMail says that s is no name but something that has one in it: a URL or an
// e-mail address.
func isURLOrMail(s string) bool { return strings.Contains(s, "://") || strings.Contains(s, "@") }

// hostOf returns the host of a URL, or the domain of an e-mail address.
func hostOf(s string) (string, error) {
	if strings.Contains(s, "://") {
		return hostOfURL(s)
	}
	return domainOfMail(s)
}

// hostOfURL cuts the host out of a URL, which need not be a good one otherwise:
// nothing else of it counts.
func hostOfURL(s string) (string, error) {
	scheme, rest, _ := strings.Cut(s, "://")
	if i := strings.IndexAny(rest, `/?#\`); i >= 0 {
		rest = rest[:i]
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if inner, ok := strings.CutPrefix(rest, "["); ok {
		if rest, _, ok = strings.Cut(inner, "]"); !ok {
			rest = ""
		}
	} else {
		rest, _, _ = strings.Cut(rest, ":")
	}
	if rest == "" || scheme == "" || strings.ContainsFunc(scheme, notInScheme) {
		return "", invalid(s, "this is no URL with a host in it", "write https://www.example.com/, or the name alone")
	}
	if !strings.EqualFold(scheme, "https") && !strings.EqualFold(scheme, "http") {
		return "", invalid(s, "a URL of the scheme "+quote(scheme)+" is not looked up", "write the host name alone: "+visible(rest))
	}
	return rest, nil
}

func notInScheme(r rune) bool {
	return r >= 0x80 || !isAlnum(byte(r)) && r != '+' && r != '-' && r != '.'
}

func domainOfMail(s string) (string, error) {
	if len(s) >= 7 && strings.EqualFold(s[:7], "mailto:") {
		s, _, _ = strings.Cut(s[7:], "?")
	}
	at := strings.LastIndexByte(s, '@')
	user, domain := s[:max(at, 0)], s[at+1:]
	if user == "" || domain == "" || strings.ContainsAny(user, "@ \t") {
		return "", invalid(s, "this is neither a name nor an e-mail address", "write user@example.com, or the domain alone")
	}
	return domain, nil
}
