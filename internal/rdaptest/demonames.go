package rdaptest

// demoTLDs lists the top-level domains of a [Demo] that have names from demoNames. The other
// top-level domain is .example.
var demoTLDs = [...]string{"re", "com", "net", "org", "fr", "eu", "dev"}

// demoSize is the number of registered names per top-level domain. Further names of
// demoName are not registered.
const demoSize = 80

// demoNames returns the names that exist below a top-level domain.
func demoNames(tld string) []string {
	var names []string
	if tld == "re" {
		names = append(names, "courbu.re", "nic.re", "copacabana.re")
	}
	for i := range demoSize {
		names = append(names, demoName(tld, i))
	}
	return names
}

// demoName returns name number i of a top-level domain, up to 440. Consecutive numbers
// yield dissimilar names.
func demoName(tld string, i int) string {
	shift := 0
	for k, other := range demoTLDs {
		if other == tld {
			shift = 61 * k
		}
	}
	n := (i*37 + shift) % (len(demoFirst) * len(demoSecond)) // 37 is coprime to 440
	return demoFirst[n%len(demoFirst)] + "-" + demoSecond[n/len(demoFirst)] + "." + tld
}

var (
	demoFirst = [...]string{
		"amberfold", "brackwater", "coppergull", "driftmoss", "emberlane", "fernhollow", "glasswren", "heronmere", "inkmarsh",
		"junipercrag", "kelpstone", "lanternfen", "mistquay", "nettlebridge", "oatbarrow", "pebblerow", "quillharbour",
		"rustvale", "saltwick", "thistledown", "umberfield", "velvetreef",
	}
	demoSecond = [...]string{
		"atelier", "bakery", "cartography", "dynamo", "explorers", "foundry", "gazette", "herbarium", "instruments", "jetty",
		"kiosk", "looms", "museum", "notary", "observatory", "pottery", "quartet", "rowing", "salvage", "telescopes",
	}
)
