package render

import (
	"strings"

	"github.com/rdapq/rdapq/rdap"
)

// statusMeanings explains status values (RFC 8056, RFC 9083 section 10.2.2), except
// self-explanatory ones. Each text fits next to the longest status of a domain on a
// terminal of 80 columns.
var statusMeanings = map[string]string{
	"inactive":          "not delegated: no nameservers",
	"associated":        "referenced by other objects",
	"locked":            "cannot be changed",
	"validated":         "contact data verified",
	"reserved":          "reserved; not open for registration",
	"proxy":             "registered through a proxy service",
	"private":           "registrant data not shown",
	"removed":           "some data removed",
	"obscured":          "some data obscured",
	"add period":        "registered a few days ago",
	"auto renew period": "auto-renewed a few days ago",
	"renew period":      "renewed a few days ago",
	"transfer period":   "changed registrar a few days ago",
	"redemption period": "deleted; the registrant can restore it",
	"pending create":    "about to be registered",
	"pending delete":    "about to be deleted",
	"pending renew":     "about to be renewed",
	"pending restore":   "restore requested, not yet complete",
	"pending transfer":  "about to change registrar",
	"pending update":    "about to be changed",
	"client hold":       "removed from the DNS by the registrar",
	"server hold":       "removed from the DNS by the registry",
}

// lockMeanings maps operations to words that complete "… locked".
var lockMeanings = map[string]string{
	"delete":   "deletion",
	"renew":    "renewal",
	"transfer": "transfer",
	"update":   "changes",
}

// statusMeaning explains an RDAP status. It returns "" for a self-explanatory status.
func statusMeaning(status string) string {
	if m, ok := statusMeanings[status]; ok {
		return m
	}
	rest, ok := strings.CutSuffix(status, " prohibited")
	if !ok {
		return ""
	}
	by := ""
	if what, ok := strings.CutPrefix(rest, "client "); ok {
		rest, by = what, " by the registrar"
	} else if what, ok := strings.CutPrefix(rest, "server "); ok {
		rest, by = what, " by the registry"
	}
	if what, ok := lockMeanings[rest]; ok {
		return what + " locked" + by
	}
	return ""
}

// statuses writes a row for each status, with explanations in a second column.
func (p *page) statuses(list []string) {
	width := 0
	words := make([]string, 0, len(list))
	for _, s := range list {
		if parsed, _ := rdap.ParseStatus(s); parsed != "" {
			s := string(parsed)
			words = append(words, s)
			if statusMeaning(s) != "" {
				width = max(width, columns(s))
			}
		}
	}
	lines := make([]line, len(words))
	for i, s := range words {
		l := line{{s, statusStyle(s)}}
		if m := statusMeaning(s); m != "" {
			l = l.and(styleDim, strings.Repeat(" ", width-columns(s)+2)+m)
		}
		lines[i] = l
	}
	p.row("Status", lines...)
}

func statusStyle(status string) style {
	switch {
	case status == "active":
		return styleOK
	case strings.HasSuffix(status, " hold"), status == "pending delete", status == "redemption period", status == "inactive":
		return styleError
	case strings.HasPrefix(status, "pending "):
		return styleWarn
	}
	return stylePlain
}
