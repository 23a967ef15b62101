package render

import (
	"strings"

	"github.com/rdapq/rdapq/rdap"
)

const (
	// shortRemark is the maximum length of a contact's remark in text that is not
	// verbose, in columns.
	shortRemark = 160
	// maxContactRemarks limits the number of a contact's remarks in text that is not verbose.
	maxContactRemarks = 4
)

// remarkLines returns the remarks of a contact, except remarks about omitted data; see
// [privacyNote] and [page.truncations].
func (p *page) remarkLines(list []rdap.Notice) []line {
	var lines []line
	skipped := 0
	for _, n := range p.inLanguage(list) {
		if !p.opt.Verbose && (n.Truncation() != "" || isPrivacy(&n)) {
			continue
		}
		whole := wholeRemark(&n)
		switch {
		case whole == "":
		case p.opt.Verbose:
			lines = append(lines, line{{whole, styleDim}})
		case len(lines) == maxContactRemarks || columns(whole) > shortRemark && strings.TrimSpace(n.Title) == "":
			skipped++
		case columns(whole) > shortRemark:
			lines = append(lines, line{{strings.TrimSpace(flat(n.Title)) + ": … (full text with -v)", styleDim}})
		default:
			lines = append(lines, line{{whole, styleDim}})
		}
	}
	if skipped > 0 {
		lines = append(lines, line{{"and " + count(skipped, "more remark") + " (with -v)", styleDim}})
	}
	return lines
}

// wholeRemark returns the title and the description of a remark on one line.
func wholeRemark(n *rdap.Notice) string {
	var parts []string
	for _, d := range n.Description {
		if d = strings.TrimSpace(flat(d)); d != "" {
			parts = append(parts, d)
		}
	}
	title, said := strings.TrimSpace(flat(n.Title)), strings.Join(parts, " ")
	switch {
	case title == "" || strings.EqualFold(title, said):
		return said
	case said == "":
		return title
	}
	return title + ": " + said
}

// privacyNote returns the remark of a contact about data withheld for privacy, such as
// "redacted for privacy". Servers send such remarks with and without a type. It returns "" if
// there is none.
func privacyNote(list []rdap.Notice) string {
	words := ""
	for i := range list {
		if n := &list[i]; isPrivacy(n) {
			title := strings.ToLower(strings.TrimSpace(flat(n.Title)))
			if title == "" || strings.HasPrefix(title, redactedForPrivacy) {
				return redactedForPrivacy
			}
			words = firstOf(words, title)
		}
	}
	return words
}

const redactedForPrivacy = "redacted for privacy"

// isPrivacy reports whether a remark states that data is withheld for privacy.
func isPrivacy(n *rdap.Notice) bool {
	for _, s := range append([]string{n.Title}, n.Description...) {
		if strings.Contains(strings.ToLower(s), redactedForPrivacy) {
			return true
		}
	}
	switch strings.ToLower(strings.TrimSpace(n.Title)) {
	case "data protected", "gdpr masked", "gdpr redacted", "privacy redacted", "redacted by privacy", "statutory masking enabled":
		return true
	}
	return false
}
