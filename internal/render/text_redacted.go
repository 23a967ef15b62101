package render

import (
	"slices"
	"strings"

	"github.com/rdapq/rdapq/client"
)

// redactedRoles are the words that names of redacted fields begin with, in
// ICANN's response profile (appendix E) and in the field.
var redactedRoles = map[string][]string{
	"registrant":     {"registrant"},
	"administrative": {"admin", "administrative"},
	"technical":      {"tech", "technical"},
	"billing":        {"billing"},
}

// redactionsOf takes those redactions out of list that are about a contact with
// one of the roles. Their names lose the role: "Tech Email" is "Email".
func redactionsOf(list []client.Redaction, roles []string) (of, rest []client.Redaction) {
	for _, r := range list {
		if field, ok := fieldOf(r.Name, roles); ok {
			r.Name = field
			of = append(of, r)
		} else {
			rest = append(rest, r)
		}
	}
	return of, rest
}

func fieldOf(name string, roles []string) (string, bool) {
	name = strings.TrimSpace(name)
	if len(name) > len("Registry ") && strings.EqualFold(name[:len("Registry ")], "Registry ") {
		name = name[len("Registry "):]
	}
	first, field, ok := strings.Cut(name, " ")
	if !ok {
		return "", false
	}
	for _, role := range roles {
		for _, word := range redactedRoles[strings.ToLower(role)] {
			if strings.EqualFold(first, word) {
				return field, true
			}
		}
	}
	return "", false
}

// redactions writes what is redacted and belongs to no contact that is shown.
func (p *page) redactions(list []client.Redaction) {
	p.row("Redacted", redactionLines(list)...)
}

// redactionLines writes "Name, Street: redacted (Server policy)", one line for
// each way and reason.
func redactionLines(list []client.Redaction) []line {
	type group struct{ what, reason string }
	var order []group
	names := make(map[group][]string)
	for _, r := range list[:min(len(list), maxRedactions)] {
		g := group{methodWords(r.Method), r.Reason}
		if _, ok := names[g]; !ok {
			order = append(order, g)
		}
		if name := strings.TrimSpace(r.Name); name != "" && !slices.Contains(names[g], name) {
			names[g] = append(names[g], name)
		} else if names[g] == nil {
			names[g] = []string{}
		}
	}
	lines := make([]line, len(order))
	for i, g := range order {
		var l line
		if n := names[g]; len(n) > 0 {
			l = text(strings.Join(n, ", ") + ": ")
		}
		lines[i] = l.and(wary, g.what).note(g.reason)
	}
	return lines
}

// methodWords says what was done to a value (RFC 9537 section 3).
func methodWords(method string) string {
	switch {
	case strings.EqualFold(method, "partialValue"):
		return "partly redacted"
	case strings.EqualFold(method, "replacementValue"):
		return "redacted, something else stands in its place"
	}
	return "redacted"
}
