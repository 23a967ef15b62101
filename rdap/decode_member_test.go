package rdap

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMemberName(t *testing.T) {
	for _, name := range membersByFold {
		for _, spelled := range []string{name, strings.ToUpper(name), strings.ToLower(name), strings.ToUpper(name[:1]) + name[1:]} {
			if got := memberName(spelled); got != name {
				t.Errorf("%q is %q, want %q", spelled, got, name)
			}
		}
		if n := testing.AllocsPerRun(10, func() { memberName(name) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	for _, name := range []string{"", "secureDNSx", "x_status", "@type"} {
		if got := memberName(name); got != name {
			t.Errorf("%q became %q", name, got)
		}
	}
}

// Members in another case are read in every class, with one warning for each spelling.
func TestMembersInAnotherCase(t *testing.T) {
	right := `{"objectClassName":"domain","ldhName":"a.example","handle":"H","statuses":["active"],
		"secureDNS":{"delegationSigned":true,"dsData":[{"keyTag":1}]},"nameservers":[{"ldhName":"ns1.a.example"},{"ldhName":"ns2.a.example"}],
		"events":[{"eventAction":"registration","eventDate":"2020-01-01T00:00:00Z"}],
		"entities":[{"roles":["registrar"],"publicIds":[{"type":"IANA Registrar ID","identifier":"9999"}],"vcardArray":["vcard",[["fn",{},"text","R"]]]}]}`
	wrong := strings.NewReplacer("secureDNS", "secureDns", "delegationSigned", "DelegationSigned", "dsData", "DSData", "nameservers", "nameServers", "events", "Events",
		"eventAction", "eventaction", "publicIds", "publicIDs", "roles", "Roles", "vcardArray", "vCardArray", "ldhName", "LDHName", "objectClassName", "ObjectClassName").Replace(right)
	want, _, err := Summarize([]byte(strings.Replace(right, "statuses", "status", 1)))
	if err != nil || want.DNSSEC != "signed" || want.Registrar != "R" {
		t.Fatalf("%+v, %v", want, err)
	}
	got, problems, err := Summarize([]byte(wrong))
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	seen := make(map[string]bool)
	for _, p := range problems {
		if !p.InRow || p.Discarded || seen[p.Message+p.Path[strings.LastIndexByte(p.Path, '.')+1:]] {
			t.Errorf("problem %+v", p)
		}
		seen[p.Message+p.Path[strings.LastIndexByte(p.Path, '.')+1:]] = true
	}
	if len(problems) != 12 {
		t.Errorf("%d problems: %v", len(problems), problemLines(problems))
	}
	if class, err := Classify([]byte(wrong)); class != ClassDomain || err != nil {
		t.Errorf("class %q, %v", class, err)
	}
	for class, body := range map[string]string{
		ClassIPNetwork:  `{"objectclassname":"ip network","StartAddress":"192.0.2.0","endaddress":"192.0.2.255"}`,
		ClassAutnum:     `{"objectclassname":"autnum","StartAutnum":1,"endautnum":1}`,
		ClassNameserver: `{"objectclassname":"nameserver","LdhName":"ns1.a.example","ipaddresses":{"V4":["192.0.2.1"]}}`,
		ClassEntity:     `{"objectclassname":"entity","Handle":"X","vcardarray":["vcard",[["fn",{},"text","R"]]]}`,
	} {
		rec, err := Read([]byte(body))
		if err != nil || rec.Class != class {
			t.Errorf("%s: %+v, %v", body, rec, err)
			continue
		}
		if len(rec.CIDRs)+len(rec.V4) == 0 && rec.StartAutnum == nil && rec.Contact().Name == "" {
			t.Errorf("%s: read nothing: %+v", body, rec)
		}
	}
}
