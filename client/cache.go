package client

import (
	"net/http"
	"net/url"
	"time"

	"github.com/rdapq/rdapq/internal/httpcache"
	"github.com/rdapq/rdapq/internal/rdaplink"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/rdap"
)

// A CacheMode selects the responses that a [Client] caches in memory. The Client reuses a
// cached response while the response is fresh, and revalidates it later (RFC 9111).
type CacheMode string

const (
	// CacheReferrals caches targets of links: records of registrars and related objects. It is
	// the default.
	CacheReferrals CacheMode = "referrals"
	// CacheAll caches all responses.
	CacheAll CacheMode = "all"
	// CacheNone caches no responses.
	CacheNone CacheMode = "none"
)

// Default limits of a cache: see Config.CacheEntries and Config.CacheBytes.
const (
	DefaultCacheEntries = 4096
	DefaultCacheBytes   = 32 << 20
)

func newCache(cfg Config) *httpcache.Cache {
	if cfg.Cache == CacheNone {
		return nil
	}
	return httpcache.New(cfg.CacheEntries, cfg.CacheBytes)
}

// fromCache returns a fresh response to u from the cache, nil if there is none.
func (a *attempt) fromCache(r *Result, u *url.URL) *http.Response {
	a.stale, a.cached = nil, false
	c := a.c.cacheFor(a.task)
	if c == nil {
		return nil
	}
	if a.task.options.skipsCached() {
		return nil
	}
	now := time.Now()
	e, fresh := c.Get(u, now)
	if !fresh {
		a.stale = e
		return nil
	}
	a.task.giveBack()
	if !a.redirected {
		r.Attempts-- // no request was sent
	}
	return a.useCached(u, e.Response(now))
}

// revalidate returns the cached response if resp is a 304 that confirms it, and
// otherwise resp.
func (a *attempt) revalidate(u *url.URL, resp *http.Response) *http.Response {
	if a.stale == nil || resp.StatusCode != http.StatusNotModified {
		return resp
	}
	resp.Body.Close()
	now := time.Now()
	return a.useCached(u, a.c.cache.Update(u, a.stale, resp.Header, a.sent, now).Response(now))
}

func (a *attempt) useCached(u *url.URL, resp *http.Response) *http.Response {
	a.cached = true
	a.c.cfg.Logger.DebugContext(a.outer, "from the cache", "url", weburl.Redact(u.String()), "age", resp.Header.Get("Age"))
	return resp
}

// storeInCache caches the response to a request for u, unless it came from the cache.
func (a *attempt) storeInCache(u *url.URL, resp *http.Response, raw []byte) {
	c := a.c.cacheFor(a.task)
	if c == nil || a.cached {
		return
	}
	var own []string
	if resp.StatusCode == http.StatusOK && len(raw) > 0 {
		own = selfKeys(u, raw)
	}
	c.Put(u, own, resp.StatusCode, resp.Header, raw, a.sent, time.Now())
}

// selfKeys returns the keys of the self links of a response to its own server: a server
// is authoritative only for itself (RFC 9083 section 10). It skips a self link with
// another name than the object, because the response would be stored under that name.
func selfKeys(u *url.URL, raw []byte) []string {
	rec, err := rdap.Read(raw)
	if err != nil {
		return nil
	}
	var own []string
	for _, s := range rdaplink.Self(rec.Links, u) {
		p := rdaplink.Split(s)
		if (p.Class == "domain" || p.Class == "nameserver") && !rdaplink.IsNameOf(p.Object, rec, "") {
			continue
		}
		if s.Scheme == u.Scheme && weburl.Host(s) == weburl.Host(u) {
			own = append(own, weburl.Normalize(s))
		}
	}
	return own
}
