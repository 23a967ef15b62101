package render

import "strings"

// kindMeanings says in plain words how numbers came to their holder, in the terms
// of the address registries: RIPE NCC and AFRINIC, APNIC, ARIN, LACNIC.
var kindMeanings = map[string]string{
	"allocated pa":           "allocated to an ISP (LIR) for assignment to customers",
	"allocated-by-rir":       "allocated directly by the registry",
	"allocated-by-lir":       "sub-allocated by an ISP (LIR)",
	"allocated portable":     "allocated by the registry, for assignment to customers",
	"allocated non-portable": "sub-allocated by an ISP (LIR)",
	"allocated":              "allocated directly by the registry",
	"allocation":             "allocated to an ISP (LIR) for assignment to customers",
	"allocated unspecified":  "allocated to a registry for further allocation",
	"assigned":               "in use by its holder",
	"assigned anycast":       "anycast: announced from several places",
	"assigned non-portable":  "assigned to a customer of an ISP",
	"assigned pa":            "assigned to a customer of an ISP",
	"assigned pi":            "provider-independent (PI) space",
	"assigned portable":      "provider-independent (PI) space",
	"assignment":             "in use by its holder",
	"direct allocation":      "allocated directly by the registry",
	"direct assignment":      "assigned by the registry, for the holder's own use",
	"iana-reserved":          "IANA special-purpose address space",
	"legacy":                 "legacy allocation, predates the RIRs",
	"reallocated":            "sub-allocated by an ISP, which may sub-allocate further",
	"reallocation":           "sub-allocated by an ISP, which may sub-allocate further",
	"reassigned":             "assigned to a customer of an ISP",
	"reassignment":           "assigned to a customer of an ISP",
	"sub-allocated pa":       "sub-allocated by an ISP (LIR)",
	"aggregated-by-lir":      "assigned to several customers of an ISP",
	"early-registration":     "legacy allocation, predates the RIRs",
}

// kind writes what sort of registration it is.
func (p *page) kind(typ string) {
	if typ != "" {
		p.row("Type", text(typ).note(kindMeanings[strings.ToLower(strings.TrimSpace(typ))]))
	}
}
