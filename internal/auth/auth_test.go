package auth_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/internal/auth"
)

// A recorder records requests, and requires digest authentication of requests to
// digest.example.
type recorder struct{ urls, fields []string }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	field := req.Header.Get("Authorization")
	r.urls, r.fields = append(r.urls, req.URL.String()), append(r.fields, field)
	resp := &http.Response{StatusCode: 200, Header: make(http.Header), Body: io.NopCloser(strings.NewReader(""))}
	if req.URL.Host == "digest.example" && field == "" {
		resp.StatusCode = 401
		resp.Header.Set("WWW-Authenticate", `Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256`)
	}
	return resp, nil
}

var credentials = map[string]auth.Credential{
	"https://basic.example":  {Scheme: auth.Basic, Name: "user", Secret: "password-1"},
	"https://bearer.example": {Scheme: auth.Bearer, Secret: "token-12345"},
	"https://key.example":    {Scheme: auth.APIKey, Name: "k", Secret: "key-12345"},
	"https://digest.example": {Scheme: auth.Digest, Name: "user", Secret: "password-2"},
}

func TestRoundTrip(t *testing.T) {
	for _, tt := range []struct {
		url, sent string
		fields    []string // prefixes of the Authorization fields
	}{
		{"https://basic.example/x", "https://basic.example/x", []string{"Basic dXNlcjpwYXNzd29yZC0x"}},
		{"http://basic.example/x", "http://basic.example/x", []string{""}},
		{"https://basic.example:8443/x", "https://basic.example:8443/x", []string{""}},
		{"https://bearer.example/x", "https://bearer.example/x", []string{"Bearer token-12345"}},
		{"https://key.example/x?a=1", "https://key.example/x?a=1&k=key-12345", []string{""}},
		{"https://other.example/x?k=key-12345&a=1", "https://other.example/x?a=1", []string{""}},
		{"https://digest.example/x", "https://digest.example/x", []string{"", "Digest "}},
	} {
		var r recorder
		req, err := http.NewRequest(http.MethodGet, tt.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := auth.New(&r, credentials, nil).RoundTrip(req)
		if err != nil || resp.StatusCode != 200 {
			t.Fatal(tt.url, resp, err)
		}
		if r.urls[0] != tt.sent || len(r.fields) != len(tt.fields) {
			t.Fatalf("%s: sent %q with %q, want %q with %q", tt.url, r.urls, r.fields, tt.sent, tt.fields)
		}
		for i, want := range tt.fields {
			if got := r.fields[i]; !strings.HasPrefix(got, want) || (got == "") != (want == "") {
				t.Errorf("%s: sent %q, want %q", tt.url, r.fields, tt.fields)
			}
		}
		if req.URL.String() != tt.url || len(req.Header) != 0 {
			t.Errorf("%s: the request was changed to %s, %v", tt.url, req.URL, req.Header)
		}
	}
}

func TestLeaks(t *testing.T) {
	a := auth.New(nil, credentials, nil)
	for link, want := range map[string]bool{
		"https://basic.example/password-1":          false,
		"https://other.example/password-1":          true,
		"https://other.example/x?y=token%2D12345":   true,
		"https://other.example/x":                   false,
		"https://basic.example/password-2/password": true,
	} {
		u, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Leaks(u); got != want {
			t.Errorf("%s: %v", link, got)
		}
		if (*auth.Transport)(nil).Leaks(u) {
			t.Errorf("%s leaks a secret that does not exist", link)
		}
	}
}

func TestStripKeys(t *testing.T) {
	a := auth.New(nil, credentials, nil)
	for link, want := range map[string]string{
		"https://x.example/?k=key-12345#part":       "https://x.example/#part",
		"/?a=1&k=key%2D12345&b=2":                   "/?a=1&b=2",
		"/?next=%2Fx%3Fk%3Dkey-12345":               "/",
		"https://x.example/key-12345?token-12345=1": "https://x.example/key-12345?token-12345=1",
	} {
		if got := a.StripKeys(link); got != want {
			t.Errorf("%s: %s, want %s", link, got, want)
		}
		if got := (*auth.Transport)(nil).StripKeys(link); got != link {
			t.Errorf("%s without credentials: %s", link, got)
		}
	}
	if auth.New(nil, nil, nil) != nil {
		t.Error("a Transport without credentials")
	}
}
