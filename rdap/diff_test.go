package rdap

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// diffBody describes a registered domain. Tests replace parts of it.
const diffBody = `{"objectClassName":"domain","handle":"D-1","ldhName":"harbour.example",
 "status":["active","client transfer prohibited"],
 "nameservers":[{"ldhName":"ns1.harbour.example","ipAddresses":{"v4":["192.0.2.1"],"v6":["2001:db8::1"]}},{"ldhName":"ns2.xn--hfen-loa.example"}],
 "secureDNS":{"delegationSigned":true,"dsData":[{"keyTag":123,"algorithm":13,"digestType":2,"digest":"ABCD"}],"keyData":[{"flags":257,"protocol":3,"algorithm":13,"publicKey":"AQID"}]},
 "events":[{"eventAction":"registration","eventDate":"2001-02-03T04:05:06Z"},{"eventAction":"expiration","eventDate":"2027-02-03T04:05:06Z"},
  {"eventAction":"last update of RDAP database","eventDate":"2026-01-01T00:00:00Z"}],
 "notices":[{"title":"Terms","description":["of use"]}],
 "entities":[{"objectClassName":"entity","roles":["registrar"],"handle":"R1","publicIds":[{"type":"IANA Registrar ID","identifier":"9994"}],
   "vcardArray":["vcard",[["fn",{},"text","Lighthouse Names"]]],
   "entities":[{"roles":["abuse"],"vcardArray":["vcard",[["email",{},"text","abuse@lighthouse.example"],["tel",{"type":"voice"},"uri","tel:+999.5551"]]]}]},
  {"roles":["registrant"],"handle":"C1","vcardArray":["vcard",[["fn",{},"text","Ada Example"],["email",{},"text","ada@holders.example"]]]},
  {"roles":["technical"],"handle":"C2"}],
 "redacted":[{"name":{"description":"Registrant Phone"},"method":"removal"}]}`

const diffNetwork = `{"objectClassName":"ip network","handle":"NET-1","startAddress":"192.0.2.0","endAddress":"192.0.2.255","ipVersion":"v4",
 "name":"HARBOUR","type":"ALLOCATED","country":"NO","parentHandle":"NET-0"}`

func TestDiff(t *testing.T) {
	tests := []struct {
		name     string
		body     string // response body; empty means diffBody
		old, new string
		want     []string // expected changes in the form "FIELD: OLD > NEW"
	}{
		{name: "the same"},
		{name: "handle", old: `"D-1"`, new: `"D-2"`, want: []string{"handle: D-1 > D-2"}},
		{name: "status added", old: `"active",`, new: `"active","server hold",`, want: []string{"status: active, client transfer prohibited > active, server hold, client transfer prohibited"}},
		{name: "status removed", old: `["active","client transfer prohibited"]`, new: `["active"]`, want: []string{"status: active, client transfer prohibited > active"}},
		{name: "statuses absent", old: `"status":["active","client transfer prohibited"],`, want: []string{"status: active, client transfer prohibited > -"}},
		{name: "status order and case", old: `["active","client transfer prohibited"]`, new: `["Client Transfer Prohibited","ACTIVE"]`},
		{name: "EPP statuses", old: `["active","client transfer prohibited"]`, new: `["ok","clientTransferProhibited https://icann.org/epp#clientTransferProhibited","ok"]`},
		{name: "expiration", old: "2027-02-03T04:05:06Z", new: "2028-02-03T04:05:06Z", want: []string{"expiration: 2027-02-03T04:05:06Z > 2028-02-03T04:05:06Z"}},
		{name: "expiration in another zone", old: "2027-02-03T04:05:06Z", new: "2027-02-03T06:05:06.000+0200"},
		{name: "expiration as a day", old: "2027-02-03T04:05:06Z", new: "2027-02-03"},
		{name: "expiration as another day", old: "2027-02-03T04:05:06Z", new: "2027-02-04", want: []string{"expiration: 2027-02-03T04:05:06Z > 2027-02-04"}},
		{name: "spelling of an action", old: `"eventAction":"expiration"`, new: `"eventAction":"EXPIRATION "`},
		{name: "registration", old: "2001-02-03", new: "2025-02-03", want: []string{"registration: 2001-02-03T04:05:06Z > 2025-02-03T04:05:06Z"}},
		{name: "event added", old: `"events":[`, new: `"events":[{"eventAction":"transfer","eventDate":"2026-05-05T00:00:00Z"},`, want: []string{"transfer: - > 2026-05-05T00:00:00Z"}},
		{name: "unrecognized date", old: "2027-02-03T04:05:06Z", new: "next year", want: []string{"expiration: 2027-02-03T04:05:06Z > next year"}},
		{name: "date of the database", old: "2026-01-01T00:00:00Z", new: "2026-01-02T00:00:00Z"},
		{name: "registrar", old: `"9994"`, new: `"9995"`, want: []string{"registrar: Lighthouse Names, 9994 > Lighthouse Names, 9995"}},
		{name: "name of the registrar", old: "Lighthouse Names", new: "Lighthouse Names Ltd."},
		{name: "registrar without a number", old: `"publicIds":[{"type":"IANA Registrar ID","identifier":"9994"}],`, want: []string{"registrar: Lighthouse Names, 9994 > Lighthouse Names"}},
		{name: "abuse contact", old: "abuse@lighthouse.example", new: "report@lighthouse.example", want: []string{"abuse: abuse@lighthouse.example, +999.5551 > report@lighthouse.example, +999.5551"}},
		{name: "spelling of a number", old: "tel:+999.5551", new: "tel:+999-55-51"},
		{name: "nameserver", old: `{"ldhName":"ns2.xn--hfen-loa.example"}`, new: `{"ldhName":"ns3.harbour.example"}`, want: []string{"nameservers: ns1.harbour.example, ns2.xn--hfen-loa.example > ns1.harbour.example, ns3.harbour.example"}},
		{name: "spelling of a nameserver", old: `{"ldhName":"ns2.xn--hfen-loa.example"}`, new: `{"unicodeName":"NS2.häfen.example."}`},
		{name: "address of a nameserver", old: "192.0.2.1", new: "192.0.2.2", want: []string{"addresses: ns1.harbour.example 192.0.2.1, ns1.harbour.example 2001:db8::1 > ns1.harbour.example 192.0.2.2, ns1.harbour.example 2001:db8::1"}},
		{name: "spelling of an address", old: "2001:db8::1", new: "2001:0DB8:0:0:0:0:0:1"},
		{name: "unsigned", old: `"delegationSigned":true`, new: `"delegationSigned":false`, want: []string{"dnssec: signed > unsigned"}},
		{name: "DS", old: `"digest":"ABCD"`, new: `"digest":"ABCE"`, want: []string{"ds: 123 13 2 ABCD > 123 13 2 ABCE"}},
		{name: "spelling of a digest", old: `"digest":"ABCD"`, new: `"digest":"ab cd"`},
		{name: "key", old: `"AQID"`, new: `"AQIE"`, want: []string{"keys: 257 3 13 AQID > 257 3 13 AQIE"}},
		{name: "contact", old: "Ada Example", new: "Bo Example", want: []string{"registrant: Ada Example, ada@holders.example > Bo Example, ada@holders.example"}},
		{name: "contact redacted", old: `,"vcardArray":["vcard",[["fn",{},"text","Ada Example"],["email",{},"text","ada@holders.example"]]]`, want: []string{"registrant: Ada Example, ada@holders.example > C1"}},
		{name: "contact by handle", old: `"C2"`, new: `"C3"`, want: []string{"technical: C2 > C3"}},
		{name: "two contacts in another order", old: `{"roles":["technical"],"handle":"C2"}`, new: `{"roles":["technical","technical"],"handle":"c2"}`},
		{name: "redaction", old: "Registrant Phone", new: "Registrant Email", want: []string{"redacted: Registrant Phone > Registrant Email"}},
		{name: "notice", old: "Terms", new: "Conditions"},
		{name: "variant", old: `"status"`, new: `"variants":[{"variantNames":[{"ldhName":"xn--a.example"}]}],"status"`, want: []string{"variants: - > xn--a.example"}},
		{
			name: "several", old: `"status":["active","client transfer prohibited"],` + "\n" + ` "nameservers"`, new: `"status":["pending delete"],"nothing"`,
			want: []string{
				"status: active, client transfer prohibited > pending delete",
				"nameservers: ns1.harbour.example, ns2.xn--hfen-loa.example > -",
				"addresses: ns1.harbour.example 192.0.2.1, ns1.harbour.example 2001:db8::1 > -",
			},
		},
		{name: "an error", old: diffBody, new: `{"errorCode":404,"title":"Not found"}`, want: []string{"everything"}},
		{name: "range", body: diffNetwork, old: "192.0.2.255", new: "192.0.2.127", want: []string{"range: 192.0.2.0 - 192.0.2.255 > 192.0.2.0 - 192.0.2.127"}},
		{name: "spelling of a range", body: diffNetwork, old: `"192.0.2.0"`, new: `"192.000.002.000"`},
		{name: "country", body: diffNetwork, old: `"NO"`, new: `"SE"`, want: []string{"country: NO > SE"}},
		{name: "name, type and parent", body: diffNetwork, old: `"name":"HARBOUR","type":"ALLOCATED","country":"NO","parentHandle":"NET-0"`, new: `"name":"QUAY","type":"ASSIGNED","country":"no","parentHandle":"NET-2"`, want: []string{
			"name: HARBOUR > QUAY", "type: ALLOCATED > ASSIGNED", "parent: NET-0 > NET-2",
		}},
		{
			name: "autnum", body: `{"objectClassName":"autnum","startAutnum":64500,"endAutnum":64510}`, old: "64510", new: "64511",
			want: []string{"range: 64500 - 64510 > 64500 - 64511"},
		},
		{
			name: "entity", body: `{"objectClassName":"entity","handle":"E","roles":["noc"],"publicIds":[{"type":"T","identifier":"1"}],"vcardArray":["vcard",[["fn",{},"text","Ada"]]]}`,
			old: `"roles":["noc"],"publicIds":[{"type":"T","identifier":"1"}],"vcardArray":["vcard",[["fn",{},"text","Ada"]]]`, new: `"roles":["abuse"]`,
			want: []string{"contact: Ada > E", "roles: noc > abuse", "public ids: T 1 > -"},
		},
		{name: "nameserver object", body: `{"objectClassName":"nameserver","ldhName":"ns1.example","ipAddresses":{"v4":["192.0.2.1"]}}`, old: "2.1", new: "2.9", want: []string{"addresses: 192.0.2.1 > 192.0.2.9"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := tt.body
			if body == "" {
				body = diffBody
			}
			if !strings.Contains(body, tt.old) {
				t.Fatalf("the body lacks %s", tt.old)
			}
			before, after := record(t, body), record(t, strings.Replace(body, tt.old, tt.new, 1))
			got := changeLines(Diff(before, after))
			if tt.name == "an error" {
				got, tt.want = nil, changeLines(Diff(before, nil))[:0]
				if n := len(Diff(before, after)); n != len(factsOf(before)) {
					t.Errorf("%d changes, want all %d facts", n, len(factsOf(before)))
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" && len(tt.want)+len(got) > 0 {
				t.Errorf("(-want +got)\n%s", d)
			}
			// In the other direction, old and new trade places.
			back := Diff(after, before)
			for i := range back {
				c := &back[i]
				c.Old, c.New, c.OldTime, c.NewTime = c.New, c.Old, c.NewTime, c.OldTime
			}
			if d := cmp.Diff(Diff(before, after), back); d != "" {
				t.Errorf("the other direction differs (-forth +back)\n%s", d)
			}
		})
	}
}

func changeLines(changes []Change) []string {
	values := func(list []string) string {
		if list == nil {
			return "-"
		}
		return strings.Join(list, ", ")
	}
	var out []string
	for _, c := range changes {
		out = append(out, c.Field+": "+values(c.Old)+" > "+values(c.New))
	}
	return out
}

func TestDiffTimes(t *testing.T) {
	got := Diff(record(t, diffBody), record(t, strings.Replace(diffBody, "2027-02-03", "2028-02-03", 1)))
	want := []Change{{
		Field: "expiration", Old: []string{"2027-02-03T04:05:06Z"}, New: []string{"2028-02-03T04:05:06Z"},
		OldTime: time.Date(2027, 2, 3, 4, 5, 6, 0, time.UTC), NewTime: time.Date(2028, 2, 3, 4, 5, 6, 0, time.UTC),
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestDiffOfNil(t *testing.T) {
	if got := Diff(nil, nil); got != nil {
		t.Errorf("got %v", got)
	}
	if got := changeLines(Diff(nil, record(t, `{"objectClassName":"domain","ldhName":"a.example","handle":"H"}`))); !cmp.Equal(got, []string{"handle: - > H"}) {
		t.Errorf("got %q", got)
	}
}

// A record does not differ from itself, whatever the server sent.
func FuzzDiff(f *testing.F) {
	f.Add([]byte(diffBody), []byte(diffNetwork))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, err := Read(a)
		y, err2 := Read(b)
		if err != nil || err2 != nil {
			return
		}
		if d := Diff(x, x); d != nil {
			t.Errorf("a record differs from itself: %+v", d)
		}
		if n, m := len(Diff(x, y)), len(Diff(y, x)); n != m {
			t.Errorf("%d changes, but %d in the other direction", n, m)
		}
		LifecycleOf(x, time.Unix(1e9, 0))
	})
}

func record(t *testing.T, body string) *Record {
	t.Helper()
	rec, err := Read([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}
