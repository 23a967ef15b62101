package render

import (
	"strings"

	"github.com/rdapq/rdapq/internal/languagetag"
	"github.com/rdapq/rdapq/rdap"
)

// nameIn returns the name of an entity in the preferred language, whereas a summary has the
// name in the language of the response.
func (p *page) nameIn(name string, entities []rdap.Entity) string {
	if len(p.opt.Languages) == 0 {
		return name
	}
	for i := range entities[:min(len(entities), maxPeople)] {
		e := &entities[i]
		if c := e.Contact(); firstOf(c.Name, c.Org, e.Handle) == name {
			c = e.ContactIn(p.opt.Languages)
			return firstOf(c.Name, c.Org, name)
		}
	}
	return name
}

// inLanguage omits notices that are translations of another notice in a preferred language (RFC
// 9083 section 4.4). Translations have the same type and links.
func (p *page) inLanguage(list []rdap.Notice) []rdap.Notice {
	if len(p.opt.Languages) == 0 || len(list) < 2 {
		return list
	}
	best := make(map[string]int)
	for i := range list {
		if n := &list[i]; n.Lang != "" {
			key, rank := subject(n), languagetag.Rank(n.Lang, p.opt.Languages)
			if before, ok := best[key]; !ok || rank < before {
				best[key] = rank
			}
		}
	}
	var out []rdap.Notice
	for i := range list {
		n := &list[i]
		rank, several := best[subject(n)]
		if n.Lang == "" || !several || rank >= len(p.opt.Languages) || languagetag.Rank(n.Lang, p.opt.Languages) == rank {
			out = append(out, *n)
		}
	}
	return out
}

// subject returns a key for the subject of a notice, independent of its language.
func subject(n *rdap.Notice) string {
	var b strings.Builder
	b.WriteString(strings.ToLower(n.Type))
	for _, l := range n.Links {
		b.WriteString("\n" + l.Href)
	}
	return b.String()
}
