package render

import (
	"strings"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/rdap"
)

// help writes the help of a server (RFC 9083 section 7), with known extensions in
// words.
func (p *page) help(r *client.Result, rec *rdap.Record) {
	p.verdict(r, "")
	p.blank()
	p.capabilities(r, rec.Conformance)
	if !p.opt.Verbose { // in verbose text, details writes these
		for _, n := range p.inLanguage(rec.Notices) {
			p.blank()
			p.notice("Notice", n)
		}
		p.blank()
		p.value("Conformance", strings.Join(rec.Conformance, " "))
	}
}

// capabilities writes the features of the server beyond plain lookups, and its profiles.
func (p *page) capabilities(r *client.Result, conformance []string) {
	var supported, profiles []line
	listed := make(map[string]bool)
	h := new(rdap.Help)
	if resp, err := r.Response(); err == nil {
		h = resp.Help()
	}
	if len(h.ReverseSearch) > 0 { // both have lines of their own
		listed["reverse search"] = true
	}
	if h.OpenID != nil {
		listed["login by OpenID Connect"] = true
	}
	for _, id := range conformance {
		words, profile := describeExtension(id)
		if words == "" || listed[words] {
			continue
		}
		listed[words] = true
		if profile {
			profiles = append(profiles, text(words))
		} else {
			supported = append(supported, text(words))
		}
	}
	supported = append(supported, reverseLines(h)...)
	if h.OpenID != nil {
		supported = append(supported, text("login by "+strings.Join(openIDText(h.OpenID), ", ")).note(strings.Join(h.OpenID.Providers, ", ")))
	}
	p.row("Supports", supported...)
	p.blank()
	p.row("Profiles", profiles...)
}

// reverseLines lists the supported reverse searches: "reverse search: domains by entity
// fn, email".
func reverseLines(h *rdap.Help) []line {
	type pair struct{ found, related string }
	var order []pair
	properties := make(map[pair][]string)
	for _, r := range h.ReverseSearch {
		k := pair{string(r.Searchable), r.Related}
		if properties[k] == nil {
			order = append(order, k)
		}
		properties[k] = append(properties[k], r.Property)
	}
	lines := make([]line, len(order))
	for i, k := range order {
		lines[i] = text("reverse search: " + k.found + " by " + k.related + " " + strings.Join(properties[k], ", ")).
			note("-t " + k.found + " " + k.related + ":" + properties[k][0] + "=…")
	}
	return lines
}

func openIDText(o *rdap.OpenIDSupport) []string {
	list := []string{"OpenID Connect"}
	if o.Sessions == rdap.TriYes {
		list = append(list, "with sessions")
	}
	if o.Tokens == rdap.TriYes {
		list = append(list, "with tokens")
	}
	return list
}

// describeExtension returns the meaning of an rdapConformance entry, or "" if the meaning is
// unknown. profile is true if the entry describes responses and offers no feature to clients.
func describeExtension(id string) (words string, profile bool) {
	for _, e := range extensions {
		rest, ok := strings.CutPrefix(id, e.id)
		rest = strings.TrimPrefix(rest, "_level")
		if ok && strings.Trim(rest, "_0123456789") == "" { // some servers append a level or version
			return e.words, e.profile
		}
	}
	return "", false
}

// extensions lists the extensions of the IANA registry and some unregistered extensions. Longer
// names precede their prefixes.
var extensions = []struct {
	id, words string
	profile   bool
}{
	{"paging", "paging, with result counts (--count)", false},
	{"sorting", "sorted results (--sort)", false},
	{"subsetting", "partial responses (--field-set)", false},
	{"reverse_search", "reverse search", false},
	{"rirSearch1", "relation search (RFC 9910): enclosing or contained networks, AS blocks, reverse domains", false},
	{"ips", "search for networks", false},
	{"autnums", "search for AS numbers", false},
	{"farv1", "login by OpenID Connect", false},
	{"redacted", "marks redacted data and the reason (RFC 9537)", false},
	{"geofeed1", "links to geofeeds: locations of addresses, published by holders (RFC 9632)", false},
	{"cidr0", "networks as CIDR prefixes", false},
	{"jscontact", "contacts as JSContact", false},
	{"jscard", "contacts as JSContact", false},
	{"versioning", "reports the versions of its extensions", false},
	{"rdap_objectTag", "entity handles carry a registry tag (RFC 8521)", false},
	{"redirect_with_content", "redirects with content", false},
	{"arin_originas0", "origin AS numbers of a network", false},
	{"history_version_0", "previous versions of objects", false},
	{"icann_rdap_response_profile_0", "ICANN's response profile of 2019", true},
	{"icann_rdap_response_profile_1", "ICANN's response profile of 2024", true},
	{"icann_rdap_technical_implementation_guide_0", "ICANN's technical guide of 2019", true},
	{"icann_rdap_technical_implementation_guide_1", "ICANN's technical guide of 2024", true},
	{"nro_rdap_profile_asn_flat", "address registries' (NRO) profile, single AS numbers", true},
	{"nro_rdap_profile_asn_hierarchical", "address registries' (NRO) profile, hierarchical AS blocks", true},
	{"nro_rdap_profile", "address registries' (NRO) profile", true},
}
