package client

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rdapq/rdapq/internal/weburl"
)

// An Option changes a setting for one call of [Client.Lookup], [Client.Search] or
// [Client.Batch]. Lookups with different options never share a response in flight.
type Option interface {
	BatchOption
	forLookup()
}

// A BatchOption changes a setting for one [Batch].
type BatchOption interface {
	apply(o *options)
}

// NoCache sends the requests to the servers even if the cache has a response to them. The new
// responses are cached as usual. See Config.Cache.
func NoCache() Option {
	return option(func(o *options) { o.noCache = true })
}

// MaxWait replaces Config.MaxWait: how long a lookup waits for a rate-limited server. 0 and
// negative values mean no wait.
func MaxWait(d time.Duration) Option {
	return option(func(o *options) { o.maxWait, o.hasMaxWait = max(d, 0), true })
}

// Header sets a field of the requests, and replaces the field of the Client with that name. The
// field is sent to the server of the query only: not to the targets of links, nor of redirects
// to another origin. Responses to such requests are not cached. A request with an invalid name
// or value fails.
func Header(name, value string) Option {
	return option(func(o *options) {
		if o.header == nil {
			o.header = make(http.Header)
		}
		o.header.Set(name, value)
	})
}

// Jobs replaces Config.Jobs: how many lookups of the Batch are concurrent. 0 and negative values
// mean Config.Jobs.
func Jobs(n int) BatchOption {
	return batchOption(func(o *options) { o.jobs = n })
}

type option func(*options)

func (f option) apply(o *options) { f(o) }
func (option) forLookup()         {}

type batchOption func(*options)

func (f batchOption) apply(o *options) { f(o) }

// options are the settings of one call. A nil *options has none.
type options struct {
	noCache    bool
	maxWait    time.Duration // if hasMaxWait; 0 means no wait
	hasMaxWait bool
	header     http.Header
	jobs       int

	key string // equal for equal settings of a lookup; empty without settings
}

func newOptions[T BatchOption](list []T) *options {
	if len(list) == 0 {
		return nil
	}
	o := new(options)
	for _, one := range list {
		one.apply(o)
	}
	var key strings.Builder
	if o.noCache {
		key.WriteString("no cache ")
	}
	if o.hasMaxWait {
		key.WriteString(o.maxWait.String())
	}
	for _, name := range slices.Sorted(maps.Keys(o.header)) {
		key.WriteString(" " + name + "=" + strconv.Quote(o.header.Get(name)))
	}
	o.key = key.String()
	return o
}

// lookupKey returns key, which is empty for nil.
func (o *options) lookupKey() string {
	if o == nil {
		return ""
	}
	return o.key
}

// bypassesCache reports whether responses are neither taken from the cache nor stored.
func (o *options) bypassesCache() bool { return o != nil && o.header != nil }

// skipsCached reports whether no response is taken from the cache.
func (o *options) skipsCached() bool { return o != nil && o.noCache }

// addHeader adds the fields of Header to a request for u.
func (t *task) addHeader(to http.Header, u *url.URL) {
	if t.options == nil || t.options.header == nil || t.walk != nil {
		return
	}
	if base, err := url.Parse(t.servers.URLs[t.server]); err != nil || weburl.Origin(base) != weburl.Origin(u) {
		return
	}
	maps.Copy(to, t.options.header)
}
