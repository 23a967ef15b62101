package render

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/dnsname"
	"github.com/rdapq/rdapq/rdap"
)

// search writes the results of all pages, one per line (RFC 9083 section 8).
func (p *page) search(r *client.Result, rec *rdap.Record) {
	var lines []line
	shown := len(rec.Results)
	for i := range rec.Results {
		lines = append(lines, summaryLine(&rec.Results[i]))
	}
	if r.Paging != nil {
		for i := range r.Paging.Pages {
			more, err := r.Paging.Pages[i].Record()
			if err != nil {
				lines = append(lines, line{{"page " + strconv.Itoa(r.Paging.Pages[i].Number) + " is unreadable: " + err.Error(), styleError}})
				continue
			}
			shown += len(more.Results)
			for k := range more.Results {
				lines = append(lines, summaryLine(&more.Results[k]))
			}
		}
	}
	p.verdict(r, ", "+resultCount(shown, r.Paging))
	p.blank()
	p.row("Results", lines...)
	if r.Paging != nil && !r.Paging.Complete {
		p.blank()
		p.row("Incomplete", line{{"more results exist", styleWarn}}.note(r.Paging.Stopped))
	}
	p.remarks(rec.Remarks)
}

// resultCount returns the number of results shown, and the total if the total is larger: "5
// results", "5 of 12 results".
func resultCount(shown int, p *client.Paging) string {
	switch {
	case p != nil && p.Total > shown:
		return strconv.Itoa(shown) + " of " + count(p.Total, "result")
	case p != nil && !p.Complete:
		return "the first " + count(shown, "result")
	}
	return count(shown, "result")
}

// searchCount returns the number of results of a search in the form of resultCount. It returns
// "" for other queries and failed searches.
func searchCount(r *client.Result) string {
	if r.Paging == nil {
		return ""
	}
	return resultCount(r.Paging.Results, r.Paging)
}

// summaryLine returns an object on one line: type, name and redactions.
func summaryLine(rec *rdap.Record) line {
	l := identify(rec)
	var names []string
	for _, r := range rec.Redacted[:min(len(rec.Redacted), maxRedactions)] {
		names = union(names, []string{strings.TrimSpace(r.Name)})
	}
	if len(names) > 0 {
		l = l.and(styleDim, "  redacted: "+strings.Join(names, ", "))
	}
	return l
}

func identify(rec *rdap.Record) line {
	var l line
	switch rec.Class {
	case rdap.ClassIPNetwork:
		l = text(firstOf(prefixList(rec.CIDRs), between(rec.StartAddress, rec.EndAddress), rec.Handle)).and(stylePlain, "  "+rec.Name)
	case rdap.ClassAutnum:
		numbers, _ := asRange(rec)
		l = text(firstOf(numbers, rec.Handle)).and(stylePlain, "  "+rec.Name)
	case rdap.ClassEntity:
		c := rec.Contact()
		l = text(rec.Handle)
		if name := firstOf(c.Name, c.Org); name != "" {
			if rec.Handle != "" {
				name = "  " + name
			}
			l = l.and(stylePlain, name)
		}
		return l.note(strings.Join(rec.Roles, ", "))
	case rdap.ClassNameserver:
		l = text(dnsname.Display(firstOf(rec.LDHName, rec.UnicodeName, rec.Handle)))
		return l.and(styleDim, "  "+strings.Join(append(rec.V4[:len(rec.V4):len(rec.V4)], rec.V6...), "  "))
	default:
		name := dnsname.Display(firstOf(rec.LDHName, rec.UnicodeName, rec.Name, rec.Handle))
		l = text(name)
		if u := dnsname.Display(rec.UnicodeName); u != "" && u != name {
			l = l.and(stylePlain, "  "+u)
		}
	}
	return l.note(strings.Join(rec.Status, ", "))
}

func prefixList(list []netip.Prefix) string {
	if len(list) > 4 {
		return "" // the range is shorter than the list
	}
	parts := make([]string, len(list))
	for i, p := range list {
		parts[i] = p.String()
	}
	return strings.Join(parts, ", ")
}
