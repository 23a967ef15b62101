package client_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/limit"
)

func TestConfigCheck(t *testing.T) {
	credential := func(origin string, c *client.Credential) client.Config {
		return client.Config{Credentials: map[string]*client.Credential{origin: c}}
	}
	basic := &client.Credential{Scheme: client.AuthBasic, Name: "user", Secret: secret}
	for _, tt := range []struct {
		field string // field named in the error; empty if the configuration is valid
		cfg   client.Config
	}{
		{"", client.Config{}},
		{"", client.Config{
			Timeout: -1, ConnectTimeout: -1, Jobs: -1, PerHost: -1, MaxWait: -1, Attempts: -1, MaxMemory: -1, MaxBody: -1,
			MaxRedirects: -1, ReferralDepth: -1, ReferralTimeout: -1, CacheEntries: -1, CacheBytes: -1,
		}},
		{"", client.Config{
			Cache: client.CacheAll, Referral: client.ReferralRegistrar, Related: client.Relations(),
			Languages: []string{"de-AT", "en"}, UserAgent: "registrar/1 (ops@registrar.example)",
			Rates:         map[string]limit.Rate{"rdap.example": {}, "rdap.example.net": {N: 1, Per: time.Second}},
			RegistrarURLs: map[string]string{"9999": "https://rdap.example/", "9998": ""},
			Search:        client.SearchConfig{SearchOptions: client.SearchOptions{Sort: "name:d", FieldSet: "brief"}},
		}},
		{"", credential("https://rdap.example:8443", basic)},
		{"Cache", client.Config{Cache: "everything"}},
		{"Referral", client.Config{Referral: "always"}},
		{"Related", client.Config{Related: []client.Relation{"rdap-up"}}},
		{"UserAgent", client.Config{UserAgent: "a\r\nb: c"}},
		{"Languages", client.Config{Languages: []string{"en;q=1"}}},
		{"Languages", client.Config{Languages: []string{"de,en"}}},
		{"Search", client.Config{Search: client.SearchConfig{SearchOptions: client.SearchOptions{FieldSet: "&"}}}},
		{"Rates", client.Config{Rates: map[string]limit.Rate{"rdap.example": {N: 100}}}},
		{"RegistrarURLs", client.Config{RegistrarURLs: map[string]string{"9999": "rdap.example"}}},
		{"Credentials", credential("https://rdap.example", nil)},
		{"Credentials", credential("https://rdap.example", &client.Credential{Scheme: "ntlm", Secret: secret})},
		{"Credentials", credential("https://rdap.example/", basic)},
		{"Credentials", credential("https://RDAP.example", basic)},
		{"Credentials", credential("http://rdap.example", basic)},
		{"Credentials", credential("https://user:"+secret+"@rdap.example", basic)},
	} {
		c, err := client.New(tt.cfg)
		if err == nil {
			c.Close()
		}
		switch {
		case tt.field == "" && err != nil:
			t.Errorf("%+v: %v", tt.cfg, err)
		case tt.field != "" && (err == nil || !strings.HasPrefix(err.Error(), "client: "+tt.field+": ")):
			t.Errorf("%+v: %v, want one about %s", tt.cfg, err, tt.field)
		case err != nil && strings.Contains(err.Error(), secret):
			t.Errorf("the secret is in %v", err)
		}
	}
}
