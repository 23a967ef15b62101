package limit

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Rate is a limit on requests: at most N in any span of Per. The zero value
// means no limit.
type Rate struct {
	N   int           // number of requests
	Per time.Duration // span in which the requests are counted
}

// IsZero reports whether r means no limit.
func (r Rate) IsZero() bool { return r.N <= 0 || r.Per <= 0 }

// String returns r in the form that [ParseRate] accepts, such as "100/1m", and ""
// for the zero Rate.
func (r Rate) String() string {
	if r.IsZero() {
		return ""
	}
	return strconv.Itoa(r.N) + "/" + shortSpan(r.Per)
}

// Interval returns the time between two requests that are spread out evenly, and 0
// if r means no limit.
func (r Rate) Interval() time.Duration {
	if r.IsZero() {
		return 0
	}
	return r.Per / time.Duration(r.N)
}

// shortSpan formats a duration without the zero parts of Duration.String.
func shortSpan(d time.Duration) string {
	s := d.String()
	if cut, ok := strings.CutSuffix(s, "m0s"); ok {
		s = cut + "m"
	}
	if cut, ok := strings.CutSuffix(s, "h0m"); ok {
		s = cut + "h"
	}
	return s
}

// MaxPer is the longest span of a Rate. No request counts for longer.
const MaxPer = 31 * 24 * time.Hour

// maxN is the largest Rate.N, and the largest Usage.N.
const maxN = 1_000_000_000

// ParseRate parses the limit of one host, such as "rdap.example=100/1m" for 100
// requests in any minute. The span is a duration as in [time.ParseDuration], a unit
// ("s", "m", "h") or a number of days ("1d"). The host may be the name of a group
// of hosts.
func ParseRate(text string) (host string, rate Rate, err error) {
	host, spec, ok := strings.Cut(strings.TrimSpace(text), "=")
	host = strings.ToLower(strings.TrimSpace(host))
	if !ok || host == "" || strings.ContainsAny(host, "/ \t") {
		return "", Rate{}, rateError(text, "no host")
	}
	count, span, ok := strings.Cut(spec, "/")
	if !ok {
		return "", Rate{}, rateError(text, "no span of time")
	}
	n, err := strconv.ParseUint(strings.TrimSpace(count), 10, 31)
	if err != nil || n == 0 || n > maxN {
		return "", Rate{}, rateError(text, "the number of requests must be a positive integer")
	}
	per, err := parseSpan(strings.TrimSpace(span))
	if err != nil || per < time.Millisecond || per > MaxPer {
		return "", Rate{}, rateError(text, "the span must be a duration from 1ms to 31d")
	}
	return host, Rate{N: int(n), Per: per}, nil
}

func parseSpan(s string) (time.Duration, error) {
	if s == "" || s[0] == '-' || s[0] == '+' {
		return 0, strconv.ErrSyntax
	}
	if (s[0] < '0' || s[0] > '9') && s[0] != '.' {
		s = "1" + s
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, err
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	return time.ParseDuration(s)
}

func rateError(text, why string) error {
	return fmt.Errorf("invalid rate %q: %s (write rdap.example=100/1m)", text, why)
}

// Builtin returns the limits on RDAP requests that operators have published, by host.
//
// It omits limits that do not count RDAP requests. Nominet's 5 per second is for whois, and
// RIPE's 1,000 and AFRINIC's 5,000 per day count personal data.
func Builtin() map[string]Rate {
	return map[string]Rate{
		"rdap.org": {N: 10, Per: 10 * time.Second},
		// The limit includes whois queries. All clients of a /24 or /48 share it.
		"rdap.centralnic.com": {N: 1800, Per: 15 * time.Minute},
		// The limit was published in 2016, with another limit of 1,000 per hour. A client that
		// exceeds it gets 403 or 429 for about 5 minutes.
		"rdap.lacnic.net": {N: 10, Per: time.Minute},
	}
}
