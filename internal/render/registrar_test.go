package render

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rdapq/rdapq/bootstrap"
	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/pool"
	"github.com/rdapq/rdapq/rdap"
)

const (
	registryBody = `{"objectClassName":"domain","ldhName":"HARBOUR.EXAMPLE","status":["active"],
		"nameservers":[{"ldhName":"NS1.HARBOUR.EXAMPLE"}],"secureDNS":{"delegationSigned":true},
		"events":[{"eventAction":"registration","eventDate":"2019-02-03T04:00:00Z"},{"eventAction":"expiration","eventDate":"2029-02-03T04:00:00Z"}],
		"entities":[{"roles":["registrar"],"vcardArray":["vcard",[["fn",{},"text","Lighthouse Names"]]]},
			{"roles":["technical"],"vcardArray":["vcard",[["fn",{},"text","Desk"]]]}]}`
	registrarBody = `{"objectClassName":"domain","ldhName":"harbour.example","status":["active"],
		"nameservers":[{"ldhName":"ns9.harbour.example"}],"secureDNS":{"delegationSigned":true},
		"events":[{"eventAction":"registration","eventDate":"2019-02-03T08:00:00.000+0000"},{"eventAction":"expiration","eventDate":"2028-02-03T04:00:00Z"},
			{"eventAction":"registrar expiration","eventDate":"2030-02-03T04:00:00Z"}],
		"entities":[{"roles":["registrant"],"vcardArray":["vcard",[["fn",{},"text","Ada\u001b[2J Example"]]]},
			{"roles":["technical"],"vcardArray":["vcard",[["fn",{},"text","Desk"]]]},
			{"roles":["registrar"],"entities":[{"roles":["abuse"],"vcardArray":["vcard",[["email",{},"text","abuse@lighthouse.example"]]]}]}]}`
)

// referred returns a lookup that followed the registry's link.
func referred() *client.Result {
	q := client.Query{Text: "harbour.example", Type: client.TypeDomain, Name: "harbour.example"}
	at := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	return &client.Result{
		Line: 1, Query: q, Verdict: client.VerdictRegistered, Status: 200, Server: "https://rdap.registry.example/", Source: bootstrap.SourceIANA,
		URL: "https://rdap.registry.example/domain/harbour.example", FinalURL: "https://rdap.registry.example/domain/harbour.example",
		Time: at, Attempts: 1, Raw: []byte(registryBody),
		Registrar: &client.Result{
			Line: 1, Query: q, Verdict: client.VerdictRegistered, Status: 200, Server: "https://rdap.lighthouse.example/", Source: bootstrap.SourceReferral,
			URL: "https://rdap.lighthouse.example/domain/harbour.example?key=word", FinalURL: "https://rdap.lighthouse.example/domain/harbour.example?key=word",
			Time: at, Attempts: 1, Conn: pool.Trace{ConnID: 2, Protocol: "h2"}, Raw: []byte(registrarBody),
		},
	}
}

func TestRegistrarText(t *testing.T) {
	const want = `harbour.example: registered

Registrar     Lighthouse Names
Created       2019-02-03 (7 years ago)
Expires       2029-02-03 (2 years left)
Status        active
Nameservers   ns1.harbour.example
DNSSEC        signed

Tech          Desk

Registrar's record  https://rdap.lighthouse.example/ (linked by the registry)
Connection    HTTP/2 · no TLS · new
Expires       2030-02-03 (3 years left) according to the registrar
Differs       nameservers: ns1.harbour.example (registry) · ns9.harbour.example (registrar)
              expiration: 2029-02-03 (registry) · 2028-02-03 (registrar)
Abuse         abuse@lighthouse.example

Registrant    Ada\x1b[2J Example

Server        https://rdap.registry.example/ (IANA bootstrap)
`
	if got := string(AppendText(nil, referred(), TextOptions{})); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRegistrarTextFails(t *testing.T) {
	r := referred()
	g := r.Registrar
	g.Verdict, g.Status, g.Raw = client.VerdictRateLimited, 429, nil
	g.Failure = &client.Error{Code: client.CodeRateLimited, Message: "rate limited (429) at https://rdap.lighthouse.example/: too\u001b[2J fast"}
	got := string(AppendText(nil, r, TextOptions{}))
	for _, want := range []string{
		"harbour.example: registered\n", "\n\nRegistrar's record  https://rdap.lighthouse.example/ (rate limited, HTTP status 429)\n",
		"\n              rate limited (429) at https://rdap.lighthouse.example/: too\\x1b[2J fast\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "Differs") {
		t.Errorf("compared with nothing:\n%s", got)
	}
}

func TestRegistrarRow(t *testing.T) {
	r := referred()
	related := *r.Registrar
	related.Relation, related.Query, related.Cached = client.RelationUp, client.Query{Text: "192.0.2.0/23", Type: client.TypeIP}, true
	r.Related = []*client.Result{&related, &related}
	row := AppendRow(nil, r)
	if strings.Count(string(row), "\n") != 1 || strings.Contains(string(row), "word") {
		t.Errorf("row %q", row)
	}
	var got struct {
		Summary   rdap.Summary
		Registrar map[string]json.RawMessage
		Related   map[string][]map[string]json.RawMessage
	}
	if err := json.Unmarshal(row, &got); err != nil {
		t.Fatal(err)
	}
	if got.Summary.Nameservers[0] != "ns1.harbour.example" || got.Summary.Holder != "" {
		t.Errorf("the summary is not the registry's: %+v", got.Summary)
	}
	for name, want := range map[string]string{
		"server": `"https://rdap.lighthouse.example/"`, "url": `"https://rdap.lighthouse.example/domain/harbour.example?key=REDACTED"`,
		"status": "200", "verdict": `"registered"`, "source": `"referral"`, "line": "", "query": "", "type": "", "registrar": "", "cached": "",
	} {
		if string(got.Registrar[name]) != want {
			t.Errorf("registrar.%s is %s, want %s", name, got.Registrar[name], want)
		}
	}
	if got.Registrar["summary"] == nil || got.Registrar["rdap"] == nil || got.Registrar["conn"] == nil {
		t.Errorf("registrar %s", row)
	}
	up := got.Related["up"]
	if len(up) != 2 || string(up[1]["query"]) != `"192.0.2.0/23"` || string(up[1]["cached"]) != "true" || len(got.Related) != 1 {
		t.Errorf("related %v", got.Related)
	}
	at := []int{strings.Index(string(row), `,"summary":`), strings.Index(string(row), `,"rdap":`), strings.Index(string(row), `,"registrar":{`), strings.Index(string(row), `,"related":{`)}
	for i := 1; i < len(at); i++ {
		if at[i] < at[i-1] {
			t.Errorf("members out of order: %v", at)
		}
	}
}
