package rdap

import (
	"encoding/json"
	"strings"

	"github.com/rdapq/rdapq/internal/languagetag"
)

// A languagePicker chooses among the languages of one card.
type languagePicker struct {
	preferred []string
	best      map[string]int       // rank of the chosen value, by property
	addresses map[string]candidate // chosen address by altid
}

// A candidate is the address chosen among alternatives, with its rank and its index in the
// contact.
type candidate struct{ rank, at int }

// accept reports whether to read a property of a jCard. It clears the contact's current value
// if the current value ranks lower.
func (t *languagePicker) accept(c *Contact, name string, p *params) bool {
	var has *string
	switch name {
	case "fn":
		has = &c.Name
	case "org":
		has = &c.Org
	case "title":
		has = &c.Title
	case "role":
		has = &c.Role
	default:
		return true
	}
	rank := languagetag.Rank(p.language, t.preferred)
	best, seen := t.best[name]
	switch {
	case seen && rank > best:
		return false
	case seen && rank < best:
		*has = ""
	}
	if t.best == nil {
		t.best = make(map[string]int)
	}
	t.best[name] = rank
	return true
}

// replaceAddress reports whether an address is a translation of an address in the contact. It
// retains the address that ranks higher.
func (t *languagePicker) replaceAddress(c *Contact, a Address, p *params) bool {
	if p.altid == "" {
		return false
	}
	rank := languagetag.Rank(p.language, t.preferred)
	other, ok := t.addresses[p.altid]
	switch {
	case ok && rank == other.rank:
		return false // both addresses have the same language
	case ok && rank > other.rank:
		return true
	case ok:
		c.Addresses[other.at] = a
	default:
		other.at = len(c.Addresses)
	}
	if t.addresses == nil {
		t.addresses = make(map[string]candidate)
	}
	t.addresses[p.altid] = candidate{rank, other.at}
	return ok
}

// applyLocalizations applies the best localization of a JSContact card to its contact, if the
// localization ranks higher than the card's own language.
func (t *languagePicker) applyLocalizations(c *Contact, card []byte) {
	var doc map[string]any
	if !strings.Contains(string(card), `"localizations"`) || json.Unmarshal(card, &doc) != nil {
		return
	}
	all, _ := doc["localizations"].(map[string]any)
	own, _ := doc["language"].(string)
	best, chosen := languagetag.Rank(own, t.preferred), ""
	for tag := range all {
		rank := languagetag.Rank(tag, t.preferred)
		if rank < best || rank == best && chosen != "" && tag < chosen {
			best, chosen = rank, tag
		}
	}
	patch, ok := all[chosen].(map[string]any)
	if !ok {
		return
	}
	for pointer, value := range patch {
		applyPatch(doc, strings.Split(pointer, "/"), value)
	}
	patched, err := json.Marshal(doc)
	if err != nil {
		return
	}
	var local Contact
	newReader(patched, "").jsContact(&local)
	c.Name, c.Org, c.Title, c.Role = local.Name, local.Org, local.Title, local.Role
	c.Addresses = local.Addresses
}

// applyPatch sets the target of a pointer (RFC 9553 section 1.4.2). It ignores a
// pointer without a target.
func applyPatch(doc map[string]any, path []string, value any) {
	for i, step := range path {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		if i == len(path)-1 {
			if value == nil {
				delete(doc, step)
			} else {
				doc[step] = value
			}
			return
		}
		next, ok := doc[step].(map[string]any)
		if !ok {
			return
		}
		doc = next
	}
}
