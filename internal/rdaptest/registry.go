package rdaptest

import "encoding/json"

// A Service is an entry of a bootstrap registry.
type Service struct {
	Entries []string // keys of the entry: top-level domains, prefixes, ranges of AS numbers, or tags
	URLs    []string // base URLs, each ending in "/"
}

// Registry returns a bootstrap file in IANA's format (RFC 9224 section 3, RFC 8521 section 3).
// kind is the name of the file: "dns", "ipv4", "ipv6", "asn" or "object-tags".
func Registry(kind string, services []Service) []byte {
	file := struct {
		Description string       `json:"description"`
		Publication string       `json:"publication"`
		Services    [][][]string `json:"services"`
		Version     string       `json:"version"`
	}{"Invented RDAP bootstrap file (" + kind + ")", "2026-03-14T06:00:00Z", [][][]string{}, "1.0"}
	for _, s := range services {
		line := [][]string{s.Entries, s.URLs}
		if kind == "object-tags" {
			line = [][]string{{"tags@numbers.example"}, s.Entries, s.URLs}
		}
		file.Services = append(file.Services, line)
	}
	body, _ := json.MarshalIndent(file, "", "  ") // strings always marshal
	return append(body, '\n')
}
