package registrars_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/internal/registrars"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, list, bad string
		want            map[string]string
	}{
		{
			name: "table",
			list: "\ufeff# mine\n990001\thttps://rdap.palmes.example/\n\n 0042 https://rdap.other.example/v1 Other Names # closed soon\r\n",
			want: map[string]string{"990001": "https://rdap.palmes.example/", "42": "https://rdap.other.example/v1"},
		},
		{
			name: "csv",
			list: "\"ID\",Registrar Name,Status,RDAP Base URL\n1,Reserved,Reserved,\n990001,\"Palmes, \"\"Ferme des\"\"\",Accredited,https://rdap.palmes.example/\n990002,Old,Terminated,\n990003,Odd,Accredited,ftp://odd.example/\n990004,Short\n",
			want: map[string]string{"990001": "https://rdap.palmes.example/"},
		},
		{
			name: "xml",
			list: `<?xml version="1.0"?><registry xmlns="http://www.iana.org/assignments" id="registrar-ids"><title>Ids</title>
				<registry id="registrar-ids-1"><record><value>1</value><name>Reserved</name><status>Reserved</status><rdapurl/></record>
				<record date="2020-01-01"><value>990001</value><name>Palmes &amp; Co</name><status>Accredited</status>
				<rdapurl><server>https://rdap.palmes.example/</server></rdapurl></record></registry></registry>`,
			want: map[string]string{"990001": "https://rdap.palmes.example/"},
		},
		{name: "no URL", list: "990001\n", bad: "line 1: expected a number and a URL"},
		{name: "bad URL", list: "# mine\n990001 rdap.palmes.example\n", bad: "line 2: not the base URL of a server"},
		{name: "bad number", list: "Palmes https://rdap.palmes.example/\n", bad: "line 1: not an IANA registrar number"},
		{name: "password", list: "990001 https://me:word@rdap.palmes.example/\n", bad: "line 1: not the base URL"},
		{name: "empty", list: "# none\n", bad: "no registrar"},
		{name: "web page", list: "<html><p>busy", bad: "list of registrars: "},
		{name: "broken xml", list: "<registry><record><value>1</record>", bad: "list of registrars: "},
		{name: "csv without entries", list: "ID,Registrar Name,Status,RDAP Base URL\n1,Reserved,Reserved,\n", bad: "no registrar"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := registrars.Parse(strings.NewReader(tt.list))
			if tt.bad != "" {
				if err == nil || !strings.Contains(err.Error(), tt.bad) || strings.Contains(err.Error(), "word") {
					t.Errorf("error %v, want %q", err, tt.bad)
				}
				return
			}
			if err != nil || !maps.Equal(got, tt.want) {
				t.Errorf("%v, error %v; want %v", got, err, tt.want)
			}
		})
	}
}

// The built-in table may be empty, but it must be valid.
func TestBuiltin(t *testing.T) {
	for id, base := range registrars.Builtin() {
		if strings.Trim(id, "0123456789") != "" || !strings.HasPrefix(base, "http") {
			t.Errorf("entry %q: %q", id, base)
		}
	}
}
