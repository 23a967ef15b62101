package rdap

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// problemLines formats problems for a test.
func problemLines(problems []Problem) []string {
	var out []string
	for _, p := range problems {
		line := p.String()
		if p.Discarded {
			line += " (lost)"
		}
		out = append(out, line)
	}
	return out
}

// summaries has summaries of responses in the shapes that registries and registrars send, as
// read by a person.
var summaries = []struct {
	name     string
	want     Summary
	problems []string
}{
	{"registry-thin", Summary{
		Handle: "90210_DOMAIN_EXAMPLE-REG", Name: "harbour.example",
		Registrar: "Lighthouse Names Ltd.", RegistrarID: "9994",
		Created: "2001-09-15T04:00:00Z", Updated: "2024-02-11T08:15:30Z", Expires: "2028-09-14T04:00:00Z",
		Statuses:    []string{"client delete prohibited", "client transfer prohibited", "server update prohibited"},
		Nameservers: []string{"ns1.harbour.example", "ns2.harbour.example", "ns3.harbour.example", "ns4.harbour.example"},
		DNSSEC:      "signed", AbuseEmail: "abuse@lighthouse.example", AbusePhone: "+44.2079460100",
	}, nil},
	{"registrar-redacted", Summary{
		Handle: "90210_DOMAIN_EXAMPLE-REG", Name: "harbour.example", UnicodeName: "harbour.example",
		Registrar: "Lighthouse Names Ltd.", RegistrarID: "9994",
		Created: "2001-09-15T04:00:00.000+0000", Expires: "2028-09-14T04:00:00Z",
		Statuses:    []string{"client transfer prohibited", "active"},
		Nameservers: []string{"ns1.harbour.example", "ns2.harbour.example"},
		DNSSEC:      "unsigned", AbuseEmail: "abuse@lighthouse.example", AbusePhone: "+44-20-7946-0100 ext. 7",
	}, []string{"events[0].eventDate: date is not in RFC 3339 format"}},
	{"cctld-thick", Summary{
		Handle: "DOM0042-XX", Name: "moulin.example", Registrar: "Bureau Exemple SARL", RegistrarID: "9251",
		Created: "2005-08-02T14:16:36Z", Updated: "2024-06-12T22:09:39.881923Z", Expires: "2025-06-09T22:08:09Z",
		Statuses: []string{"active"}, Nameservers: []string{"ns-b1.dns.example", "ns-b2.dns.example"},
		AbuseEmail: "abus@bureau.example",
	}, nil},
	{"ripe-network", Summary{
		Handle: "198.51.100.0 - 198.51.100.255", Name: "POLDER-NET",
		Created: "2010-01-20T09:00:00Z", Updated: "2021-10-19T07:12:42Z", Statuses: []string{"active"},
		AbuseEmail: "abuse@polder.example", AbusePhone: "+31 20 555 0100",
		Start: "198.51.100.0", End: "198.51.100.255", CIDRs: []string{"198.51.100.0/24"},
		Holder: "Polder Netwerken B.V.", Country: "NL",
	}, nil},
	{"arin-network", Summary{
		Handle: "NET-203-0-113-0-1", Name: "MESA-1",
		Created: "2015-03-26T13:58:18-04:00", Updated: "2021-12-14T20:28:53-05:00", Statuses: []string{"active"},
		AbuseEmail: "abuse@mesa.example", AbusePhone: "+1-928-555-0100",
		Start: "203.0.113.0", End: "203.0.113.191", CIDRs: []string{"203.0.113.0/25", "203.0.113.128/26"},
		Holder: "Mesa Fiber Inc.",
	}, []string{"cidr0_cidrs[1].length: expected a number, found a string"}},
	{"apnic-network", Summary{
		Handle: "2001:db8:100::/40", Name: "REEF-LABS", Updated: "2020-07-15T13:10:57Z",
		AbuseEmail: "irt@reef.example", Start: "2001:db8:100::", End: "2001:db8:1ff:ffff:ffff:ffff:ffff:ffff",
		CIDRs: []string{"2001:db8:100::/40"}, Holder: "Reef Laboratory", Country: "AU",
	}, nil},
	// The Holder is empty, because no entity has the role registrant.
	{"afrinic-network", Summary{
		Handle: "192.0.2.0 - 192.0.2.207", Name: "SAVANNA", Statuses: []string{"reserved"},
		Start: "192.0.2.0", End: "192.0.2.207",
		CIDRs: []string{"192.0.2.0/25", "192.0.2.128/26", "192.0.2.192/28"}, Country: "ZA",
	}, nil},
	{"lacnic-network", Summary{
		Handle: "192.0.2.161", Name: "Cordillera S.A. de C.V.", Updated: "2014-07-16T15:43:45Z",
		AbuseEmail: "abuso@cordillera.example", AbusePhone: "52  2225550100",
		Start: "192.0.2.161", End: "192.0.2.161", CIDRs: []string{"192.0.2.161/32"},
		Holder: "Cordillera S.A. de C.V.", Country: "MX",
	}, nil},
	{"nicbr-autnum", Summary{
		Handle: "64500", Name: "ASN64500", Created: "2010-07-26T14:27:24Z", Updated: "2023-02-28T10:29:08Z",
		AbuseEmail: "abuse@exemplo.example", Start: "64500", End: "64500",
		Holder: "Telecom Exemplo Ltda", Country: "BR",
	}, nil},
	{"autnum-block", Summary{
		Handle: "AS64496 - AS64511", Name: "DOC-BLOCK", Statuses: []string{"reserved"}, Start: "64496", End: "64511",
	}, []string{"startAutnum: expected a number, found a string"}},
	{"reverse", Summary{
		Handle: "RX-1", Name: "2.0.192.in-addr.arpa", Nameservers: []string{"ns1.rir.example", "ns2.rir.example"}, DNSSEC: "signed",
	}, nil},
	{"idn-variants", Summary{
		Handle: "V1", Name: "xn--fo-5ja.example", UnicodeName: "fóo.example", Created: "1990-12-31T23:59:59Z",
		Statuses: []string{"locked", "transfer prohibited"}, Nameservers: []string{"ns1.xn--fo-5ja.example"}, DNSSEC: "signed",
	}, nil},
	{"nameserver", Summary{
		Handle: "HOST5-XX", Name: "ns1.nic.example", Created: "2010-05-05T05:05:05Z",
		Statuses: []string{"server update prohibited", "associated"},
	}, nil},
	{"entity", Summary{
		Handle: "1~REG", Name: "Lighthouse Names Ltd.", RegistrarID: "9994", Created: "2004-12-14T08:29:42",
		Statuses: []string{"validated"}, AbuseEmail: "abuse@lighthouse.example",
	}, []string{
		"events[0].eventDate: date is not in RFC 3339 format",
		"events[1].eventDate: unrecognized date (lost)",
	}},
	{"jscontact", Summary{Handle: "JS-1", Name: "karte.example", Registrar: "Karten Registrar"}, nil},
	{"domain-search", Summary{}, nil},
	{"help", Summary{}, nil},
	{"error", Summary{}, []string{"errorCode: expected a number, found a string"}},
}

func TestSummarize(t *testing.T) {
	for _, tt := range summaries {
		t.Run(tt.name, func(t *testing.T) {
			got, problems, err := Summarize(fixture(t, tt.name))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("summary (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tt.problems, problemLines(problems)); d != "" {
				t.Errorf("problems (-want +got):\n%s", d)
			}
		})
	}
}

func TestSummarizeDefects(t *testing.T) {
	tests := []struct {
		name, body, want string // want is the summary as JSON
		problems         []string
	}{
		{
			"numbers for strings, one for many",
			`{"objectClassName":"domain","handle":77,"ldhName":"beta.example","status":"active","lang":["de"],"entities":[
			 {"objectClassName":"entity","handle":1234,"roles":"registrar","publicIds":[{"type":"IANA Registrar ID","identifier":1234}]},
			 {"objectClassName":"entity","handle":"T9","roles":["technical"],"publicIds":{"type":"Y","identifier":"2"}}]}`,
			`{"handle":"77","name":"beta.example","registrar":"1234","registrar_id":"1234","statuses":["active"]}`,
			[]string{
				"handle: expected a string, found a number",
				"status: expected an array, found a single value",
				"lang: expected a string, found an array",
				"entities[0].handle: expected a string, found a number",
				"entities[0].roles: expected an array, found a single value",
				"entities[0].publicIds[0].identifier: expected a string, found a number",
				"entities[1].publicIds: expected an array, found a single object",
			},
		},
		{
			"values given up",
			`{"objectClassName":"domain","ldhName":"beta.example","handle":{"id":1},"status":[["a"],"active",{}],
			 "entities":[{"roles":["registrar"],"publicIds":"1234","handle":true}],"nameservers":["ns1.beta.example"],"events":"never"}`,
			`{"name":"beta.example","statuses":["a","active"]}`,
			[]string{
				"handle: expected a string, found an object (lost)",
				"status[0]: expected a string, found an array",
				"status[2]: expected a string, found an object (lost)",
				"entities[0].publicIds: expected an array of objects, found a string (lost)",
				"entities[0].handle: expected a string, found true or false (lost)",
				"nameservers[0]: expected an object, found a string (lost)",
				"events: expected an array of objects, found a string (lost)",
			},
		},
		{
			"byte-order mark",
			"\xef\xbb\xbf" + `{"objectClassName":"domain","ldhName":"beta.example","status":["active"]}`,
			`{"name":"beta.example","statuses":["active"]}`, nil,
		},
		{
			"null items, no handles",
			`{"objectClassName":"domain","ldhName":"beta.example","entities":[
			 {"handle":"R","roles":["registrar"],"vcardArray":["vcard",[["fn",{},"text","Beta Registrar"]]]},null,
			 {"roles":["abuse"],"vcardArray":["vcard",[["email",{},"text","abuse@beta.example"]]]},{"handle":null,"roles":null}],
			 "nameservers":[null,{"ldhName":"ns1.beta.example"}]}`,
			`{"name":"beta.example","registrar":"Beta Registrar","nameservers":["ns1.beta.example"],"abuse_email":"abuse@beta.example"}`,
			[]string{"entities[1]: null in an array", "nameservers[0]: null in an array"},
		},
		{
			"abuse contact inside a registrar without card",
			`{"objectClassName":"domain","ldhName":"beta.example","entities":[{"handle":"4343","roles":["registrar"],
			 "publicIds":[{"type":"IANA Registrar ID","identifier":"4343"}],"entities":[{"roles":["abuse"],"vcardArray":["vcard",[
			 ["contact-uri",{},"uri","MAILTO:abuse%40beta.example?subject=x"],["tel",{"type":["voice","work"]},"uri","tel:+1.5550199"]]]}]},
			 {"roles":["abuse"],"vcardArray":["vcard",[["email",{},"text","other@beta.example"]]]}]}`,
			`{"name":"beta.example","registrar":"4343","registrar_id":"4343","abuse_email":"abuse@beta.example","abuse_phone":"+1.5550199"}`, nil,
		},
		{
			"IANA's number is not the first, keys without a word, final dot",
			`{"objectClassName":"domain","ldhName":"BETA.example.","nameservers":[{"ldhName":"NS1.beta.example."}],"secureDNS":{"keyData":[{"flags":257}]},
			 "entities":[{"roles":["Registrar"],"handle":"B","publicIds":[{"type":"Registry ID","identifier":"B"},{"type":"iana registrar id","identifier":"8888"}]}]}`,
			`{"name":"beta.example","registrar":"B","registrar_id":"8888","nameservers":["ns1.beta.example"],"dnssec":"signed"}`, nil,
		},
		{
			"the server's word on DNSSEC counts",
			`{"objectClassName":"domain","secureDNS":{"delegationSigned":"false","dsData":[{"keyTag":1}]}}`,
			`{"dnssec":"unsigned"}`,
			[]string{"secureDNS.delegationSigned: expected true or false, found a string"},
		},
		{"silence on DNSSEC", `{"objectClassName":"domain","secureDNS":{"maxSigLife":1}}`, `{}`, nil},
		{"events without date or action", `{"objectClassName":"domain","events":[{"eventAction":"expiration"},{"eventDate":"2030-01-01T00:00:00Z"}]}`, `{}`, nil},
		{"no events", `{"objectClassName":"domain"}`, `{}`, nil},
		{
			"only a registration, with offset",
			`{"objectClassName":"domain","events":[{"eventAction":"registration","eventDate":"2018-07-06T05:04:03+02:00"}]}`,
			`{"created":"2018-07-06T05:04:03+02:00"}`, nil,
		},
		{
			"the registry's expiration before the registrar's",
			`{"objectClassName":"domain","events":[{"eventAction":"registrar expiration","eventDate":"2031-01-01T00:00:00Z"},{"eventAction":"expiration","eventDate":"2030-01-01T00:00:00Z"}]}`,
			`{"expires":"2030-01-01T00:00:00Z"}`, nil,
		},
		{
			"the first registration, the last change",
			`{"objectClassName":"domain","events":[{"eventAction":"registration","eventDate":"2012-01-01T00:00:00Z"},{"eventAction":"last changed","eventDate":"2015-01-01T00:00:00Z"},
			 {"eventAction":"registration","eventDate":"2010-01-01T00:00:00Z"},{"eventAction":"last changed","eventDate":"2014-01-01T00:00:00Z"}]}`,
			`{"created":"2010-01-01T00:00:00Z","updated":"2015-01-01T00:00:00Z"}`, nil,
		},
		{
			"of two organisations the first holds it",
			`{"objectClassName":"ip network","entities":[{"roles":["registrant"],"handle":"MNT"},
			 {"roles":["registrant"],"vcardArray":["vcard",[["fn",{},"text","One"],["kind",{},"text","org"]]]},
			 {"roles":["registrant"],"vcardArray":["vcard",[["fn",{},"text","Two"],["kind",{},"text","org"]]]}]}`,
			`{"holder":"One"}`, nil,
		},
		{
			"AS numbers that do not fit",
			`{"objectClassName":"autnum","startAutnum":-1,"endAutnum":4294967296,"name":null}`, `{}`,
			[]string{
				"startAutnum: not an integer from 0 to 4294967295 (lost)",
				"endAutnum: not an integer from 0 to 4294967295 (lost)",
			},
		},
		{"AS number 0 is one", `{"objectClassName":"autnum","startAutnum":0,"endAutnum":0}`, `{"start":"0","end":"0"}`, nil},
		{
			"no class, ends with prefix lengths",
			`{"startAddress":"2001:db8::/128","endAddress":"2001:db8::ffff/128","handle":"h"}`,
			`{"handle":"h","start":"2001:db8::","end":"2001:db8::ffff","cidrs":["2001:db8::/112"]}`,
			[]string{"startAddress: expected an address, found a prefix", "endAddress: expected an address, found a prefix", "missing objectClassName"},
		},
		{
			"a range that is none", `{"objectClassName":"ip network","startAddress":"192.0.2.9","endAddress":"192.0.2.1"}`,
			`{"start":"192.0.2.9","end":"192.0.2.1"}`,
			[]string{"startAddress and endAddress do not form a range (lost)"},
		},
		{
			"a member twice", `{"objectClassName":"domain","handle":"a","handle":"b","handle":null}`, `{"handle":"b"}`,
			[]string{"handle: duplicate member; the last one is used"},
		},
		{"escaped names", `{"object\u0043lassName":"domain","h\u0061ndle":"x\ty"}`, `{"handle":"x\ty"}`, nil},
		{"not UTF-8", "{\"objectClassName\":\"domain\",\"handle\":\"a\xffb\"}", `{"handle":"a\ufffdb"}`, nil},
		{
			"a line break in a string", "{\"objectClassName\":\"domain\",\"handle\":\"a\nb\"}", `{"handle":"a\nb"}`,
			[]string{"1 control characters that are not allowed in JSON strings became escapes"},
		},
		{"more after the object", `{"objectClassName":"domain","handle":"a"} <!-- x -->`, `{"handle":"a"}`, []string{"extra data after the JSON object"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, problems, err := Summarize([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			var want Summary
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("summary (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tt.problems, problemLines(problems)); d != "" {
				t.Errorf("problems (-want +got):\n%s", d)
			}
		})
	}
}

// A Summary does not change when the memory of the response is overwritten.
func TestSummaryCopiesStrings(t *testing.T) {
	var names []string
	for _, pattern := range []string{"testdata/*.json", "testdata/shapes/*.json"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	strs, problems := 0, 0
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, gotProblems, err := Summarize(raw)
		if err != nil {
			continue
		}
		want, err := json.Marshal([]any{got, gotProblems})
		if err != nil {
			t.Fatal(err)
		}
		got.eachString(func(s *string) {
			if *s != "" {
				strs++
			}
		})
		problems += len(gotProblems)
		for i := range raw {
			raw[i] = '#'
		}
		after, err := json.Marshal([]any{got, gotProblems})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(after)); d != "" {
			t.Errorf("%s (-before +after):\n%s", name, d)
		}
	}
	if strs < 100 || problems < 10 {
		t.Errorf("only %d strings and %d problems", strs, problems)
	}
}

// The table has the fields of a Summary in their order, by their names in JSON.
func TestSummaryFields(t *testing.T) {
	var s Summary
	typ := reflect.TypeOf(s)
	if len(summaryFields) != typ.NumField() {
		t.Fatalf("%d of %d fields", len(summaryFields), typ.NumField())
	}
	v := reflect.ValueOf(&s).Elem()
	for i, f := range summaryFields {
		var at any
		if f.Text != nil {
			at = f.Text(&s)
		} else {
			at = f.List(&s)
		}
		if name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ","); name != f.Name || at != v.Field(i).Addr().Interface() {
			t.Errorf("field %d is %s, %s in the table", i, name, f.Name)
		}
	}
}

func TestSummaryJSON(t *testing.T) {
	summary, _, err := Summarize(fixture(t, "ripe-network"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(summary)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"handle":"198.51.100.0 - 198.51.100.255","name":"POLDER-NET","created":"2010-01-20T09:00:00Z","updated":"2021-10-19T07:12:42Z","statuses":["active"],"abuse_email":"abuse@polder.example","abuse_phone":"+31 20 555 0100","start":"198.51.100.0","end":"198.51.100.255","cidrs":["198.51.100.0/24"],"holder":"Polder Netwerken B.V.","country":"NL"}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
	if b, _ := json.Marshal(Summary{}); string(b) != "{}" {
		t.Errorf("zero value: %s", b)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	body := `{"objectClassName":"domain","status":[` + strings.Repeat("null,", 5000) + `"active"]}`
	s, problems, err := Summarize([]byte(body))
	if err != nil || len(problems) != maxProblems || len(s.Statuses) != 1 {
		t.Errorf("%d problems, %v, %v", len(problems), s, err)
	}
}

func BenchmarkSummary(b *testing.B) {
	raw := benchAnswer(b)
	b.Run("Summarize", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := Summarize(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Read", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Read(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	// An entity lets encoding/json decode the minimum that a Summary needs, without cards.
	type entity struct {
		Handle    string
		Roles     []string
		PublicIDs []struct{ Type, Identifier string }
		Card      json.RawMessage `json:"vcardArray"`
		Entities  []struct {
			Roles []string
			Card  json.RawMessage `json:"vcardArray"`
		}
	}
	type domain struct {
		Handle, LDHName, UnicodeName string
		Status                       []string
		Events                       []struct{ EventAction, EventDate string }
		Nameservers                  []struct{ LDHName string }
		SecureDNS                    struct{ DelegationSigned bool }
		Entities                     []entity
	}
	b.Run("encoding-json-struct", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			var d domain
			if err := json.Unmarshal(raw, &d); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json-any", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			var v any
			if err := json.Unmarshal(raw, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// benchAnswer returns a registrar's response of about 4 kB without white space, as sent.
func benchAnswer(b *testing.B) []byte {
	raw, _, err := Compact(nil, fixture(b, "registrar-redacted"))
	if err != nil {
		b.Fatal(err)
	}
	return raw
}

// E-mail address and phone number of the abuse contact belong to one contact.
func TestAbuseOfOneContact(t *testing.T) {
	contact := func(role, mail, phone string, inside ...string) string {
		card := `["fn",{},"text","X"]`
		if mail != "" {
			card += `,["email",{},"text","` + mail + `"]`
		}
		if phone != "" {
			card += `,["tel",{},"text","` + phone + `"]`
		}
		return `{"roles":["` + role + `"],"vcardArray":["vcard",[` + card + `]],"entities":[` + strings.Join(inside, ",") + `]}`
	}
	for _, tt := range []struct {
		entities    []string
		mail, phone string
	}{
		{[]string{contact("registrar", "", "", contact("abuse", "a@x", ""), contact("abuse", "b@x", "2"))}, "a@x", ""},
		{[]string{contact("registrar", "", "", contact("abuse", "", "1"), contact("abuse", "b@x", "2"))}, "b@x", "2"},
		{[]string{contact("registrar", "", "", contact("abuse", "", "1"), contact("abuse", "", "2"))}, "", "1"},
		{[]string{contact("abuse", "c@x", "3"), contact("registrar", "", "", contact("abuse", "", "1"))}, "", "1"},
		{[]string{contact("abuse", "c@x", ""), contact("registrar", "r@x", "9")}, "c@x", ""},
		{[]string{contact("registrant", "", "", contact("abuse", "d@x", "4")), contact("abuse", "", "5")}, "d@x", "4"},
	} {
		for _, class := range []string{ClassDomain, ClassIPNetwork, ClassAutnum, ClassNameserver, ClassEntity} {
			s, _, err := Summarize([]byte(`{"objectClassName":"` + class + `","entities":[` + strings.Join(tt.entities, ",") + `]}`))
			if err != nil || s.AbuseEmail != tt.mail || s.AbusePhone != tt.phone {
				t.Errorf("%s %v: %q, %q, %v, want %q, %q", class, tt.entities, s.AbuseEmail, s.AbusePhone, err, tt.mail, tt.phone)
			}
		}
	}
}

// A registrar with only a number gets its name from the number.
func TestRegistrarByNumber(t *testing.T) {
	s, _, err := Summarize([]byte(`{"objectClassName":"domain","entities":[{"roles":["Registrar"],"publicIds":[{"type":"IANA Registrar ID","identifier":"9999"}]}]}`))
	if err != nil || s.Registrar != "IANA 9999" || s.RegistrarID != "9999" {
		t.Errorf("%+v, %v", s, err)
	}
}
