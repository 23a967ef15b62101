package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/client"
)

// TestTextOfShapes checks the text for responses in unusual shapes.
func TestTextOfShapes(t *testing.T) {
	tests := []struct {
		file, typ, object string
		verbose           bool
		lines             []string
	}{
		{"contact-uri.json", "domain", "harbour.example", false, []string{
			"Registrant    Harbour Ltd.",
			"              Kent, GB",
			"              https://keeper.example/whois/",
			"              https://harbour.example/form · master@harbour.example",
			"Updated       2024-02-11 (19 days ago)",
			"Incomplete    Object truncated due to authorization, according to a contact (Some of the data in this object has been removed.)",
		}},
		{"lacnic-2015.json", "ip", "198.51.100.161", false, []string{
			"198.51.100.161: found",
			"Registrant    Inés Cordero (also administrative, technical, abuse)",
			"              abuso@cordillera.example · 52  2225550100",
		}},
		{"numeric-handle.json", "autnum", "64510", false, []string{
			"Abuse         Rui Exemplo (no contact address published)",
			"Admin         Rui Exemplo (also abuse)",
		}},
		{"minimal-odd.json", "domain", "odd.example", false, []string{"Contact       unreadable"}},
		{"idn-variants.json", "domain", "fóo.example", true, []string{
			"DNSSEC        signed (DS 0, algorithm 13; DS 64156; 1 key)",
			"              DS 64156 ? 1 DE3B",
			"              DNSKEY 257 3 8 AwEAAa6e",
			"              maximum signature lifetime 604,800 seconds",
			"Variants      fõo.example, föo.example (registered, conjoined)",
		}},
		{"redacted-methods.json", "domain", "linden.example", false, []string{
			"              Name: redacted (Server policy)",
			"              Phone: partly redacted (Client request)",
			"              Email: redacted, replaced by another value (Server policy)",
			"Redacted      Registry Domain ID: redacted (Server policy)",
			"              Billing Contact: redacted (Refer to the registrant)",
		}},
		{"redacted-search.json", "domain", "x.example", false, []string{"Results       elm.example  redacted: Registry Domain ID"}},
		{"cidr-several.json", "ip", "198.18.7.7", false, []string{
			"198.18.7.7: found, in 198.18.0.0 – 198.18.223.255",
			"CIDR          198.18.0.0/17, 198.18.128.0/18, 198.18.192.0/19 (57,344 addresses)",
			"Origin        AS64500, AS64501",
			"NOC           Bench Abuse (also abuse)",
		}},
		{"no-class.json", "ip", "2001:db8:ffff::1", true, []string{
			"2001:db8:ffff::1: found, in 2001:db8:ffff::/64",
			"Range         2001:db8:ffff:: – 2001:db8:ffff::ffff:ffff:ffff:ffff",
			"Problems      startAddress: expected an address, found a prefix",
		}},
		{"revdns-network.json", "domain", "100.51.198.in-addr.arpa", true, []string{
			"Range         198.51.100.0 – 198.51.100.255",
			"Problems      network.entities[0].vcardArray[1][0]: property has only one element (omitted)",
		}},
		{"entity-holdings.json", "entity", "HOLD-1", false, []string{
			"Event actor   last changed 1991-12-31 (32 years ago)",
			"Networks      198.51.100.0/25, 198.51.100.128/26  HOLD-NET",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join("..", "..", "rdap", "testdata", "shapes", tt.file))
			if err != nil {
				t.Fatal(err)
			}
			q, err := client.ParseAs(client.Type(tt.typ), tt.object)
			if err != nil {
				t.Fatal(err)
			}
			r := &client.Result{Query: q, Verdict: client.VerdictFound, Raw: raw, Time: noon}
			got := string(AppendText(nil, r, TextOptions{Now: noon, Verbose: tt.verbose}))
			for _, l := range tt.lines {
				if !strings.Contains("\n"+got, "\n"+l+"\n") {
					t.Errorf("no line %q in\n%s", l, got)
				}
			}
		})
	}
}

// TestStatusesFit checks that each status of a domain fits on one line with its
// meaning.
func TestStatusesFit(t *testing.T) {
	statuses := []string{"active", "server transfer prohibited"}
	for s := range statusMeanings {
		statuses = append(statuses, s)
	}
	for what := range lockMeanings {
		statuses = append(statuses, what+" prohibited", "client "+what+" prohibited", "server "+what+" prohibited")
	}
	p := &page{opt: TextOptions{Width: 80}, palette: newPalette(false)}
	p.statuses(statuses)
	if n := strings.Count(string(p.buf), "\n"); n != len(statuses) {
		t.Errorf("%d lines for %d statuses:\n%s", n, len(statuses), p.buf)
	}
}
