package client

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/rdap"
)

// check says what of a configuration makes no sense. Left alone, most of that
// would do nothing, without a word.
func (c Config) check() error {
	bad := func(field, format string, args ...any) error {
		return fmt.Errorf("client: %s: %s", field, fmt.Sprintf(format, args...))
	}
	if !slices.Contains([]CacheMode{"", CacheReferrals, CacheAll, CacheNone}, c.Cache) {
		return bad("Cache", "%q is none of the modes", c.Cache)
	}
	if !slices.Contains([]Referral{"", ReferralNone, ReferralRegistrar}, c.Referral) {
		return bad("Referral", "%q is none of the values", c.Referral)
	}
	for _, r := range c.Related {
		if !slices.Contains(Relations(), r) {
			return bad("Related", "%q is none of the relations", r)
		}
	}
	if strings.ContainsFunc(c.UserAgent, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return bad("UserAgent", "it has control characters in it")
	}
	if list, err := rdap.ParseLanguages(strings.Join(c.Languages, ",")); err != nil || len(list) != len(c.Languages) {
		return bad("Languages", "%q are no language tags, or too many", c.Languages)
	}
	if err := c.Search.Check(); err != nil {
		return fmt.Errorf("client: Search: %w", err)
	}
	for host, r := range c.Rates {
		if r.IsZero() && r != (Rate{}) {
			return bad("Rates", "%d requests in %v are no rate of %s", r.N, r.Per, host)
		}
	}
	for id, base := range c.RegistrarURLs {
		if base == "" {
			continue
		}
		if _, _, err := registrarEntry(id, base); err != nil {
			return bad("RegistrarURLs", "%q: %v", id, err)
		}
	}
	for origin, cred := range c.Credentials {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "https" || u.Host == "" || weburl.Origin(u) != origin {
			return bad("Credentials", "%q is no origin as in https://rdap.example", weburl.Redact(origin))
		}
		if cred == nil || !slices.Contains([]AuthScheme{AuthBasic, AuthDigest, AuthBearer, AuthAPIKey}, cred.Scheme) {
			return bad("Credentials", "that of %s has none of the schemes", origin)
		}
	}
	return nil
}
