package render

import (
	"net/netip"
	"strings"

	"github.com/rdapq/rdapq/client"
)

// search writes a list of results, one a line (RFC 9083 section 8).
func (p *page) search(r *client.Result, rec *client.Record) {
	p.verdict(r, ", "+count(len(rec.Results), "result"))
	p.gap()
	lines := make([]line, len(rec.Results))
	for i := range rec.Results {
		lines[i] = gist(&rec.Results[i])
	}
	p.row("Results", lines...)
	p.remarks(rec.Remarks)
}

// gist writes an object on one line: what it is, and what it is called.
func gist(rec *client.Record) line {
	var l line
	switch rec.Class {
	case client.ClassIPNetwork:
		l = text(firstOf(prefixList(rec.CIDRs), between(rec.StartAddress, rec.EndAddress), rec.Handle)).and(plain, "  "+rec.Name)
	case client.ClassAutnum:
		numbers, _ := asRange(rec)
		l = text(firstOf(numbers, rec.Handle)).and(plain, "  "+rec.Name)
	case client.ClassEntity:
		c := rec.Contact()
		l = text(rec.Handle)
		if name := firstOf(c.Name, c.Org); name != "" {
			if rec.Handle != "" {
				name = "  " + name
			}
			l = l.and(plain, name)
		}
		return l.note(strings.Join(rec.Roles, ", "))
	case client.ClassNameserver:
		l = text(client.DisplayName(firstOf(rec.LDHName, rec.UnicodeName, rec.Handle)))
		return l.and(faint, "  "+strings.Join(append(rec.V4[:len(rec.V4):len(rec.V4)], rec.V6...), "  "))
	default:
		name := client.DisplayName(firstOf(rec.LDHName, rec.UnicodeName, rec.Name, rec.Handle))
		l = text(name)
		if u := client.DisplayName(rec.UnicodeName); u != "" && u != name {
			l = l.and(plain, "  "+u)
		}
	}
	return l.note(strings.Join(rec.Status, ", "))
}

func prefixList(list []netip.Prefix) string {
	if len(list) > 4 {
		return "" // the range is shorter
	}
	parts := make([]string, len(list))
	for i, p := range list {
		parts[i] = p.String()
	}
	return strings.Join(parts, ", ")
}
