package rdap

import (
	"slices"
	"strings"
)

// eppNames maps EPP to RDAP status values (RFC 8056 section 2), except those that
// differ only by camel case.
var eppNames = [...]struct{ epp, rdap string }{
	{"ok", "active"},
	{"linked", "associated"},
}

// knownStatuses lists the values of RFC 8056, RFC 9083 section 10.2.2 and the IANA
// registry of RDAP values.
var knownStatuses = [...]string{
	"active", "inactive", "locked", "associated", "validated", "proxy", "private", "removed", "obscured", "reserved",
	"administrative", "renew prohibited", "update prohibited", "transfer prohibited", "delete prohibited",
	"add period", "auto renew period", "renew period", "transfer period", "redemption period",
	"pending create", "pending delete", "pending renew", "pending restore", "pending transfer", "pending update",
	"client delete prohibited", "client hold", "client renew prohibited", "client transfer prohibited", "client update prohibited",
	"server delete prohibited", "server hold", "server renew prohibited", "server transfer prohibited", "server update prohibited",
}

// statusByLetters maps the letters of a status to the known status.
var statusByLetters = func() map[string]string {
	out := make(map[string]string)
	for _, status := range knownStatuses {
		out[strings.ReplaceAll(status, " ", "")] = status
	}
	for _, n := range eppNames {
		out[n.epp] = n.rdap
	}
	return out
}()

// RDAPStatus returns the RDAP form of a status (RFC 8056): "client transfer prohibited"
// for "clientTransferProhibited", "active" for "ok". Known statuses may be in any case,
// have "_" or "-" for spaces, and be followed by a URL, as EPP clients print them. RDAP
// values are returned in lower case. Unknown statuses in camel case are split into
// words.
func RDAPStatus(status string) string {
	status = strings.TrimSpace(status)
	if slices.Contains(knownStatuses[:], status) {
		return status
	}
	word, url, _ := strings.Cut(status, " ")
	if !strings.HasPrefix(url, "http") {
		word = status
	}
	if known, ok := statusByLetters[lettersOf(word)]; ok {
		return known
	}
	if !camelCase(status) {
		return strings.ToLower(status)
	}
	var b strings.Builder
	for i := range len(status) {
		if c := status[i]; c >= 'A' && c <= 'Z' {
			b.WriteByte(' ')
			b.WriteByte(c + 'a' - 'A')
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// lettersOf returns s in lower case without word separators.
func lettersOf(s string) string {
	if len(s) > 40 { // longer than any known status
		return ""
	}
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == ' ' || r == '_' || r == '-' {
			return -1
		}
		return r
	}, s))
}

// EPPStatus returns the EPP form of an RDAP status (RFC 8056):
// "clientTransferProhibited" for "client transfer prohibited", "ok" for "active". It
// converts statuses that EPP lacks to the same camel case.
func EPPStatus(status string) string {
	status = RDAPStatus(status)
	for _, n := range eppNames {
		if status == n.rdap {
			return n.epp
		}
	}
	first, rest, _ := strings.Cut(status, " ")
	var b strings.Builder
	b.WriteString(first)
	for word := range strings.FieldsSeq(rest) {
		c := word[0]
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		b.WriteByte(c)
		b.WriteString(word[1:])
	}
	return b.String()
}

// camelCase reports whether s consists of lower-case letters with capitals inside.
func camelCase(s string) bool {
	capitals := false
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z':
		case c >= 'A' && c <= 'Z' && i > 0:
			capitals = true
		default:
			return false
		}
	}
	return capitals
}
