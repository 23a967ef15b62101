package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/client"
)

// forms has unusual but readable responses. Each has the strings that each format must contain,
// or must not contain if they start with "-".
var forms = map[string]struct {
	typ, object                    string
	text, verbose, csv, row, table []string
}{
	"abuse-several": {
		"ip", "198.51.100.7",
		[]string{"Abuse         noc@form.example (Form NOC)", "              desk@form.example (Form desk)", "Tech          Form NOC (also noc, abuse)"},
		nil,
		[]string{",noc@form.example,,"},
		[]string{`"abuse_email":"noc@form.example"`, `"desk@form.example"`},
		[]string{"Form Holder", "198.51.100.0/24"},
	},
	"abuse-two-halves": {
		"domain", "form.example",
		[]string{"Abuse         one@form.example (Desk one)", "              two@form.example · +999.5550001 · +999.5550002 (Desk two)"},
		nil,
		[]string{",one@form.example,,"},
		[]string{`"abuse_email":"one@form.example"`, `-"abuse_phone"`},
		[]string{"Form Registrar"},
	},
	"abuse-by-post": {
		"ip", "198.51.100.7",
		[]string{"Abuse         Letter Box, 7 Form Road, Formtown (no e-mail address or phone number published)"},
		nil,
		[]string{"FORM-N,FORMNET"},
		[]string{`-"abuse_email"`, `-"warnings"`},
		[]string{"198.51.100.7 "},
	},
	"prefix-as-ends": {
		"ip", "2001:db8:4::1",
		[]string{"2001:db8:4::1: found, in 2001:db8:4::/48", "Range         2001:db8:4:: – 2001:db8:4:ffff:ffff:ffff:ffff:ffff", "CIDR          2001:db8:4::/48", "-Note", "-/128"},
		nil,
		[]string{"2001:db8:4::,2001:db8:4:ffff:ffff:ffff:ffff:ffff,2001:db8:4::/48"},
		[]string{`"cidrs":["2001:db8:4::/48"]`, "-not all of"},
		[]string{" 2001:db8:4::/48 "},
	},
	"zero-padded": {
		"ip", "198.51.100.7",
		[]string{"Range         198.51.100.0 – 198.51.100.255", "CIDR          198.51.100.0/24 (256 addresses)"},
		[]string{"leading zeros; read as decimal"},
		[]string{"198.51.100.0,198.51.100.255,198.51.100.0/24"},
		[]string{`"cidrs":["198.51.100.0/24"]`, `"startAddress":"198.051.100.000"`},
		[]string{" 198.51.100.0/24 "},
	},
	"not-an-address": {
		"ip", "198.51.100.7",
		[]string{"Range         n/a (unrecognized)"},
		nil,
		[]string{"FORMNET,,,"},
		[]string{"startAddress and endAddress are not both IP addresses", `-"start":`},
		[]string{"198.51.100.7 "},
	},
	"contact-withheld": {
		"domain", "form.example",
		[]string{"Registrant    redacted for privacy", "Admin         redacted for privacy", "-0123456789abcdef"},
		[]string{"Registrant    redacted for privacy (20240101_0123456789abcdef_contact)", "EMAIL REDACTED FOR PRIVACY: Please query the registrar"},
		[]string{"form.example"},
		[]string{`"verdict":"registered"`},
		[]string{"form.example"},
	},
	"contact-remarks": {
		"ip", "198.51.100.7",
		[]string{"Abuse         desk@form.example", "              Unverified: no reply since 2012-06-20", "              Comments: Abuse: https://form.example/abuse Legal: https://form.example/legal", "              Quality: Name checked."},
		[]string{"status validated"},
		[]string{",desk@form.example,"},
		[]string{`"holder":"Form Holder"`},
		[]string{"Form Holder"},
	},
	"country-only": {
		"domain", "form.example",
		[]string{"Registrant    country DE"},
		nil,
		[]string{"form.example"},
		[]string{`"verdict":"registered"`},
		[]string{"form.example"},
	},
	"leap-second": {
		"domain", "form.example",
		[]string{"Created       2006-01-01 (18 years ago)", "Expires       2035-07-01 (11 years left)", "-unrecognized"},
		nil,
		[]string{"2005-12-31T23:59:60Z,,2035-06-30T23:59:60Z"},
		[]string{`"created":"2005-12-31T23:59:60Z","expires":"2035-06-30T23:59:60Z"`, `-"warnings"`},
		[]string{" 2035-07-01 "},
	},
	"days": {
		"domain", "form.example",
		[]string{"Created       2001-02-03 (23 years ago)", "Expires       2032-09-10 (8 years left)", "Transferred   2032-09-10 (in 8 years)", "Updated       soon (unrecognized)"},
		nil,
		[]string{"2001-02-03,,2032-09-10"},
		[]string{`"created":"2001-02-03","expires":"2032-09-10"`, "unrecognized date"},
		[]string{" 2032-09-10 "},
	},
	"cards": {
		"domain", "form.example",
		[]string{"Registrar     Member Registrar", "Registrant    Flat Form", "              flat@form.example", "Tech          Flat Tech", "Admin         Object Form", "              object@form.example", "Billing       Deep Form", "-unreadable"},
		[]string{
			"entities[0].vcardArray and 1 more: jCard properties are not in an array of their own", "entities[2].vcardArray: jCard is an object, not an array",
			"entities[3].vcardArray: jCard properties are nested in one array too many", "entities[4].vcardArray: property is an object, not an array",
		},
		[]string{",Member Registrar,"},
		[]string{`"registrar":"Member Registrar"`, `"warnings":["entities[4].vcardArray: property is an object, not an array"]`},
		[]string{"Member Registrar"},
	},
	"other-case": {
		"domain", "form.example",
		[]string{"DNSSEC        signed (DS 4711, algorithm 13)", "Nameservers   ns1.form.example", "              ns2.form.example", "Status        active"},
		[]string{"secureDns: read as secureDNS"},
		[]string{"FORM-D,form.example", "active,ns1.form.example; ns2.form.example,signed"},
		[]string{`"dnssec":"signed"`, `"statuses":["active"]`, "nameServers: read as nameservers", "statuses: read as status"},
		[]string{"form.example"},
	},
	"redacted-elsewhere": {
		"domain", "form.example",
		[]string{"Registrant    Form Holder", "Redacted      Registrant keyTag ($['secureDNS']['dsData'][0]['keyTag']): partly redacted", "-              keyTag"},
		nil,
		[]string{"signed"},
		[]string{`"dnssec":"signed"`},
		[]string{"form.example"},
	},
	"registrar-contact": {
		"domain", "form.example",
		[]string{"Registrar     Form Registrar (IANA 9998)", "              help@form.example · +999.5550003", "              https://www.form.example", "              F-1 (Form ID)"},
		[]string{"              7 Form Road, Formtown, 123, XX"},
		[]string{",Form Registrar,9998,"},
		[]string{`"registrar":"Form Registrar","registrar_id":"9998"`},
		[]string{"Form Registrar"},
	},
	"registrar-number": {
		"domain", "form.example",
		[]string{"Registrar     IANA 9998"},
		nil,
		[]string{",IANA 9998,9998,"},
		[]string{`"registrar":"IANA 9998"`},
		[]string{" IANA 9998 "},
	},
	"in-brief": {
		"domain", "form.example",
		[]string{"-Incomplete", "-Summary data only"},
		[]string{"Summary data only."},
		[]string{"Form Registrar"},
		[]string{`-"warnings"`},
		[]string{"Form Registrar"},
	},
	"false-unicode": {
		"domain", "xn--bcher-kva.example",
		[]string{"xn--bcher-kva.example: registered", "-paypal"},
		[]string{`unicodeName "paypal.example" is not the Unicode form of ldhName "xn--bcher-kva.example" (omitted)`},
		[]string{"xn--bcher-kva.example,,", "-paypal"},
		[]string{"is not the Unicode form of ldhName", `-"unicode_name"`},
		[]string{"-paypal"},
	},
	"invisible": {
		"domain", "form.example",
		[]string{`Registrar     A\u2065B\u115fC\u3164D\uffa0E`},
		nil,
		[]string{`,A\u2065B\u115fC\u3164D\uffa0E,`},
		[]string{`"registrar":"A\u2065B\u115fC\u3164D\uffa0E"`, `"handle":"A\u2065B\u115fC\u3164D\uffa0E"`},
		[]string{`A\u2065B\u115fC\u3164D\uffa0E`},
	},
}

// TestForms checks that every format shows the unambiguous part of unusual responses.
func TestForms(t *testing.T) {
	files, err := os.ReadDir(filepath.Join("testdata", "forms"))
	if err != nil || len(files) != len(forms) {
		t.Fatalf("%d files, %d expectations, %v", len(files), len(forms), err)
	}
	for name, want := range forms {
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join("testdata", "forms", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			q, err := client.ParseAs(client.Type(want.typ), want.object)
			if err != nil {
				t.Fatal(err)
			}
			r := &client.Result{Line: 1, Query: q, Verdict: client.VerdictFound, Raw: raw, Status: 200, Time: noon}
			if q.Type == client.TypeDomain {
				r.Verdict = client.VerdictRegistered
			}
			check := func(format string, o Options, list []string, whole bool) {
				o.Text.Now = noon
				got := encode(t, format, o, r)
				for _, s := range list {
					absent := strings.HasPrefix(s, "-")
					s = strings.TrimPrefix(s, "-")
					has := strings.Contains(got, s)
					if whole && !absent {
						has = strings.Contains("\n"+got, "\n"+s+"\n")
					}
					if has == absent {
						t.Errorf("%s: %q, absent %v, in\n%s", format, s, absent, got)
					}
				}
			}
			check(FormatText, Options{}, want.text, true)
			check(FormatText, Options{Text: TextOptions{Verbose: true}}, want.verbose, false)
			check(FormatCSV, Options{}, want.csv, false)
			check(FormatNDJSON, Options{}, want.row, false)
			check(FormatTable, Options{Types: []client.Type{q.Type}}, want.table, false)
			check(FormatTable, Options{}, want.table, false)
		})
	}
}
