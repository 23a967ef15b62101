// Package httpcache implements a private cache of HTTP responses in memory (RFC 9111). It does
// not deal with RDAP and sends no requests.
package httpcache

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
)

// A Cache stores responses by their URLs. It is safe for concurrent use.
type Cache struct {
	entries int
	bytes   int64

	mu    sync.Mutex
	byURL map[string]*recency.Element // elements contain an *Entry
	used  recency.List                // most recently used entry first
	size  int64
}

// An Entry is a cached response. It is immutable.
type Entry struct {
	keys      []string // URLs under which the entry is stored; the first URL was requested
	status    int
	header    http.Header
	raw       []byte
	expires   time.Time // end of the time for which the entry is fresh
	generated time.Time // when the response was generated, according to its Age
}

// entryOverhead is the estimated memory of an entry without its body, in bytes.
const entryOverhead = 1 << 10

// New returns a cache with limits on its entries and the bytes of their bodies.
func New(entries int, bytes int64) *Cache {
	return &Cache{entries: entries, bytes: bytes, byURL: make(map[string]*recency.Element)}
}

// Get returns the entry cached for u, or nil, and reports whether it is fresh.
func (c *Cache) Get(u *url.URL, now time.Time) (e *Entry, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.byURL[weburl.Normalize(u)]
	if at == nil {
		return nil, false
	}
	c.used.MoveToFront(at)
	e = at.Value.(*Entry)
	return e, now.Before(e.expires)
}

// Put stores a response as the entry of u, if its header permits. Put also stores the entry
// under the keys in others that have no entry.
func (c *Cache) Put(u *url.URL, others []string, status int, header http.Header, raw []byte, sent, received time.Time) {
	f := freshnessOf(header, sent, received)
	key := weburl.Normalize(u)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.byURL[key])
	size := int64(len(raw)) + entryOverhead
	if !f.storable || f.lifetime == 0 && (status != http.StatusOK || !hasValidator(header)) || !isCacheable(status) || size > c.bytes/8 {
		return
	}
	e := &Entry{
		keys: []string{key}, status: status, header: maps.Clone(header), raw: bytes.Clone(raw),
		expires: received.Add(f.lifetime), generated: received.Add(-deltaSeconds(header.Get("Age"))),
	}
	delete(e.header, "Content-Encoding") // the body was decoded
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

// Update applies a 304 response to an entry. The header fields of the response replace the
// stored ones, and determine the new freshness (RFC 9111 section 4.3.4).
func (c *Cache) Update(u *url.URL, e *Entry, header http.Header, sent, received time.Time) *Entry {
	merged := maps.Clone(e.header)
	for name, values := range header {
		if name != "Content-Length" && name != "Content-Encoding" {
			merged[name] = values
		}
	}
	if _, ok := header["Age"]; !ok {
		delete(merged, "Age")
	}
	c.Put(u, e.keys, e.status, merged, e.raw, sent, received)
	return &Entry{status: e.status, header: merged, raw: e.raw, generated: received}
}

func (c *Cache) remove(at *recency.Element) {
	if at == nil {
		return
	}
	e := c.used.Remove(at).(*Entry)
	for _, k := range e.keys {
		delete(c.byURL, k)
	}
	c.size -= int64(len(e.raw)) + entryOverhead
}

// isCacheable reports whether responses with a status are cached, which are those of objects,
// their absence, and redirects.
func isCacheable(status int) bool {
	switch status {
	case http.StatusOK, http.StatusNotFound, http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

func hasValidator(h http.Header) bool { return h.Get("Etag") != "" || h.Get("Last-Modified") != "" }

// Response returns e as a response.
func (e *Entry) Response(now time.Time) *http.Response {
	h := maps.Clone(e.header)
	h.Set("Age", strconv.FormatInt(int64(now.Sub(e.generated)/time.Second), 10))
	return &http.Response{
		StatusCode: e.status, Header: h, ContentLength: int64(len(e.raw)),
		Body: io.NopCloser(bytes.NewReader(e.raw)),
	}
}

// MakeConditional adds If-None-Match and If-Modified-Since for e to the header of a request
// (RFC 9110 section 13.1).
func (e *Entry) MakeConditional(h http.Header) {
	if tag := e.header.Get("Etag"); tag != "" {
		h.Set("If-None-Match", tag)
	}
	if date := e.header.Get("Last-Modified"); date != "" {
		h.Set("If-Modified-Since", date)
	}
}

// maxLifetime limits how long a response is fresh.
const maxLifetime = 30 * 24 * time.Hour

// A freshness describes how long the header of a response permits a private cache to reuse the
// response (RFC 9111). A response without an explicit lifetime is never fresh, because the
// cache applies no heuristic.
type freshness struct {
	storable bool // a cache may store the response
	// lifetime since the response was received; 0 means it must be revalidated for each use
	lifetime time.Duration
}

// freshnessOf returns the freshness of a response, which follows from its header and the times
// of request and response.
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
				noCache = true // ignore field names, which are rare; RFC 9111 allows this
			case "max-age":
				// The shortest of several lifetimes applies, and an invalid number means 0
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
	// The age of the response when it was received (section 4.2.3).
	age := received.Sub(sent)
	if values := h.Values("Age"); len(values) > 0 {
		age += deltaSeconds(strings.TrimSpace(values[0]))
	}
	age = max(age, received.Sub(date))
	f.lifetime = min(max(stated-age, 0), maxLifetime)
	return f
}

// deltaSeconds parses a number of seconds (section 1.2.2). It returns 0 for an invalid
// number.
func deltaSeconds(s string) time.Duration {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		n = 1 << 31 // the section defines this value for numbers that are too large
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
