package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/rdap"
)

func jcard(properties ...string) string {
	return `"vcardArray":["vcard",[` + strings.Join(properties, ",") + `]]`
}

func entity(roles string, members ...string) string {
	return `{"roles":[` + roles + `],` + strings.Join(append(members, `"x":0`), ",") + `}`
}

// classText formats the members as a response of each class.
func classText(t *testing.T, members string, o TextOptions) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, class := range []string{rdap.ClassDomain, rdap.ClassNameserver, rdap.ClassEntity, rdap.ClassIPNetwork, rdap.ClassAutnum} {
		o.Now = noon
		raw := `{"objectClassName":"` + class + `","ldhName":"x.example",` + members + `}`
		out[class] = string(AppendText(nil, &client.Result{Query: queryOfClass(class), Verdict: client.VerdictFound, Raw: []byte(raw), Time: noon}, o))
	}
	return out
}

func wantLines(t *testing.T, class, got string, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if absent, ok := strings.CutPrefix(l, "-"); ok {
			if strings.Contains(got, absent) {
				t.Errorf("%s: %q is in\n%s", class, absent, got)
			}
		} else if !strings.Contains("\n"+got, "\n"+l+"\n") {
			t.Errorf("%s: no line %q in\n%s", class, l, got)
		}
	}
}

// TestAbuseContacts checks that every abuse contact is shown with all addresses and
// numbers.
func TestAbuseContacts(t *testing.T) {
	one := entity(`"abuse"`, jcard(`["fn",{},"text","First"]`, `["email",{},"text","first@one.example"]`))
	two := entity(`"Abuse"`, jcard(`["fn",{},"text","Second"]`, `["tel",{},"uri","tel:+1.5"]`, `["tel",{"type":"fax"},"uri","tel:+1.6"]`, `["email",{},"text","second@two.example"]`))
	post := entity(`"abuse"`, jcard(`["fn",{},"text","Post Only"]`, `["adr",{"label":["1 Test Way","Town"]},"text",null]`))
	noc := entity(`"noc","abuse"`, jcard(`["fn",{},"text","NOC"]`, `["email",{},"text","noc@x.example"]`))
	for class, got := range classText(t, `"entities":[`+entity(`"registrant"`, `"handle":"H"`, `"entities":[`+one+`,`+one+`]`)+`,`+two+`,`+noc+`]`, TextOptions{}) {
		wantLines(t, class, got, "Abuse         second@two.example · +1.5 · fax +1.6 (Second)", "              noc@x.example (NOC)", "              first@one.example (First)", "NOC           NOC (also abuse)")
	}
	for class, got := range classText(t, `"entities":[`+entity(`"registrar"`, `"entities":[`+one+`]`)+`,`+two+`]`, TextOptions{}) {
		wantLines(t, class, got, "Abuse         first@one.example (First)", "              second@two.example · +1.5 · fax +1.6 (Second)")
	}
	for class, got := range classText(t, `"entities":[`+one+`]`, TextOptions{}) {
		wantLines(t, class, got, "Abuse         first@one.example")
	}
	for class, got := range classText(t, `"entities":[`+post+`]`, TextOptions{}) {
		wantLines(t, class, got, "Abuse         Post Only, 1 Test Way, Town (no e-mail address or phone number published)")
	}
	many := make([]string, 12)
	for i := range many {
		many[i] = entity(`"abuse"`, jcard(fmt.Sprintf(`["email",{},"text","a%d@x.example"]`, i)))
	}
	for class, got := range classText(t, `"entities":[`+strings.Join(many, ",")+`]`, TextOptions{}) {
		wantLines(t, class, got, "              a3@x.example", "              and 8 more contacts", "-a4@x.example")
	}
	for class, got := range classText(t, `"entities":[`+strings.Join(many, ",")+`]`, TextOptions{Verbose: true}) {
		wantLines(t, class, got, "              a11@x.example", "-more contacts")
	}
}

// TestContactRemarks checks that text shows remarks, long remarks only with -v, and that a
// remark about withheld data replaces a handle.
func TestContactRemarks(t *testing.T) {
	const privacy = `{"title":"REDACTED FOR PRIVACY","description":["Some of the data in this object has been removed"]}`
	long := strings.Repeat("word ", 50)
	entities := `"entities":[` + strings.Join([]string{
		entity(`"technical"`, `"handle":"2023_C-TEST"`, `"remarks":[`+privacy+`,{"title":"EMAIL REDACTED FOR PRIVACY","description":["Please query"]}]`),
		entity(`"administrative"`, jcard(`["adr",{},"text",["","","","",""]]`), `"remarks":[`+strings.Replace(privacy, `"title"`, `"type":"object redacted due to authorization","title"`, 1)+`]`),
		entity(`"billing"`, jcard(`["adr",{"cc":"DE"},"text",["","","","","","",""]]`)),
		entity(`"sponsor"`, jcard(`["fn",{},"text","Sponsor"]`), `"status":["validated"]`, `"remarks":[{"title":"Comments","description":["One.","Two."]},{"title":"Long","description":["`+long+`"]}]`),
		entity(`"abuse"`, jcard(`["email",{},"text","a@x.example"]`), `"remarks":[{"title":"Unvalidated POC","description":["no response"]}]`),
	}, ",") + `]`
	for class, got := range classText(t, entities, TextOptions{}) {
		wantLines(t, class, got, "Tech          redacted for privacy", "Admin         redacted for privacy", "-2023_C-TEST", "Billing       country DE",
			"Sponsor       Sponsor", "              Comments: One. Two.", "              Long: … (full text with -v)", "Abuse         a@x.example", "              Unvalidated POC: no response", "-word word")
	}
	for class, got := range classText(t, entities, TextOptions{Verbose: true}) {
		wantLines(t, class, got, "Tech          redacted for privacy (2023_C-TEST)", "              EMAIL REDACTED FOR PRIVACY: Please query", "              status validated", "              Long: "+strings.TrimSpace(long))
	}
}

// TestRegistrarContact checks that the registrar's own addresses and identifiers are
// shown.
func TestRegistrarContact(t *testing.T) {
	for members, lines := range map[string][]string{
		`"handle":"R1","publicIds":[{"type":"IANA Registrar ID","identifier":"9999"},{"type":"Local","identifier":"L-1"}],` +
			jcard(`["fn",{},"text","R Ltd."]`, `["tel",{"type":"voice"},"uri","tel:+1.5"]`, `["email",{},"text","s@r.example"]`, `["url",{},"uri","https://www.r.example"]`): {
			"Registrar     R Ltd. (IANA 9999)", "              s@r.example · +1.5", "              https://www.r.example", "              L-1 (Local)",
		},
		`"publicIds":[{"type":"IANA Registrar ID","identifier":"9999"}]`:                           {"Registrar     IANA 9999", "-(IANA 9999)"},
		`"handle":"R1","links":[{"rel":"about","href":"https://www.r.example/"}]`:                  {"Registrar     R1", "              https://www.r.example/"},
		jcard(`["fn",{},"text","R Ltd."]`) + `,"remarks":[{"title":"T","description":["Moved."]}]`: {"Registrar     R Ltd.", "              T: Moved."},
	} {
		for class, got := range classText(t, `"entities":[`+entity(`"Registrar"`, members)+`]`, TextOptions{}) {
			if class == rdap.ClassDomain || class == rdap.ClassNameserver {
				wantLines(t, class, got, lines...)
			}
		}
	}
}

// TestRedactionByPath checks that the path of a redaction, not its name, determines
// where it is shown.
func TestRedactionByPath(t *testing.T) {
	entities := `"entities":[` + entity(`"registrant"`, jcard(`["fn",{},"text","Holder"]`)) + `,` + entity(`"technical"`, jcard(`["fn",{},"text","Tech"]`)) + `]`
	for _, tt := range []struct{ name, path, lines string }{
		{"Registrant keyTag", `"postPath":"$['secureDNS']['dsData'][0]['keyTag']"`, "Redacted      Registrant keyTag ($['secureDNS']['dsData'][0]['keyTag']): redacted"},
		{"Registrant keyTag", `"postPath":"$.secureDNS.dsData[0].keyTag"`, "Redacted      Registrant keyTag ($.secureDNS.dsData[0].keyTag): redacted"},
		{"Registrant Email", `"prePath":"$.entities[?(@.roles[0]=='registrant')].vcardArray[1][?(@[0]=='email')]"`, "Registrant    Holder|              Email: redacted"},
		{"Registrant Email", `"prePath":"$.entities[?(@.roles[0]=='technical')].vcardArray[1][?(@[0]=='email')]"`, "Tech          Tech|              Registrant Email ($.entities[?(@.roles[0]=='technical')].vcardArray[1][?(@[0]=='email')]): redacted"},
		{"Email", `"postPath":"$.entities[1].vcardArray"`, "Tech          Tech|              Email: redacted"},
		{"Registrant Email", `"prePath":"$.entities[1].vcardArray"`, "Registrant    Holder|              Email: redacted"},
		{"Registrant Email", `"postPath":"$.entities[9].vcardArray"`, "Registrant    Holder|              Email: redacted"},
		{"Registrant Email", `"pathLang":"xpath","postPath":"/x"`, "Registrant    Holder|              Email: redacted"},
		{"Registrant Email", `"x":1`, "Registrant    Holder|              Email: redacted"},
		{"Registry Domain ID", `"prePath":"$.handle"`, "Redacted      Registry Domain ID: redacted"},
	} {
		members := entities + `,"redacted":[{"name":{"description":"` + tt.name + `"},` + tt.path + `}]`
		for class, got := range classText(t, members, TextOptions{}) {
			if !strings.Contains("\n"+got, "\n"+strings.ReplaceAll(tt.lines, "|", "\n")+"\n") {
				t.Errorf("%s: %s %s: no %q in\n%s", class, tt.name, tt.path, tt.lines, got)
			}
		}
	}
}
