package rdaptest

import "encoding/json"

// registry is a bootstrap file as IANA publishes them (RFC 9224 section 3, RFC
// 8521 section 3).
type registry struct {
	Description string       `json:"description"`
	Publication string       `json:"publication"`
	Services    [][][]string `json:"services"`
	Version     string       `json:"version"`
}

// service is a line of a registry: who answers for what.
type service struct {
	entries []string
	urls    []string
}

// registryFile writes a bootstrap file. The services of object-tags have a
// contact in front.
func registryFile(kind string, services []service) []byte {
	r := registry{
		Description: "Invented RDAP bootstrap file (" + kind + ")",
		Publication: "2026-03-14T06:00:00Z",
		Version:     "1.0",
		Services:    [][][]string{},
	}
	for _, s := range services {
		line := [][]string{s.entries, s.urls}
		if kind == "object-tags" {
			line = [][]string{{"tags@numbers.example"}, s.entries, s.urls}
		}
		r.Services = append(r.Services, line)
	}
	body, _ := json.MarshalIndent(r, "", "  ") // strings only: can't fail
	return append(body, '\n')
}
