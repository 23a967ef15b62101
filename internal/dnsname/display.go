package dnsname

import "strings"

// Display returns a host or domain name in lower case, without an insignificant final dot.
func Display(name string) string {
	name = strings.TrimSpace(name)
	if len(name) > 1 {
		name = strings.TrimSuffix(name, ".")
	}
	return strings.ToLower(name)
}
