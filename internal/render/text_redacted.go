package render

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rdapq/rdapq/rdap"
)

// redactedRoles maps roles to the first words of redacted field names, as in ICANN's response
// profile (appendix E) and in practice.
var redactedRoles = map[string][]string{
	"registrant":     {"registrant"},
	"administrative": {"admin", "administrative"},
	"technical":      {"tech", "technical"},
	"billing":        {"billing"},
}

// redactionsOf separates the redactions in list that concern a contact with one of the roles.
// It removes the role from their names: "Tech Email" becomes "Email".
//
// If a path determines the contact, the path overrides the name.
func redactionsOf(list []rdap.Redaction, roles []string, entities []rdap.Entity) (of, rest []rdap.Redaction) {
	for _, r := range list {
		field, named := fieldOf(r.Name, roles)
		whose, known := pathRoles(&r, entities)
		switch {
		case known && named && !sharesRole(whose, roles):
			r.Name = nameWithPath(&r) // the path contradicts the name
			rest = append(rest, r)
		case named:
			r.Name = field
			of = append(of, r)
		case known && sharesRole(whose, roles) && !namesContact(r.Name):
			of = append(of, r)
		case known && sharesRole(whose, roles):
			r.Name = nameWithPath(&r)
			of = append(of, r)
		default:
			rest = append(rest, r)
		}
	}
	return of, rest
}

// nameWithPath returns the name of a redaction followed by its path.
func nameWithPath(r *rdap.Redaction) string {
	path := " (" + r.Path() + ")"
	return strings.TrimSuffix(r.Name, path) + path
}

// namesContact reports whether the name of a redaction starts with a contact's role.
func namesContact(name string) bool {
	for role := range redactedRoles {
		if _, ok := fieldOf(name, []string{role}); ok {
			return true
		}
	}
	return false
}

func sharesRole(a, b []string) bool {
	return slices.ContainsFunc(a, func(role string) bool { return contains(b, role) })
}

// pathRoles returns the roles of the contact that the path of a redaction refers to, or none if
// the path refers elsewhere. known is false if the redaction has no path or an ambiguous path.
func pathRoles(r *rdap.Redaction, entities []rdap.Entity) (roles []string, known bool) {
	path := r.Path()
	if path == "" || !strings.EqualFold(r.PathLang, "jsonpath") {
		return nil, false
	}
	member, rest := firstMember(path)
	if member == "" {
		return nil, false
	}
	if member != "entities" {
		return nil, true
	}
	// The innermost contact counts: $.entities[?(@.roles[0]=='registrar')].entities[…].
	for {
		i := strings.LastIndex(rest, "entities")
		if i < 0 {
			break
		}
		rest, entities = rest[i+len("entities"):], nil
	}
	if _, filter, ok := strings.Cut(rest, "roles"); ok {
		filter, _, _ = strings.Cut(filter, ")]")
		for _, quote := range [...]string{"'", `"`} {
			if parts := strings.Split(filter, quote); len(parts) > 2 {
				return []string{parts[1]}, true
			}
		}
		return nil, false
	}
	// The unredacted response, to which prePath refers, has other indices.
	index, _, _ := strings.Cut(strings.TrimPrefix(rest, "["), "]")
	n, err := strconv.Atoi(index)
	if err != nil || n < 0 || n >= len(entities) || path == r.PrePath {
		return nil, false
	}
	return entities[n].Roles, true
}

// firstMember returns the first member name of a path, such as "entities" in
// $.entities[0] or $['entities'][0], and the rest of the path.
func firstMember(path string) (name, rest string) {
	path, ok := strings.CutPrefix(strings.TrimSpace(path), "$")
	if !ok {
		return "", ""
	}
	for _, quote := range [...]string{"'", `"`} {
		if inner, ok := strings.CutPrefix(path, "["+quote); ok {
			name, rest, _ = strings.Cut(inner, quote+"]")
			return name, rest
		}
	}
	path, ok = strings.CutPrefix(path, ".")
	if !ok || strings.HasPrefix(path, ".") {
		return "", ""
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	return path[:end], path[end:]
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

// redactions writes the redactions that do not concern a displayed contact.
func (p *page) redactions(list []rdap.Redaction) {
	p.row("Redacted", redactionLines(list)...)
}

// redactionLines returns lines such as "Name, Street: redacted (Server policy)", one
// for each method and reason.
func redactionLines(list []rdap.Redaction) []line {
	type group struct{ what, reason string }
	var order []group
	names := make(map[group][]string)
	for _, r := range list[:min(len(list), maxRedactions)] {
		g := group{redactionText(r.Method), r.Reason}
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
		lines[i] = l.and(styleWarn, g.what).note(g.reason)
	}
	return lines
}

// redactionText describes a redaction method (RFC 9537 section 3).
func redactionText(method string) string {
	switch {
	case strings.EqualFold(method, "partialValue"):
		return "partly redacted"
	case strings.EqualFold(method, "replacementValue"):
		return "redacted, replaced by another value"
	}
	return "redacted"
}
