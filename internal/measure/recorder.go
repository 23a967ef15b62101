package measure

import (
	"crypto/tls"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/histogram"
	"github.com/rdapq/rdapq/internal/render"
	"github.com/rdapq/rdapq/internal/timing"
	"github.com/rdapq/rdapq/pool"
)

// maxLines limits the lookups of a waterfall.
const maxLines = 40

// maxExact limits the lookups of a run with exact quantiles. Beyond it, quantiles are
// accurate to 1%.
const maxExact = 1 << 14

// A Recorder collects the results of one run. Its memory does not grow with the number of
// results. One goroutine at a time may use it.
type Recorder struct {
	start      time.Time
	cpu        time.Duration // CPU time of the process, at the start
	tally      render.Tally
	times      histogram.Histogram
	exact      []time.Duration // durations of the first maxExact lookups
	total      time.Duration
	steps      timing.Steps // sum of the steps
	traced     int64        // number of results with a trace
	trips      int
	minTCP     time.Duration // time of the shortest TCP handshake; 0 without one
	unanswered int64
	failure    string // error of the first failed lookup
	protocols  map[string]bool
	versions   map[string]bool
	lines      []Line
}

// maxFailure limits the text of an error, in columns.
const maxFailure = 200

// NewRecorder returns a Recorder for a run that starts now.
func NewRecorder() *Recorder {
	return &Recorder{start: time.Now(), cpu: cpuTime(), protocols: make(map[string]bool), versions: make(map[string]bool)}
}

// Add adds a result.
func (r *Recorder) Add(res *client.Result) {
	r.tally.Add(res)
	if !res.Verdict.Answered() {
		r.unanswered++
		if r.failure == "" {
			r.failure = render.Shorten(render.Safe(res.Err().Error()), maxFailure)
		}
	}
	if res.Attempts == 0 && res.Status == 0 || res.Shared {
		return // no request was sent
	}
	r.times.Add(res.Elapsed)
	if len(r.exact) < maxExact {
		r.exact = append(r.exact, res.Elapsed)
	}
	r.total += res.Elapsed
	t := &res.Conn
	if len(r.lines) < maxLines {
		r.lines = append(r.lines, r.line(res))
	}
	if t.ConnID == 0 {
		return
	}
	s := timing.Of(t)
	r.traced++
	r.trips += timing.RoundTrips(t)
	r.steps.Queue += s.Queue
	r.steps.DNS += s.DNS
	r.steps.TCP += s.TCP
	r.steps.TLS += s.TLS
	r.steps.FirstByte += s.FirstByte
	r.steps.Transfer += s.Transfer
	if s.TCP > 0 && !t.FastOpen && (r.minTCP == 0 || s.TCP < r.minTCP) {
		r.minTCP = s.TCP
	}
	r.protocols[t.Protocol] = true
	if t.TLS != 0 {
		r.versions[strings.TrimPrefix(tls.VersionName(t.TLS), "TLS ")] = true
	}
}

// quantile returns the duration that the share q of the lookups did not exceed. It
// sorts r.exact.
func (r *Recorder) quantile(q float64) time.Duration {
	n := len(r.exact)
	if n == 0 || uint64(n) < r.times.Count() {
		return r.times.Quantile(q)
	}
	slices.Sort(r.exact)
	return r.exact[max(int(math.Ceil(q*float64(n))), 1)-1]
}

func (r *Recorder) line(res *client.Result) Line {
	took := res.Elapsed
	l := Line{Query: render.Safe(res.Query.String()), Verdict: string(res.Verdict)}
	if t := &res.Conn; t.ConnID != 0 {
		took = t.Total
		l.Conn, l.Reused, l.Steps = t.ConnID, t.Reused, inMillis(timing.Of(t), 1)
	} else {
		l.Steps.Queue = millis(took) // the steps are unknown without a response
	}
	l.Start = max(millis(res.Time.Sub(r.start)-took), 0)
	return l
}

// inMillis returns the mean per n of the steps.
func inMillis(s timing.Steps, n int64) Steps {
	mean := func(d time.Duration) float64 { return millis(d / time.Duration(max(n, 1))) }
	return Steps{
		Queue: mean(s.Queue), DNS: mean(s.DNS), TCP: mean(s.TCP), TLS: mean(s.TLS),
		FirstByte: mean(s.FirstByte), Transfer: mean(s.Transfer),
	}
}

// Report ends the recording of an ordinary run with the given number of jobs, and returns the
// report. demo states that the run used the demo registry, with round-trip time rtt.
func (r *Recorder) Report(jobs int, stats pool.Stats, servers []client.ServerProgress, demo bool, rtt time.Duration) *Report {
	one := r.end(time.Since(r.start), cpuTime()-r.cpu, stats, servers)
	n := int(r.tally.Lookups())
	out := &Report{
		Kind: KindBatch, Time: r.start.UTC().Truncate(time.Millisecond), Notes: []string{}, Skipped: []Skipped{}, Comparisons: []Comparison{},
		Settings:    Settings{Demo: demo, Lookups: n, Runs: 1, Jobs: jobs, LookupsInAll: n},
		Environment: environment(),
	}
	rtt = out.roundTrip(demo, rtt, r.minTCP)
	out.Modes = []Result{summarize(Mode{Name: "this run"}, []run{one}, rtt)}
	out.Modes[0].About = render.Verdicts(one.receipt.Verdicts)
	distribute(out.Modes)
	out.Headline = render.Headline(one.receipt)
	out.addNotes()
	return out
}

// A run is a completed run.
type run struct {
	*Recorder
	wall, cpu time.Duration
	stats     pool.Stats
	receipt   render.Report
	servers   []client.ServerProgress
}

// end ends the recording and returns the run.
func (r *Recorder) end(wall, cpu time.Duration, stats pool.Stats, servers []client.ServerProgress) run {
	slices.SortStableFunc(r.lines, func(a, b Line) int {
		switch {
		case a.Start < b.Start:
			return -1
		case a.Start > b.Start:
			return 1
		}
		return 0
	})
	return run{r, wall, cpu, stats, r.tally.Report(stats, wall), servers}
}

func (r *run) summary() RunSummary {
	h := r.receipt.Handshakes
	return RunSummary{
		Wall: millis(r.wall), Requests: r.receipt.Requests, Connections: r.receipt.Connections,
		Full: h.Full, Resumed: h.Resumed, EarlyData: h.EarlyData, Unanswered: r.unanswered,
	}
}

// perServer combines the statistics of each server with its rate limit.
func (r *run) perServer() []Server {
	limits := make(map[string]string)
	for _, p := range r.servers {
		if !p.Rate.IsZero() {
			limits[p.Server] = p.Rate.String()
		}
	}
	out := make([]Server, len(r.receipt.PerServer))
	for i, s := range r.receipt.PerServer {
		out[i] = Server{ServerReport: s}
		if u, err := url.Parse(s.Server); err == nil {
			out[i].Limit = limits[u.Host]
		}
	}
	return out
}

func names(set map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(set)), " ")
}
