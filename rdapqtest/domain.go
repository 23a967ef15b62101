package rdapqtest

import (
	"encoding/json"
	"time"
)

// A Domain describes an invented domain object. Every field but Name may be zero: the object
// then does not have the member of that field.
type Domain struct {
	Name         string // domain name in A-labels
	Registrar    string // name of the registrar
	RegistrarID  string // IANA number of the registrar
	RegistrarURL string // base URL of the registrar's RDAP service, for the link to its record
	Status       []string
	Registered   time.Time
	Expires      time.Time
	Nameservers  []string
}

// JSON returns the object in the form in which a registry returns it (RFC 9083 section 5.3).
func (d Domain) JSON() []byte {
	type object map[string]any
	domain := object{
		"rdapConformance": []string{"rdap_level_0"},
		"objectClassName": "domain",
		"ldhName":         d.Name,
	}
	if d.Status != nil {
		domain["status"] = d.Status
	}
	var events []object
	for _, e := range []struct {
		action string
		date   time.Time
	}{{"registration", d.Registered}, {"expiration", d.Expires}} {
		if !e.date.IsZero() {
			events = append(events, object{"eventAction": e.action, "eventDate": e.date.UTC().Format(time.RFC3339)})
		}
	}
	if events != nil {
		domain["events"] = events
	}
	if d.Registrar != "" || d.RegistrarID != "" {
		registrar := object{
			"objectClassName": "entity",
			"roles":           []string{"registrar"},
			"vcardArray":      []any{"vcard", []any{[]any{"version", object{}, "text", "4.0"}, []any{"fn", object{}, "text", d.Registrar}}},
		}
		if d.RegistrarID != "" {
			registrar["handle"] = d.RegistrarID
			registrar["publicIds"] = []object{{"type": "IANA Registrar ID", "identifier": d.RegistrarID}}
		}
		domain["entities"] = []object{registrar}
	}
	if d.RegistrarURL != "" {
		domain["links"] = []object{{"rel": "related", "type": "application/rdap+json", "href": d.RegistrarURL + "domain/" + d.Name}}
	}
	var nameservers []object
	for _, name := range d.Nameservers {
		nameservers = append(nameservers, object{"objectClassName": "nameserver", "ldhName": name})
	}
	if nameservers != nil {
		domain["nameservers"] = nameservers
	}
	body, _ := json.Marshal(domain) // Marshal cannot fail for these types
	return body
}
