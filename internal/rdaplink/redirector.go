package rdaplink

import (
	"net/url"
	"slices"
	"strings"
)

// redirectors lists hosts that have no objects themselves. They redirect to the authoritative
// server, and send 404 if there is none.
var redirectors = []string{"rdap.org", "www.rdap.org", "rdap-bootstrap.arin.net"}

// IsRedirector reports whether a URL is at a host that has no objects itself.
func IsRedirector(address string) bool {
	// Avoid parsing: most URLs do not mention such a host.
	if !strings.Contains(address, "rdap.org") && !strings.Contains(address, "rdap-bootstrap") {
		return false
	}
	u, err := url.Parse(address)
	return err == nil && slices.Contains(redirectors, strings.ToLower(u.Hostname()))
}
