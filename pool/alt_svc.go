package pool

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// An alternative is a host and port where an origin offers HTTP/3 (RFC 7838).
type alternative struct {
	host  string // empty means the origin's host
	port  string
	until time.Time
}

// Limits of an Alt-Svc field.
const (
	maxAltSvc        = 4 << 10             // maximum number of bytes to parse
	altSvcLifetime   = 24 * time.Hour      // lifetime without an ma parameter
	maxAltSvcLife    = 30 * 24 * time.Hour // maximum of the ma parameter
	maxAltSvcEntries = 32
)

// parseAltSvc parses the Alt-Svc fields of a response received at now. It returns the first
// valid alternative for HTTP/3. ok is false if the fields have no such alternative: "clear", or
// a list without HTTP/3. An earlier alternative is then no longer valid.
func parseAltSvc(h http.Header, now time.Time) (a alternative, ok bool) {
	field := strings.Join(h["Alt-Svc"], ",")
	if len(field) > maxAltSvc {
		return alternative{}, false
	}
	var age time.Duration
	if s, err := strconv.ParseUint(h.Get("Age"), 10, 31); err == nil {
		age = time.Duration(s) * time.Second
	}
	rest := field
	for range maxAltSvcEntries {
		var entry string
		if entry, rest, ok = nextAltValue(rest); !ok {
			break
		}
		if host, port, life, ok := parseAltValue(entry); ok {
			life = min(life, maxAltSvcLife) - age
			if life > 0 {
				return alternative{host: host, port: port, until: now.Add(life)}, true
			}
		}
	}
	return alternative{}, false
}

// nextAltValue cuts the first element off a list. Quoted strings may contain commas.
func nextAltValue(list string) (entry, rest string, ok bool) {
	list = strings.TrimLeft(list, ", \t")
	if list == "" {
		return "", "", false
	}
	quoted := false
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			return list[:i], list[i+1:], true
		}
	}
	return list, "", true
}

// parseAltValue parses one element: h3="host:port"; ma=3600; persist=1.
func parseAltValue(entry string) (host, port string, life time.Duration, ok bool) {
	protocol, rest, found := strings.Cut(entry, "=")
	if !found || strings.TrimSpace(protocol) != protoHTTP3 {
		return "", "", 0, false
	}
	authority, rest, ok := altToken(strings.TrimLeft(rest, " \t"))
	if !ok {
		return "", "", 0, false
	}
	if host, port, ok = altAuthority(authority); !ok {
		return "", "", 0, false
	}
	life = altSvcLifetime
	for {
		rest = strings.TrimLeft(rest, " \t")
		if rest == "" {
			return host, port, life, true
		}
		if rest[0] != ';' {
			return "", "", 0, false
		}
		name, after, found := strings.Cut(rest[1:], "=")
		if !found {
			return "", "", 0, false
		}
		var value string
		if value, rest, ok = altToken(strings.TrimLeft(after, " \t")); !ok {
			return "", "", 0, false
		}
		if strings.EqualFold(strings.TrimSpace(name), "ma") {
			seconds, err := strconv.ParseUint(value, 10, 31)
			if err != nil {
				return "", "", 0, false
			}
			life = time.Duration(seconds) * time.Second
		}
	}
}

// altToken cuts a token or a quoted string off the front of s.
func altToken(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		i := strings.IndexAny(s, "; \t")
		if i < 0 {
			i = len(s)
		}
		return s[:i], s[i:], i > 0
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			if i++; i == len(s) {
				return "", "", false
			}
		}
		b.WriteByte(s[i])
	}
	return "", "", false
}

// firstFreePort is the first port that is not reserved for system services (RFC 6335
// section 6). Packets to reserved ports could do harm; 443 is allowed.
const firstFreePort = 1024

// altAuthority splits the authority of an alternative. It accepts an address, or a
// name of letters, digits, hyphens and dots, with port 443 or a port above 1023.
func altAuthority(authority string) (host, port string, ok bool) {
	host, port, err := net.SplitHostPort(authority)
	if err != nil {
		return "", "", false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n != 443 && n < firstFreePort {
		return "", "", false
	}
	host = strings.ToLower(host)
	if host == "" || validAltHost(host) {
		return host, strconv.FormatUint(n, 10), true
	}
	return "", "", false
}

func validAltHost(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Zone() == ""
	}
	if len(host) > 253 || host[0] == '.' || host[0] == '-' || strings.Contains(host, "..") {
		return false
	}
	return !strings.ContainsFunc(host, func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '.')
	})
}
