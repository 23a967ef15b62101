package client

import (
	"strconv"
	"strings"
)

// acceptLanguage is the field that asks a server for these languages (RFC 9110
// section 12.5.4): "de-AT, en;q=0.9". It is empty without any.
func acceptLanguage(tags []string) string {
	var b strings.Builder
	for i, tag := range tags {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(tag)
		if i > 0 {
			b.WriteString(";q=0." + strconv.Itoa(10-i))
		}
	}
	return b.String()
}
