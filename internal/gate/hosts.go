package gate

import (
	"maps"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/limit"
)

// Hosts holds the hosts of one Client.
type Hosts struct {
	start, max int                   // see Config
	groups     map[string]string     // group by host
	rates      map[string]limit.Rate // published or configured rates; responses do not change them
	store      budgets

	mu      sync.Mutex
	byName  map[string]*Host
	lastID  int64
	sweepAt int          // number of hosts above which idle hosts are dropped
	sweeps  atomic.Int64 // number of sweeps

	unmatched map[string]bool // see Unmatched
}

// maxIdleHosts limits the hosts that are kept only for their counts and latency. maxNewHosts
// limits the hosts that had fewer than GrowAfter requests, so that their latency is unknown.
const (
	maxIdleHosts = 4096
	maxNewHosts  = 1024
)

// A Config configures Hosts.
type Config struct {
	Start, Max int                   // initial and maximum number of requests in flight at a host
	Groups     map[string]string     // name of the group by host
	Rates      map[string]limit.Rate // rates of hosts and groups; they replace limit.Builtin and learned limits
	Store      limit.Store           // nil means a store in memory
	Warn       func(error)           // called once, with the first error of Store; nil means no call
}

func New(cfg Config) *Hosts {
	hs := &Hosts{
		groups: make(map[string]string), rates: make(map[string]limit.Rate),
		start: cfg.Start, max: cfg.Max,
		byName: make(map[string]*Host), sweepAt: maxNewHosts,
	}
	for name, group := range cfg.Groups {
		hs.groups[hostKey(name)] = group
	}
	for name, r := range limit.Builtin() {
		hs.rates[name] = r
	}
	for name, r := range cfg.Rates {
		hs.rates[hostKey(name)] = r
	}
	// A group without a rate has the strictest rate of its hosts.
	for name, group := range hs.groups {
		r, ok := hs.rates[name]
		if _, said := cfg.Rates[group]; !ok || said || r.IsZero() {
			continue
		}
		if old, ok := hs.rates[group]; !ok || r.Interval() > old.Interval() {
			hs.rates[group] = r
		}
	}
	if cfg.Store == nil {
		cfg.Store = limit.NewMemory()
	}
	hs.store = budgetsOf(cfg.Store, cfg.Warn)
	hs.expectKeys(cfg)
	return hs
}

// hostKey returns the name of a host in the spelling of weburl.Host.
func hostKey(name string) string {
	return strings.TrimSuffix(strings.ToLower(strings.TrimSpace(name)), ":443")
}

// At returns the host of u. One Host may serve many base URLs, and counts all their requests.
func (hs *Hosts) At(u *url.URL) *Host {
	key := weburl.Host(u)
	if front, ok := hs.store.(*front); ok {
		front.prepare(hs.nameOf(key)) // call without the lock: prepare calls the store
	}
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h := hs.get(key)
	h.addOrigin(u)
	return h
}

// Keep makes hs keep h until Release has been called as often as Keep.
func (hs *Hosts) Keep(h *Host) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h.users++
}

func (hs *Hosts) Release(h *Host) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h.users--
}

// nameOf returns the name of a host, or of the host's group.
func (hs *Hosts) nameOf(key string) string {
	if len(hs.groups) > 0 {
		if group, ok := byHost(hs.groups, key); ok {
			return group
		}
	}
	return key
}

func (hs *Hosts) get(key string) *Host {
	name := hs.nameOf(key)
	hs.match(key, name)
	if h := hs.byName[name]; h != nil {
		return h
	}
	hs.lastID++
	h := &Host{id: hs.lastID, name: name, store: hs.store, random: rand.N[time.Duration]}
	h.adaptive.start(hs.start, hs.max)
	h.rate, h.fixed = byHost(hs.rates, name)
	h.load()
	hs.sweep()
	hs.byName[name] = h
	return h
}

// sweep drops idle hosts if there are many.
func (hs *Hosts) sweep() {
	if len(hs.byName) < hs.sweepAt {
		return
	}
	now := time.Now()
	maps.DeleteFunc(hs.byName, func(_ string, h *Host) bool { return h.idle(now, true) })
	if len(hs.byName) > maxIdleHosts {
		maps.DeleteFunc(hs.byName, func(_ string, h *Host) bool { return h.idle(now, false) })
	}
	hs.sweepAt = len(hs.byName) + maxNewHosts
	hs.sweeps.Add(1)
}

// byHost returns the value for a host, which m has with or without the port.
func byHost[V any](m map[string]V, key string) (V, bool) {
	v, ok := m[key]
	if !ok {
		if name, _, err := net.SplitHostPort(key); err == nil {
			v, ok = m[name]
		}
	}
	return v, ok
}

// load initialises the host from the store.
func (h *Host) load() {
	h.window.resolution = unratedResolution
	b := h.store.Load(h.name)
	h.until, h.paused, h.storedLatency = b.Until, b.Paused, b.Took
	if !h.fixed && !b.Learned.IsZero() {
		h.learned, h.stored = b.Seen, true
		h.quota = recalled(b, time.Now())
	}
	if r := h.known(); !r.IsZero() {
		h.window.resolution = r.Per / windowBuckets
		h.window.replace(b.Used)
	}
}

// recalled returns the quota of a stored budget. The tests of its span resume.
func recalled(b limit.Budget, now time.Time) *quota {
	q := &quota{n: b.Learned.N, span: b.Learned.Per, low: min(b.Least, b.Learned.Per), confirmed: true, pause: b.Penalty, testAt: now}
	if q.low == 0 && q.costly() {
		q.streak = 1 // an earlier run passed tests, or the span would be longer
	}
	if !q.open() {
		q.testAt = now.Add(2 * testHold * q.span) // an earlier run has tested the span
	}
	return q
}

// idle reports whether h holds nothing but counts and its latency, or only counts if isNew is
// true. The caller holds Hosts.mu.
func (h *Host) idle(now time.Time, isNew bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if isNew && (h.adaptive.useful >= GrowAfter || !h.adaptive.cut.IsZero()) {
		return false
	}
	return h.users == 0 && h.inFlight == 0 && !h.until.After(now) && !h.breaker.open && h.limitless()
}

// Flush stores pending data and flushes the store.
func (hs *Hosts) Flush() error {
	for _, h := range hs.All() {
		h.mu.Lock()
		h.syncStore()
		h.storeLatency(time.Now())
		h.mu.Unlock()
	}
	return hs.store.Flush()
}

// All returns the hosts, sorted by name.
func (hs *Hosts) All() []*Host {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	return slices.SortedFunc(maps.Values(hs.byName), func(a, b *Host) int { return strings.Compare(a.name, b.name) })
}

// Sweeps returns how often idle hosts were dropped. A caller that stores hosts by
// URL has to get them from At again when the number changes.
func (hs *Hosts) Sweeps() int64 { return hs.sweeps.Load() }
