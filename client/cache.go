package client

import (
	"bytes"
	recency "container/list"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/rdap"
)

// A CacheMode selects the responses that a [Client] caches in memory. It reuses a
// response while it is fresh, and then revalidates it (RFC 9111).
type CacheMode string

const (
	// CacheReferrals caches targets of links: records of registrars and related
	// objects. An empty CacheMode means the same.
	CacheReferrals CacheMode = "referrals"
	// CacheAll caches all responses.
	CacheAll CacheMode = "all"
	// CacheNone caches none.
	CacheNone CacheMode = "none"
)

// Default limits of a cache: see Config.CacheEntries and Config.CacheBytes.
const (
	DefaultCacheEntries = 4096
	DefaultCacheBytes   = 32 << 20
)

// A cache stores responses by their URLs. It is safe for concurrent use.
type cache struct {
	entries int
	bytes   int64

	mu    sync.Mutex
	byURL map[string]*recency.Element // of *cacheEntry
	used  recency.List                // most recently used first
	size  int64
}

// cacheEntry is a cached response. It does not change.
type cacheEntry struct {
	keys      []string // URLs that find it; the first one was requested
	status    int
	header    http.Header
	raw       []byte
	expires   time.Time // fresh before
	generated time.Time // when it was generated, by its Age
}

// entryOverhead is the estimated memory of an entry without its body, in bytes.
const entryOverhead = 1 << 10

func newCache(cfg Config) *cache {
	if cfg.Cache == CacheNone {
		return nil
	}
	return &cache{entries: cfg.CacheEntries, bytes: cfg.CacheBytes, byURL: make(map[string]*recency.Element)}
}

// get returns the entry cached for u, or nil, and reports whether it is fresh.
func (c *cache) get(u *url.URL, now time.Time) (e *cacheEntry, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.byURL[weburl.Normalize(u)]
	if at == nil {
		return nil, false
	}
	c.used.MoveToFront(at)
	e = at.Value.(*cacheEntry)
	return e, now.Before(e.expires)
}

// put replaces the entry of u by a response, if its header permits. others are further
// keys that find it, unless they find another entry.
func (c *cache) put(u *url.URL, others []string, status int, header http.Header, raw []byte, sent, received time.Time) {
	f := freshnessOf(header, sent, received)
	key := weburl.Normalize(u)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.byURL[key])
	size := int64(len(raw)) + entryOverhead
	if !f.storable || f.lifetime == 0 && (status != http.StatusOK || !hasValidator(header)) || !isCacheable(status) || size > c.bytes/8 {
		return
	}
	e := &cacheEntry{
		keys: []string{key}, status: status, header: maps.Clone(header), raw: bytes.Clone(raw),
		expires: received.Add(f.lifetime), generated: received.Add(-deltaSeconds(header.Get("Age"))),
	}
	delete(e.header, "Content-Encoding") // the body is plain by now
	delete(e.header, "Content-Length")
	at := c.used.PushFront(e)
	c.byURL[key] = at
	for _, k := range others {
		if c.byURL[k] == nil {
			c.byURL[k] = at
			e.keys = append(e.keys, k)
		}
	}
	c.size += size
	for c.used.Len() > c.entries || c.size > c.bytes {
		c.remove(c.used.Back())
	}
}

// update applies a 304 response to an entry: its header fields replace those stored,
// and set the freshness anew (RFC 9111 section 4.3.4).
func (c *cache) update(u *url.URL, e *cacheEntry, header http.Header, sent, received time.Time) *cacheEntry {
	merged := maps.Clone(e.header)
	for name, values := range header {
		if name != "Content-Length" && name != "Content-Encoding" {
			merged[name] = values
		}
	}
	if _, ok := header["Age"]; !ok {
		delete(merged, "Age")
	}
	c.put(u, e.keys, e.status, merged, e.raw, sent, received)
	return &cacheEntry{status: e.status, header: merged, raw: e.raw, generated: received}
}

func (c *cache) remove(at *recency.Element) {
	if at == nil {
		return
	}
	e := c.used.Remove(at).(*cacheEntry)
	for _, k := range e.keys {
		delete(c.byURL, k)
	}
	c.size -= int64(len(e.raw)) + entryOverhead
}

// isCacheable reports whether responses with a status are cached: objects, their
// absence, and redirects.
func isCacheable(status int) bool {
	return status == http.StatusOK || status == http.StatusNotFound || isRedirect(status)
}

func hasValidator(h http.Header) bool { return h.Get("Etag") != "" || h.Get("Last-Modified") != "" }

// response returns e as a response.
func (e *cacheEntry) response(now time.Time) *http.Response {
	h := maps.Clone(e.header)
	h.Set("Age", strconv.FormatInt(int64(now.Sub(e.generated)/time.Second), 10))
	return &http.Response{
		StatusCode: e.status, Header: h, ContentLength: int64(len(e.raw)),
		Body: io.NopCloser(bytes.NewReader(e.raw)),
	}
}

// makeConditional makes the request conditional on e: If-None-Match,
// If-Modified-Since (RFC 9110 section 13.1).
func (e *cacheEntry) makeConditional(h http.Header) {
	if tag := e.header.Get("Etag"); tag != "" {
		h.Set("If-None-Match", tag)
	}
	if date := e.header.Get("Last-Modified"); date != "" {
		h.Set("If-Modified-Since", date)
	}
}

// fromCache returns a fresh response to u from the cache, nil if there is none.
func (a *attempt) fromCache(r *Result, u *url.URL) *http.Response {
	a.stale, a.cached = nil, false
	c := a.c.cacheFor(a.task)
	if c == nil {
		return nil
	}
	now := time.Now()
	e, fresh := c.get(u, now)
	if !fresh {
		a.stale = e
		return nil
	}
	a.task.giveBack()
	if !a.redirected {
		r.Attempts-- // none was made
	}
	return a.useCached(u, e.response(now))
}

// revalidate returns the cached response if resp is a 304 that confirms it, and
// otherwise resp.
func (a *attempt) revalidate(u *url.URL, resp *http.Response) *http.Response {
	if a.stale == nil || resp.StatusCode != http.StatusNotModified {
		return resp
	}
	resp.Body.Close()
	now := time.Now()
	return a.useCached(u, a.c.cache.update(u, a.stale, resp.Header, a.sent, now).response(now))
}

func (a *attempt) useCached(u *url.URL, resp *http.Response) *http.Response {
	a.cached = true
	a.c.cfg.Logger.Debug("from the cache", "url", weburl.Redact(u.String()), "age", resp.Header.Get("Age"))
	return resp
}

// storeInCache caches the response to a request for u, unless it is from the cache.
func (a *attempt) storeInCache(u *url.URL, resp *http.Response, raw []byte) {
	c := a.c.cacheFor(a.task)
	if c == nil || a.cached {
		return
	}
	var own []string
	if resp.StatusCode == http.StatusOK && len(raw) > 0 {
		own = selfKeys(u, raw)
	}
	c.put(u, own, resp.StatusCode, resp.Header, raw, a.sent, time.Now())
}

// selfKeys returns the keys of the self links of a response that are at its own server:
// a server is authoritative only for itself (RFC 9083 section 10). A self link with
// another name than the object is skipped, or it would be found for that name.
func selfKeys(u *url.URL, raw []byte) []string {
	rec, err := rdap.Read(raw)
	if err != nil {
		return nil
	}
	var own []string
	for _, s := range selfLinks(rec.Links, u) {
		p := splitLink(s)
		if (p.class == "domain" || p.class == "nameserver") && !isNameOf(p.key, rec, Query{}) {
			continue
		}
		if s.Scheme == u.Scheme && weburl.Host(s) == weburl.Host(u) {
			own = append(own, weburl.Normalize(s))
		}
	}
	return own
}

// maxLifetime limits how long a response is fresh.
const maxLifetime = 30 * 24 * time.Hour

// A freshness describes how long the header of a response permits a private cache to
// reuse the response (RFC 9111). There is no heuristic: a response without an explicit
// lifetime is never fresh.
type freshness struct {
	storable bool          // it may be stored
	lifetime time.Duration // since it was received; 0: it is revalidated for each use
}

// freshnessOf returns the freshness of a response by its header and the times of
// request and response.
func freshnessOf(h http.Header, sent, received time.Time) freshness {
	f := freshness{storable: true}
	stated, noCache := time.Duration(-1), false
	for _, line := range h.Values("Cache-Control") {
		for _, directive := range splitList(line) {
			name, value, _ := strings.Cut(directive, "=")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "no-store":
				f.storable = false
			case "no-cache":
				noCache = true // field names are ignored, which is allowed: they are rare
			case "max-age":
				// The shorter of two applies, and an invalid number means 0
				// (section 4.2.1).
				if d := deltaSeconds(strings.Trim(strings.TrimSpace(value), `"`)); stated < 0 || d < stated {
					stated = d
				}
			}
		}
	}
	for _, line := range h.Values("Vary") {
		for field := range strings.SplitSeq(line, ",") {
			if strings.TrimSpace(field) == "*" {
				f.storable = false
			}
		}
	}
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		date = received
	}
	if expires := h.Values("Expires"); stated < 0 && len(expires) > 0 {
		stated = 0 // an invalid date, such as "0", is in the past (section 5.3)
		if at, err := http.ParseTime(expires[0]); err == nil {
			stated = at.Sub(date)
		}
	}
	if noCache {
		stated = 0
	}
	// The age when it was received (section 4.2.3).
	age := received.Sub(sent)
	if values := h.Values("Age"); len(values) > 0 {
		age += deltaSeconds(strings.TrimSpace(values[0]))
	}
	age = max(age, received.Sub(date))
	f.lifetime = min(max(stated-age, 0), maxLifetime)
	return f
}

// deltaSeconds parses a number of seconds (section 1.2.2). An invalid one is 0.
func deltaSeconds(s string) time.Duration {
	if s == "" || !isNumeric(s) {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		n = 1 << 31 // as the section defines for numbers that are too large
	}
	return time.Duration(n) * time.Second
}

// splitList splits a list of directives at commas outside quotes.
func splitList(line string) []string {
	var list []string
	quoted, escaped, start := false, false, 0
	for i := range len(line) {
		switch c := line[i]; {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			list = append(list, line[start:i])
			start = i + 1
		}
	}
	return append(list, line[start:])
}
