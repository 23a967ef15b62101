package client

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rdapq/rdapq/rdap"
)

// redirectors are hosts that answer for nothing themselves: they send clients to
// the server responsible, and say 404 when they know none.
var redirectors = []string{"rdap.org", "www.rdap.org", "rdap-bootstrap.arin.net"}

// unserved says that a 404 is not about the object: whoever sent it looked for a
// server to pass the question on to and found none. The answer must be the
// redirector's own; once it has sent the client on, the 404 is the server's.
func (r *Result) noServiceForName(status int, w rdap.ErrorBody) bool {
	if status != http.StatusNotFound {
		return false
	}
	if isRedirector(r.FinalURL) {
		return true
	}
	if saysNoService(w.Title) {
		return true
	}
	return slices.ContainsFunc(w.Description, saysNoService)
}

func isRedirector(address string) bool {
	// Not found is a common answer: most are told by a look.
	if !strings.Contains(address, "rdap.org") && !strings.Contains(address, "rdap-bootstrap") {
		return false
	}
	u, err := url.Parse(address)
	return err == nil && slices.Contains(redirectors, strings.ToLower(u.Hostname()))
}

// speaksOfService says that text is about there being no server rather than no
// object.
func saysNoService(text string) bool {
	if !strings.Contains(text, "RDAP") && !strings.Contains(text, "rdap") {
		return false
	}
	text = strings.ToLower(text)
	return strings.Contains(text, "no rdap service") || strings.Contains(text, "no rdap server")
}
