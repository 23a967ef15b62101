package rdaptest

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed templates/*.json
var templateFiles embed.FS

// A Shape is the form of a domain object.
type Shape string

const (
	Thin    Shape = "thin"    // a generic registry's response: registrar and abuse contact, no holder
	Thick   Shape = "thick"   // a country's response: holder and contacts as jCards
	Minimal Shape = "minimal" // the least that still is a domain
)

// A template is the text of a response, split at its placeholders: text, name, text, name, …
// text.
type template []string

// templates returns the embedded templates by name, without white space.
var templates = sync.OnceValue(func() map[string]template {
	out := make(map[string]template)
	entries, _ := templateFiles.ReadDir("templates") // cannot fail: the directory is embedded
	for _, e := range entries {
		text, _ := templateFiles.ReadFile("templates/" + e.Name())
		out[strings.TrimSuffix(e.Name(), ".json")] = parseTemplate(compact(text))
	}
	return out
})

// compact removes white space between tokens. encoding/json cannot, because of
// placeholders outside of strings.
func compact(text []byte) string {
	var out bytes.Buffer
	quoted, escaped := false, false
	for _, b := range text {
		switch {
		case escaped:
			escaped = false
		case quoted && b == '\\':
			escaped = true
		case b == '"':
			quoted = !quoted
		case !quoted && (b == ' ' || b == '\n' || b == '\t'):
			continue
		}
		out.WriteByte(b)
	}
	return out.String()
}

func parseTemplate(text string) template {
	var t template
	for {
		before, after, found := strings.Cut(text, "{{")
		t = append(t, before)
		if !found {
			return t
		}
		name, rest, _ := strings.Cut(after, "}}")
		t = append(t, name)
		text = rest
	}
}

// facts holds the values in a response. All values follow from the key, so that a query always
// has the same response.
type facts struct {
	base, key, related      string
	name, tld               string
	hash                    uint64
	start, end, ver, parent string // values of networks
	bits                    int
	number                  uint32 // number of an AS number's response
	tag                     string // suffix of entity handles at address registries
}

// render appends the response to dst. No value needs escapes in JSON.
func (t template) render(dst []byte, f *facts) []byte {
	for i, part := range t {
		if i%2 == 0 {
			dst = append(dst, part...)
		} else {
			dst = f.append(dst, part)
		}
	}
	return dst
}

func (f *facts) append(dst []byte, name string) []byte {
	registrar := f.registrar()
	switch name {
	case "base":
		return append(dst, f.base...)
	case "key":
		return append(dst, f.key...)
	case "name":
		return append(dst, f.name...)
	case "NAME":
		return append(dst, strings.ToUpper(f.name)...)
	case "tld":
		return append(dst, f.tld...)
	case "TLD":
		return append(dst, strings.ToUpper(f.tld)...)
	case "related":
		if f.related == "" {
			return dst
		}
		return fmt.Appendf(dst, `,{"value":"%[1]sdomain/%[3]s","rel":"related","href":"%[2]sdomain/%[3]s","type":"application/rdap+json"}`,
			f.base, f.related, strings.ToUpper(f.name))
	case "handle":
		return strconv.AppendUint(dst, 1_000_000+f.hash%8_999_999, 10)
	case "tag":
		return append(dst, f.tag...)
	case "house":
		return strconv.AppendUint(dst, 100+f.hash%800, 10)
	case "octet":
		return strconv.AppendUint(dst, 1+f.hash%250, 10)
	case "keytag":
		return strconv.AppendUint(dst, 1+f.hash%65_000, 10)
	case "digest":
		for i := range uint64(4) {
			dst = fmt.Appendf(dst, "%016X", f.hash*(2*i+0x9E3779B97F4A7C15))
		}
		return dst
	case "registrar":
		return append(dst, registrar.name...)
	case "registrar_id":
		return append(dst, registrar.id...)
	case "registrar_slug":
		return append(dst, registrar.slug...)
	case "holder":
		return append(dst, holders[f.hash/7%uint64(len(holders))]...)
	case "nshost":
		return append(dst, registrar.slug+"-dns.example"...)
	case "NSHOST":
		return append(dst, strings.ToUpper(registrar.slug+"-dns.example")...)
	case "created":
		return f.date(dst, 1999+int(f.hash%24))
	case "updated":
		return f.date(dst, 2024+int(f.hash/3%2))
	case "expires":
		return f.date(dst, 2027+int(f.hash/5%4))
	case "start":
		return append(dst, f.start...)
	case "end":
		return append(dst, f.end...)
	case "version":
		return append(dst, f.ver...)
	case "parent":
		return append(dst, f.parent...)
	case "bits":
		return strconv.AppendInt(dst, int64(f.bits), 10)
	case "number":
		return strconv.AppendUint(dst, uint64(f.number), 10)
	}
	return append(dst, "unknown placeholder "+name...)
}

func (f *facts) registrar() *registrar { return &registrars[f.hash%uint64(len(registrars))] }

func (f *facts) date(dst []byte, year int) []byte {
	seconds := time.Duration(f.hash/11%(364*24*3600)) * time.Second
	return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Add(seconds).AppendFormat(dst, time.RFC3339)
}

type registrar struct{ name, id, slug string }

// registrars lists the registrars of invented domains. IANA has not assigned their numbers.
var registrars = [...]registrar{
	{"Ferme des Palmes Registrar", "990001", "palmes"},
	{"Heron and Reed Names", "990002", "heronreed"},
	{"Ninth Gate Domains", "990003", "ninthgate"},
	{"Salt Marsh Registrations", "990004", "saltmarsh"},
	{"Blue Kettle Names", "990005", "bluekettle"},
}

var holders = [...]string{
	"Société imaginaire du Courbu", "Tin Lantern Works", "Compagnie des Vents fictifs", "Moss and Gravel Press",
	"Paper Harbour Trust", "Ateliers de la Lune plate", "Quiet Engine Company", "Invented Orchard Cooperative",
}

func hash(key string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(key))
	return h.Sum64()
}

// errorBody returns an RDAP error (RFC 9083 section 6).
func errorBody(status int, words ...string) []byte {
	title := map[int]string{
		400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 422: "Unprocessable Content",
		429: "Too Many Requests", 500: "Internal Server Error", 501: "Not Implemented", 503: "Service Unavailable",
	}[status]
	if title == "" {
		title = "Error " + strconv.Itoa(status)
	}
	body, _ := json.Marshal(struct { // strings and numbers always marshal
		Conformance []string `json:"rdapConformance"`
		Code        int      `json:"errorCode"`
		Title       string   `json:"title"`
		Description []string `json:"description"`
	}{[]string{"rdap_level_0"}, status, title, slices.Clone(words)})
	return body
}
