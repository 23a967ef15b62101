package client

import "strings"

// The words of EPP and of RDAP for the same status (RFC 8056 section 2). Where
// they differ only by camel case, the words need no table.
var eppNames = [...]struct{ epp, rdap string }{
	{"ok", "active"},
	{"linked", "associated"},
}

// RDAPStatus returns the RDAP word for a status: "client transfer prohibited"
// for "clientTransferProhibited", "active" for "ok" (RFC 8056). What is
// already RDAP's comes back in lower case. The list of statuses is open;
// unknown ones are treated the same way.
func RDAPStatus(status string) string {
	status = strings.TrimSpace(status)
	for _, n := range eppNames {
		if strings.EqualFold(status, n.epp) {
			return n.rdap
		}
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

// EPPStatus returns the EPP word for an RDAP status: "clientTransferProhibited"
// for "client transfer prohibited", "ok" for "active" (RFC 8056). A status that
// EPP does not have comes back in the same camel case.
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

// camelCase reports whether s is lower-case letters with capitals inside.
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
