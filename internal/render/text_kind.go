package render

import "strings"

// kindMeanings says in plain words how numbers came to their holder, in the terms
// of the address registries: RIPE NCC and AFRINIC, APNIC, ARIN, LACNIC.
var kindMeanings = map[string]string{
	"allocated pa":           "given to a provider, for its customers",
	"allocated-by-rir":       "given by the registry itself",
	"allocated-by-lir":       "given on by a provider, for its customers",
	"allocated portable":     "given by the registry itself, for customers",
	"allocated non-portable": "given on by a provider, for its customers",
	"allocated":              "given by the registry itself",
	"allocation":             "given to a provider, for its customers",
	"allocated unspecified":  "given to a registry, to give on",
	"assigned":               "in use by its holder",
	"assigned anycast":       "in use in many places at once",
	"assigned non-portable":  "in use by a provider's customer",
	"assigned pa":            "in use by a provider's customer",
	"assigned pi":            "in use by its holder, whoever its provider is",
	"assigned portable":      "in use by its holder, whoever its provider is",
	"assignment":             "in use by its holder",
	"direct allocation":      "given by the registry itself",
	"direct assignment":      "given by the registry itself, for the holder's own use",
	"iana-reserved":          "kept for special uses by the standards of the Internet",
	"legacy":                 "given out before there were registries",
	"reallocated":            "given on by a provider, who may do so again",
	"reallocation":           "given on by a provider, who may do so again",
	"reassigned":             "in use by a provider's customer",
	"reassignment":           "in use by a provider's customer",
	"sub-allocated pa":       "given on by a provider, for its customers",
	"aggregated-by-lir":      "in use by many customers of a provider",
	"early-registration":     "given out before there were registries",
}

// kind writes what sort of registration it is.
func (p *page) kind(typ string) {
	if typ != "" {
		p.row("Type", text(typ).note(kindMeanings[strings.ToLower(strings.TrimSpace(typ))]))
	}
}
