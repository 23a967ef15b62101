package client

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Rate is a limit on requests: at most N in any span of Per. The zero value
// is no limit.
type Rate struct {
	N   int           // requests
	Per time.Duration // the span that they are counted in
}

// IsZero reports whether r limits nothing.
func (r Rate) IsZero() bool { return r.N <= 0 || r.Per <= 0 }

// String returns r as [ParseRate] reads it: "100/1m". The zero Rate is "".
func (r Rate) String() string {
	if r.IsZero() {
		return ""
	}
	return strconv.Itoa(r.N) + "/" + shortSpan(r.Per)
}

// shortSpan writes a duration without the zero parts that Duration.String has.
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

// Bounds of a [Rate] that is believed.
const (
	maxRateN   = 1_000_000_000
	maxRatePer = 31 * 24 * time.Hour
)

// ParseRate reads a limit for one host, "rdap.example=100/1m": so many requests
// in any span of that length. The span is one of [time.ParseDuration], a unit
// alone ("s", "m", "h"), or in days ("1d"). Keys of Config.Groups may stand in
// place of the host.
func ParseRate(text string) (host string, rate Rate, err error) {
	host, limit, ok := strings.Cut(strings.TrimSpace(text), "=")
	host = strings.ToLower(strings.TrimSpace(host))
	if !ok || host == "" || strings.ContainsAny(host, "/ \t") {
		return "", Rate{}, rateError(text, "it names no host")
	}
	count, span, ok := strings.Cut(limit, "/")
	if !ok {
		return "", Rate{}, rateError(text, "it names no span of time")
	}
	n, err := strconv.ParseUint(strings.TrimSpace(count), 10, 31)
	if err != nil || n == 0 || n > maxRateN {
		return "", Rate{}, rateError(text, "the number of requests must be a whole number above 0")
	}
	per, err := parseSpan(strings.TrimSpace(span))
	if err != nil || per < time.Millisecond || per > maxRatePer {
		return "", Rate{}, rateError(text, "the span must be a duration from 1ms to 31d")
	}
	return host, Rate{N: int(n), Per: per}, nil
}

func parseSpan(s string) (time.Duration, error) {
	if s == "" || s[0] == '-' || s[0] == '+' {
		return 0, strconv.ErrSyntax
	}
	if !isDigit(s[0]) && s[0] != '.' {
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

func rateError(text, what string) error {
	return fmt.Errorf("%s is no rate: %s (write rdap.example=100/1m)", quote(text), what)
}

// BuiltinRates returns the limits on RDAP requests that operators have
// published, by host. They hold unless Config.Rates says something else.
//
// Limits that count something else than RDAP requests are not among them:
// Nominet's 5 a second is for whois, RIPE's 1,000 a day and AFRINIC's 5,000 a
// day count personal data and not requests.
func BuiltinRates() map[string]Rate {
	return map[string]Rate{
		"rdap.org": {N: 10, Per: 10 * time.Second},
		// Counted together with whois, for a /24 or a /48 of clients.
		"rdap.centralnic.com": {N: 1800, Per: 15 * time.Minute},
		// Published in 2016, with 1,000 an hour beside it; who goes over is
		// refused for some 5 minutes, with 403 as well as 429.
		"rdap.lacnic.net": {N: 10, Per: time.Minute},
	}
}
