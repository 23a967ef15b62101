package client

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rdapq/rdapq/internal/gate"
	"github.com/rdapq/rdapq/internal/hashset"
	"github.com/rdapq/rdapq/limit"
)

// A Plan describes what a Batch of the same inputs would do.
type Plan struct {
	Lines   int64 // number of inputs
	Queries int64 // inputs with a known server; all are sent, duplicates included
	// inputs that repeat an earlier input; see [Client.Batch] for when they share a response
	Duplicates  int64
	Approximate bool         // Duplicates may be too low, because there were too many inputs
	Invalid     int64        // inputs that are not valid, could not be read, or could not be resolved
	Errors      []PlanError  // errors of the first inputs in Invalid, at most 100
	Unsupported []PlanZone   // inputs without a known server, most lines first
	Servers     []PlanServer // queries per server, most lines first
	// estimated duration, see PlanServer.Time; includes the limit Config.Jobs for all servers
	// together
	Time    time.Duration
	Latency time.Duration // assumed response time of servers for which PlanServer.Latency is zero
}

// A PlanError is the error of an invalid input.
type PlanError struct {
	Line    int64
	Text    string
	Failure *Error
}

// A PlanZone counts inputs without a known server.
type PlanZone struct {
	Zone  string // ".zz" for names, otherwise the type of the query
	Lines int64
}

// A PlanServer is the part of a Plan for one server or group of hosts.
type PlanServer struct {
	Server  string     // host, or name of the group
	Lines   int64      // number of inputs
	Queries int64      // queries sent; equal to Lines
	Rate    limit.Rate // rate limit; zero if none is known
	// Latency is the response time measured in an earlier run. If it is unknown, Latency
	// is zero and Plan.Latency is assumed.
	Latency time.Duration
	// Time is the estimated duration of the queries. It follows from the limit if there is one,
	// and otherwise from Latency and the number of concurrent requests. That number grows as in
	// a Batch, up to the limits of the host and its connections. The estimate assumes the
	// protocol of an earlier run, or HTTP/2. Retries and linked records are not included.
	Time time.Duration
}

// Assumptions and limits of a [Plan].
const (
	planLatency   = 100 * time.Millisecond
	maxPlanErrors = 100
	maxPlanned    = 12_000_000 // queries stored to find duplicates, at about 8 bytes each
)

type planner struct {
	c       *Client
	b       *Batch // prepares inputs; never runs
	plan    *Plan
	zones   map[string]int64
	servers map[*gate.Host]*PlanServer
	seen    hashset.Set
}

// add returns false if the Client was closed before in was resolved.
func (p *planner) add(in Input, err error) bool {
	it := &item{input: in, loaded: true}
	it.result = new(Result)
	e := p.b.prepare(it, err)
	if e != nil && err == nil && errors.Is(e, ErrClosed) {
		return false
	}
	p.plan.Lines++
	if e != nil {
		p.addFailed(in, it.result.Query, e)
		return true
	}
	s := p.servers[it.host]
	if s == nil {
		s = &PlanServer{Server: it.host.Name()}
		p.servers[it.host] = s
		p.c.hosts.Keep(it.host)
	}
	s.Lines++
	switch isNew, known := p.seen.Add(it.hash, maxPlanned); {
	case !known:
		p.plan.Approximate = true
	case !isNew:
		p.plan.Duplicates++
	}
	s.Queries++
	p.plan.Queries++
	return true
}

func (p *planner) addFailed(in Input, q Query, e *Error) {
	if e.Code == CodeNoService || e.Code == CodeHTTPOnly {
		zone := string(q.Type)
		if q.Type == TypeDomain || q.Type == TypeNameserver {
			zone = q.Name[strings.LastIndexByte(q.Name, '.')+1:]
			zone = "." + zone
		}
		if _, ok := p.zones[zone]; !ok && len(p.zones) >= maxZones {
			zone = "others"
		}
		p.zones[zone]++
		return
	}
	p.plan.Invalid++
	if len(p.plan.Errors) < maxPlanErrors {
		p.plan.Errors = append(p.plan.Errors, PlanError{Line: in.Line, Text: in.Text, Failure: e})
	}
}

// maxZones limits the zones that are counted separately, because invalid input may have any
// number of zones.
const maxZones = 10_000

func (p *planner) finish() *Plan {
	for zone, n := range p.zones {
		p.plan.Unsupported = append(p.plan.Unsupported, PlanZone{zone, n})
	}
	slices.SortFunc(p.plan.Unsupported, func(a, b PlanZone) int {
		return cmp.Or(cmp.Compare(b.Lines, a.Lines), cmp.Compare(a.Zone, b.Zone))
	})
	p.plan.Latency = planLatency
	work := time.Duration(0) // sum of the expected response times of all queries
	for h, s := range p.servers {
		concurrent := min(p.c.cfg.gate().Max, p.c.cfg.Jobs)
		if n := h.Capacity(p.c.capacity(), int(min(s.Queries, int64(concurrent)))); n > 0 {
			concurrent = min(concurrent, n)
		}
		s.Rate, s.Latency, s.Time = estimate(h.Status(time.Now()), s.Queries, p.c.cfg.gate().Start, concurrent)
		p.plan.Time = max(p.plan.Time, s.Time)
		p.plan.Servers = append(p.plan.Servers, *s)
		work += gate.Saturate(s.Queries, cmp.Or(s.Latency, planLatency))
		work = min(work, math.MaxInt64/4)
		p.c.hosts.Release(h)
	}
	p.plan.Time = max(p.plan.Time, work/time.Duration(max(p.c.cfg.Jobs, 1)))
	slices.SortFunc(p.plan.Servers, func(a, b PlanServer) int {
		return cmp.Or(cmp.Compare(b.Lines, a.Lines), cmp.Compare(a.Server, b.Server))
	})
	return p.plan
}

// estimate returns the limit of a host, its response time if known, and the estimated
// duration of the queries.
func estimate(h gate.Status, queries int64, start, concurrent int) (r limit.Rate, latency, need time.Duration) {
	need = gate.TimeFor(queries, min(start, concurrent), concurrent, cmp.Or(h.Latency, planLatency))
	r = h.Rate
	if !r.IsZero() && queries > 0 {
		// The requests of the first interval are sent immediately.
		spans := (queries - 1) / int64(r.N)
		need = max(need, gate.Saturate(spans, r.Per))
	}
	if wait := time.Until(h.Until); wait > 0 && queries > 0 {
		need += wait
	}
	return r, h.Latency, need
}
