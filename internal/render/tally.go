package render

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/histogram"
	"github.com/rdapq/rdapq/internal/weburl"
	"github.com/rdapq/rdapq/pool"
)

// A Report holds the statistics of a run, for --stats-file. Counts of requests,
// connections and bytes come from the pool, without the traffic for bootstrap files;
// counts of lookups and verdicts come from the results.
type Report struct {
	Lookups int64 `json:"lookups"`
	// requests sent, including failed requests; a transparently retried request counts once
	Requests    int64           `json:"requests"`
	Servers     int64           `json:"servers"` // number of base URLs queried
	Connections int64           `json:"connections"`
	Handshakes  HandshakeReport `json:"handshakes"`
	// round trips avoided with handshakes and connections, without name resolution
	TripsAvoided int64 `json:"round_trips_avoided"`
	// number of transparent retries
	Retries int64 `json:"retries"`
	// part of Retries, on the same connection
	RetriesSameConn   int64            `json:"retries_same_connection,omitempty"`
	BytesIn           int64            `json:"bytes_in"`
	BytesOut          int64            `json:"bytes_out"`
	MS                TimeReport       `json:"ms"`
	Verdicts          map[string]int64 `json:"verdicts"`
	PerServer         []ServerReport   `json:"per_server"` // reports per server, most lookups first
	BootstrapRequests int64            `json:"bootstrap_requests,omitempty"`
	// number of results with the warning desync
	Desync int64 `json:"desync,omitempty"`
	// number of lookups reported as not found by a response that is not RDAP
	WithoutRDAP int64 `json:"not_found_without_rdap,omitempty"`
}

// A HandshakeReport counts TLS handshakes by kind. Avoided counts requests on an
// existing connection.
type HandshakeReport struct {
	Full      int64 `json:"full"`
	Resumed   int64 `json:"resumed"`
	EarlyData int64 `json:"early_data"`
	Avoided   int64 `json:"avoided"`
}

// A TimeReport holds durations in milliseconds.
type TimeReport struct {
	Wall float64 `json:"wall"` // duration of the whole run
	P50  float64 `json:"p50"`  // median of the lookups
	P95  float64 `json:"p95"`  // 95th percentile of the lookups
	// Saved estimates the additional duration of the run with one connection per request. Nil
	// means unknown, for the reason in Unknown.
	Saved   *float64          `json:"saved,omitempty"`
	Unknown pool.SavedUnknown `json:"saved_unknown,omitempty"` // reason why Saved is unknown
}

// A ServerReport is the part of one server. Servers on the same origin share its connections.
// Requests, connections, handshakes and bytes are those of the origin, so the sums exceed the
// totals.
type ServerReport struct {
	Server  string `json:"server"`
	Lookups int64  `json:"lookups"`
	// number of records that links of other responses referred to, such as a registrar's
	Followed    int64            `json:"followed,omitempty"`
	Requests    int64            `json:"requests"`
	Connections int64            `json:"connections"`
	Handshakes  HandshakeReport  `json:"handshakes"`
	Protocol    string           `json:"protocol,omitempty"`
	Retries     int64            `json:"retries"`
	BytesIn     int64            `json:"bytes_in"`
	P50         float64          `json:"p50"` // median of the lookups in milliseconds
	Verdicts    map[string]int64 `json:"verdicts"`
	NoRDAP      bool             `json:"no_rdap,omitempty"` // the server sent responses, and none was RDAP
}

// maxServers limits the servers that a Tally counts separately. There are a few thousand RDAP
// servers; further servers count as otherServers.
const (
	maxServers   = 4096
	otherServers = "(others)"
)

// A Tally counts results. Its memory does not grow with the number of results. The zero Tally
// is ready for use by one goroutine at a time.
type Tally struct {
	lookups  int64
	desync   int64
	foreign  int64 // number of 404 responses that were not RDAP and count as not found
	verdicts map[client.Verdict]int64
	times    histogram.Histogram
	servers  map[string]*serverTally
	apart    map[string]bool
}

type serverTally struct {
	lookups  int64
	followed int64
	foreign  int64 // number of lookups whose response was not RDAP
	rdap     int64 // number of lookups with an RDAP response
	protocol string
	verdicts verdictCounts
	times    histogram.Histogram
}

// verdictCounts holds counts by verdict. It is a slice because a map with one entry takes 250
// bytes, and there may be thousands of servers.
type verdictCounts []verdictCount

type verdictCount struct {
	verdict client.Verdict
	n       int64
}

func (c *verdictCounts) add(v client.Verdict) {
	i := slices.IndexFunc(*c, func(k verdictCount) bool { return k.verdict == v })
	if i < 0 {
		i = len(*c)
		*c = append(*c, verdictCount{verdict: v})
	}
	(*c)[i].n++
}

func (c verdictCounts) named() map[string]int64 {
	out := make(map[string]int64, len(c))
	for _, k := range c {
		out[string(k.verdict)] = k.n
	}
	return out
}

// Apart counts the traffic to the origin of url as bootstrap traffic, not as lookups, because
// one pool may carry both.
func (t *Tally) Apart(url string) {
	if t.apart == nil {
		t.apart = make(map[string]bool)
	}
	t.apart[originOf(url)] = true
}

// Add counts r.
func (t *Tally) Add(r *client.Result) {
	if t.verdicts == nil {
		t.verdicts = make(map[client.Verdict]int64)
		t.servers = make(map[string]*serverTally)
	}
	t.lookups++
	t.verdicts[r.Verdict]++
	if r.Desync {
		t.desync++
	}
	sent := r.Attempts > 0 || r.Status != 0
	if sent {
		t.times.Add(r.Elapsed)
	}
	for g := r.Registrar; g != nil; g = g.Registrar {
		t.follow(g)
	}
	for _, g := range r.Related {
		t.follow(g)
	}
	if r.Server == "" {
		return
	}
	s := t.server(weburl.Redact(r.Server))
	s.lookups++
	s.verdicts.add(r.Verdict)
	switch foreign := r.IsNotFoundWithoutRDAP(); {
	case foreign, ErrorOf(r) != nil && ErrorOf(r).Code == client.CodeNotRDAP:
		s.foreign++
		if foreign {
			t.foreign++
		}
	case r.Verdict.Answered(), r.Verdict == client.VerdictRejected:
		s.rdap++
	}
	if r.Conn.Protocol != "" {
		s.protocol = r.Conn.Protocol
	}
	if sent {
		s.times.Add(r.Elapsed)
	}
}

// follow counts a linked record, which does not count as a lookup.
func (t *Tally) follow(g *client.Result) {
	if g.Server == "" || g.Attempts == 0 && g.Status == 0 {
		return
	}
	s := t.server(weburl.Redact(g.Server))
	s.followed++
	s.times.Add(g.Elapsed)
	if g.Conn.Protocol != "" {
		s.protocol = g.Conn.Protocol
	}
}

func (t *Tally) server(name string) *serverTally {
	if s := t.servers[name]; s != nil {
		return s
	}
	if len(t.servers) >= maxServers {
		name = otherServers
		if s := t.servers[name]; s != nil {
			return s
		}
	}
	s := new(serverTally)
	t.servers[strings.Clone(name)] = s
	return s
}

// Verdicts returns the number of results with the verdict so far.
func (t *Tally) Verdicts(v client.Verdict) int64 { return t.verdicts[v] }

// Lookups returns the number of results.
func (t *Tally) Lookups() int64 { return t.lookups }

// Report combines the counts with the statistics of the pool. wall is the duration of
// the run.
func (t *Tally) Report(stats pool.Stats, wall time.Duration) Report {
	r := Report{
		Lookups:         t.lookups,
		WithoutRDAP:     t.foreign,
		Requests:        stats.Requests + stats.Failed,
		Servers:         int64(len(t.servers)),
		Connections:     stats.Connections,
		Handshakes:      handshakes(stats.Handshakes),
		Retries:         stats.RetriesTotal(),
		RetriesSameConn: stats.RetriesSameConn,
		BytesIn:         stats.BytesIn,
		BytesOut:        stats.BytesOut,
		TripsAvoided:    stats.RoundTripsAvoided,
		MS:              TimeReport{Wall: inMillis(wall), P50: inMillis(t.times.Quantile(.5)), P95: inMillis(t.times.Quantile(.95))},
		Verdicts:        named(t.verdicts),
		Desync:          t.desync,
		PerServer:       make([]ServerReport, 0, len(t.servers)),
	}
	r.setSaved(stats)
	origins := make(map[string]*pool.OriginStats, len(stats.Origins))
	for i := range stats.Origins {
		o := &stats.Origins[i]
		origin := originOf(o.Origin)
		if t.apart[origin] {
			r.subtract(o)
			continue
		}
		origins[origin] = o
	}
	for name, s := range t.servers {
		one := ServerReport{
			Server: name, Lookups: s.lookups, Followed: s.followed, Protocol: s.protocol,
			P50: inMillis(s.times.Quantile(.5)), Verdicts: s.verdicts.named(), NoRDAP: s.foreign > 0 && s.rdap == 0,
		}
		if o := origins[originOf(name)]; o != nil {
			one.Requests = o.Requests + o.Failed
			one.Connections = o.Connections
			one.Handshakes = handshakes(o.Handshakes)
			one.Retries = o.RetriesTotal()
			one.BytesIn = o.BytesIn
			if o.Protocol != "" {
				one.Protocol = o.Protocol
			}
		}
		r.PerServer = append(r.PerServer, one)
	}
	slices.SortFunc(r.PerServer, func(a, b ServerReport) int {
		return cmp.Or(cmp.Compare(b.Lookups, a.Lookups), cmp.Compare(b.Followed, a.Followed), cmp.Compare(a.Server, b.Server))
	})
	return r
}

// setSaved sets the time saved by reuse, unless a server limited the lookups. The server's
// limit then determines their duration, with or without reuse.
func (r *Report) setSaved(stats pool.Stats) {
	switch {
	case stats.Unknown != "":
		r.WithholdSaved(stats.Unknown)
	case r.Verdicts[string(client.VerdictRateLimited)] > 0:
		r.WithholdSaved(pool.SavedThrottled)
	default:
		r.MS.Saved = new(inMillis(stats.Saved))
	}
}

// WithholdSaved removes the time saved by reuse, because it is unknown for the reason why.
func (r *Report) WithholdSaved(why pool.SavedUnknown) {
	r.MS.Saved, r.MS.Unknown = nil, why
}

// subtract removes an origin of bootstrap files from the counts.
func (r *Report) subtract(o *pool.OriginStats) {
	r.BootstrapRequests += o.Requests + o.Failed
	r.Requests -= o.Requests + o.Failed
	r.Connections -= o.Connections
	r.Handshakes.Full -= o.Handshakes.Full
	r.Handshakes.Resumed -= o.Handshakes.Resumed
	r.Handshakes.EarlyData -= o.Handshakes.EarlyData
	r.Handshakes.Avoided -= o.Handshakes.Avoided
	r.TripsAvoided -= o.RoundTripsAvoided
	r.Retries -= o.RetriesTotal()
	r.RetriesSameConn -= o.RetriesSameConn
	r.BytesIn -= o.BytesIn
	r.BytesOut -= o.BytesOut
}

func handshakes(h pool.Handshakes) HandshakeReport {
	return HandshakeReport{Full: h.Full, Resumed: h.Resumed, EarlyData: h.EarlyData, Avoided: h.Avoided}
}

func named(counts map[client.Verdict]int64) map[string]int64 {
	out := make(map[string]int64, len(counts))
	for v, n := range counts {
		out[string(v)] = n
	}
	return out
}

// inMillis returns d in milliseconds, rounded to one decimal.
func inMillis(d time.Duration) float64 {
	return math.Round(float64(d)/float64(time.Millisecond)*10) / 10
}

// originOf returns the origin of a URL, or s if it is not a URL.
func originOf(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return s
	}
	return weburl.Origin(u)
}
