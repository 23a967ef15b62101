package render

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/rdap"
)

// TestTextHasAllEvents checks that text shows every event of ICANN's response profile
// with its meaning, and unknown events.
func TestTextHasAllEvents(t *testing.T) {
	r := answered(t, "alpha.example", client.TypeDomain, "")
	r.Raw = []byte(`{"objectClassName":"domain","ldhName":"alpha.example","status":["frozen solid"],"events":[
		{"eventAction":"registration","eventDate":"2019-02-03T00:00:00Z"},{"eventAction":"expiration","eventDate":"2029-02-03T00:00:00Z"},
		{"eventAction":"registrar expiration","eventDate":"2028-02-03T00:00:00Z"},{"eventAction":"last changed","eventDate":"2023-02-03T00:00:00Z"},
		{"eventAction":"transfer","eventDate":"2022-02-03T00:00:00Z"},{"eventAction":"enchantment","eventDate":"2021-02-03T00:00:00Z"},
		{"eventAction":"last update of RDAP database","eventDate":"2024-02-29T00:00:00Z"}],
		"entities":[{"roles":["wizard"],"vcardArray":["vcard",[["fn",{},"text","Merlin"]]]}]}`)
	got := string(AppendText(nil, r, TextOptions{Now: noon, Verbose: true}))
	for _, want := range []string{
		"Created       2019-02-03T00:00:00Z (5 years ago)\n", "Expires       2029-02-03T00:00:00Z (4 years left)\n",
		"              2028-02-03T00:00:00Z (3 years left) according to the registrar\n", "Updated       2023-02-03T00:00:00Z (12 months ago)\n",
		"Transferred   2022-02-03T00:00:00Z (2 years ago)\n", "enchantment 2021-02-03T00:00:00Z (3 years ago)\n",
		"last update of RDAP database 2024-02-29T00:00:00Z (1 day ago)\n", "Status        frozen solid\n", "Wizard        Merlin\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

// TestTextOfBareObjects formats objects that have only a class.
func TestTextOfBareObjects(t *testing.T) {
	for class, typ := range map[string]client.Type{
		rdap.ClassDomain: client.TypeDomain, rdap.ClassIPNetwork: client.TypeIP, rdap.ClassAutnum: client.TypeAutnum,
		rdap.ClassEntity: client.TypeEntity, rdap.ClassNameserver: client.TypeNameserver,
	} {
		r := answered(t, "x", typ, "")
		r.Query.Prefix = netip.MustParsePrefix("192.0.2.1/32")
		r.Raw = []byte(`{"objectClassName":"` + class + `"}`)
		got := string(AppendText(nil, r, TextOptions{Now: noon}))
		checkText(t, got, false)
		if !strings.Contains(got, ": ") || strings.Contains(got, "0001-") || strings.Contains(got, "<nil>") {
			t.Errorf("%s:\n%s", class, got)
		}
		if class != rdap.ClassNameserver && !strings.Contains(got, notPublished) {
			t.Errorf("%s does not say what is missing:\n%s", class, got)
		}
	}
}
