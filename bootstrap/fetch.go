package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// maxFile is the maximum size of a file, in bytes after decompression. IANA's files have
	// less than 100,000 bytes. Parsing takes thirty times the size in memory.
	maxFile = 1 << 20
	// maxRedirects is the maximum number of redirects of a download.
	maxRedirects = 5
	// defaultLifetime is the lifetime of files without a stated lifetime; IANA states the same.
	defaultLifetime = 24 * time.Hour
	// maxLifetime limits the lifetime set by a server.
	maxLifetime = 30 * 24 * time.Hour

	defaultUserAgent = "rdapq (+https://github.com/rdapq/rdapq)"
)

// A fetched holds a response; data is nil for a 304.
type fetched struct {
	data   []byte
	header http.Header
}

// A statusError is the error of a response without a file.
type statusError struct {
	url, status string
	retryAfter  time.Duration // delay that the server requested in Retry-After; 0 if none
}

func (e *statusError) Error() string { return fmt.Sprintf("%s: %s", e.url, e.status) }

// A fetchError is the error of a request that got no response.
type fetchError struct {
	url string
	err error
}

// Error returns one cause, because net/http and net wrap several causes that repeat the
// address.
func (e *fetchError) Error() string {
	reason := e.err
	if failed, ok := errors.AsType[*url.Error](e.err); ok {
		reason = failed.Err
	}
	if dns, ok := errors.AsType[*net.DNSError](e.err); ok {
		return fmt.Sprintf("%s: cannot resolve %s: %s", e.url, dns.Name, dns.Err)
	}
	return fmt.Sprintf("%s: %v", e.url, reason)
}

func (e *fetchError) Unwrap() error { return e.err }

// fetch downloads one registry file, conditionally if a cached copy exists.
func (r *Resolver) fetch(ctx context.Context, reg Registry, before meta) (*fetched, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, JoinURL(r.baseURL, reg.file()), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", r.userAgent)
	conditional := false
	for name, value := range map[string]string{"If-None-Match": before.ETag, "If-Modified-Since": before.LastModified} {
		if value != "" {
			req.Header.Set(name, value)
			conditional = true
		}
	}
	client := *r.client
	if client.CheckRedirect == nil {
		client.CheckRedirect = r.checkRedirect
	}
	resp, err := client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &fetchError{req.URL.Redacted(), err}
	}
	defer func() { _ = resp.Body.Close() }() // the body was read, or is not needed
	if !r.mayFetch(resp.Request) {
		return nil, fmt.Errorf("%s: redirected to plain http", req.URL.Redacted())
	}
	switch {
	case resp.StatusCode == http.StatusNotModified && conditional:
		return &fetched{header: resp.Header}, nil
	case resp.StatusCode != http.StatusOK:
		return nil, &statusError{req.URL.Redacted(), resp.Status, retryAfter(resp.Header, r.now())}
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", req.URL.Redacted(), err)
	case len(data) > maxFile:
		return nil, fmt.Errorf("%s: larger than %d bytes", req.URL.Redacted(), maxFile)
	}
	if data == nil {
		data = []byte{}
	}
	return &fetched{data: data, header: resp.Header}, nil
}

func (r *Resolver) checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return errors.New("too many redirects")
	}
	if !r.mayFetch(req) {
		return errors.New("redirected to plain http")
	}
	return nil
}

// mayFetch reports whether the scheme of a request is as secure as that of the base
// URL.
func (r *Resolver) mayFetch(req *http.Request) bool {
	return req.URL.Scheme == "https" || strings.HasPrefix(r.baseURL, "http:")
}

// lifetime returns how long a response stays fresh (RFC 9111 section 4.2), and
// whether the response states it.
func lifetime(h http.Header, now time.Time) (life time.Duration, stated bool) {
	life = defaultLifetime
	for _, line := range h.Values("Cache-Control") {
		for directive := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
			switch strings.ToLower(name) {
			case "no-cache", "no-store":
				return 0, true
			case "max-age":
				if d, ok := secondsOf(strings.Trim(value, `"`)); ok {
					life, stated = min(d, maxLifetime), true
				}
			}
		}
	}
	switch expires := h.Get("Expires"); {
	case stated:
		if age, ok := secondsOf(h.Get("Age")); ok {
			life -= min(age, life)
		}
	case expires != "":
		// An invalid date means that the response has already expired.
		life, stated = 0, true
		if t, err := http.ParseTime(expires); err == nil {
			if date, err := http.ParseTime(h.Get("Date")); err == nil {
				now = date
			}
			life = t.Sub(now)
		}
	}
	return min(max(life, 0), maxLifetime), stated
}

// retryAfter returns the Retry-After field: seconds or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if d, ok := secondsOf(text); ok {
		return min(d, maxRetryAfter)
	}
	if t, err := http.ParseTime(text); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}

// secondsOf parses a number of seconds. It reduces larger numbers to the maximum (RFC 9111
// section 1.2.2).
func secondsOf(text string) (d time.Duration, ok bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return time.Duration(min(n, uint64(math.MaxInt64/time.Second))) * time.Second, true
}
