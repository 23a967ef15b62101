package measure

import (
	"cmp"
	"slices"
	"time"

	"github.com/rdapq/rdapq/internal/timing"
)

// summarize returns the result of a mode from one or more runs. rtt is 0 if unknown.
func summarize(m Mode, runs []run, rtt time.Duration) Result {
	r := Result{Mode: m.Name, About: m.About(), Runs: make([]RunSummary, 0, len(runs))}
	over := func(of func(*run) float64) Spread {
		values := make([]float64, len(runs))
		for i := range runs {
			values[i] = of(&runs[i])
		}
		return spread(values)
	}
	count := func(of func(*run) int64) Spread {
		return over(func(r *run) float64 { return float64(of(r)) })
	}
	r.Wall = over(func(r *run) float64 { return millis(r.wall) })
	r.Rate = over(func(r *run) float64 { return float64(r.tally.Lookups()) / max(r.wall.Seconds(), 1e-9) })
	r.CPU = over(func(r *run) float64 { return millis(r.cpu) })
	r.Requests = count(func(r *run) int64 { return r.receipt.Requests })
	r.Connections = count(func(r *run) int64 { return r.receipt.Connections })
	r.Full = count(func(r *run) int64 { return r.receipt.Handshakes.Full })
	r.Resumed = count(func(r *run) int64 { return r.receipt.Handshakes.Resumed })
	r.EarlyData = count(func(r *run) int64 { return r.receipt.Handshakes.EarlyData })
	r.FastOpen = count(func(r *run) int64 { return r.stats.FastOpen.Accepted })
	r.Avoided = count(func(r *run) int64 { return r.receipt.Handshakes.Avoided })
	r.TripsAvoided = count(func(r *run) int64 { return r.receipt.TripsAvoided })
	var saved []float64
	for i := range runs {
		if ms := runs[i].receipt.MS; ms.Saved != nil {
			saved = append(saved, *ms.Saved)
		} else {
			r.SavedUnknown = string(ms.Unknown)
		}
	}
	if len(saved) > 0 {
		r.Saved = spread(saved)
	}
	r.Retries = count(func(r *run) int64 { return r.receipt.Retries })
	r.BytesIn = count(func(r *run) int64 { return r.receipt.BytesIn })
	r.BytesOut = count(func(r *run) int64 { return r.receipt.BytesOut })

	var all Recorder
	all.protocols, all.versions = make(map[string]bool), make(map[string]bool)
	for i := range runs {
		one := &runs[i]
		r.Runs = append(r.Runs, one.summary())
		all.merge(one.Recorder)
	}
	r.Unanswered, r.failure, r.times = all.unanswered, all.failure, all.times
	r.Protocol, r.TLS = names(all.protocols), names(all.versions)
	r.Lookup = Quantiles{
		Mean: millis(all.total / time.Duration(max(all.times.Count(), 1))),
		P50:  millis(all.quantile(.5)), P95: millis(all.quantile(.95)), P99: millis(all.quantile(.99)),
	}
	r.Mean = inMillis(all.steps, all.traced)
	if all.traced > 0 {
		r.RoundTrips.Counted = round(float64(all.trips) / float64(all.traced))
		if rtt > 0 {
			r.RoundTrips.Measured = over(func(r *run) float64 {
				return float64(r.steps.Network()) / float64(rtt) / float64(max(r.traced, 1))
			})
			r.RoundTrips.Wall = round(r.Wall.Median / millis(rtt))
		}
	}
	median := medianRun(runs)
	r.Waterfall = append([]Line{}, median.lines...)
	r.Servers = median.perServer()
	return r
}

// merge adds the data of another run, except its tally and lines.
func (r *Recorder) merge(o *Recorder) {
	r.times.Merge(&o.times)
	if r.exact = append(r.exact, o.exact...); len(r.exact) > maxExact {
		r.exact = r.exact[:maxExact] // beyond maxExact, quantile uses the histogram
	}
	r.total += o.total
	r.traced += o.traced
	r.trips += o.trips
	r.unanswered += o.unanswered
	r.failure = cmp.Or(r.failure, o.failure)
	a, b := &r.steps, &o.steps
	*a = timing.Steps{
		Queue: a.Queue + b.Queue, DNS: a.DNS + b.DNS, TCP: a.TCP + b.TCP, TLS: a.TLS + b.TLS,
		FirstByte: a.FirstByte + b.FirstByte, Transfer: a.Transfer + b.Transfer,
	}
	for name := range o.protocols {
		r.protocols[name] = true
	}
	for name := range o.versions {
		r.versions[name] = true
	}
}

// medianRun returns the run with the median time, or the faster of the middle two.
func medianRun(runs []run) *run {
	order := make([]*run, len(runs))
	for i := range runs {
		order[i] = &runs[i]
	}
	slices.SortStableFunc(order, func(a, b *run) int { return cmp.Compare(a.wall, b.wall) })
	return order[(len(order)-1)/2]
}

// binCount limits the number of bins.
const binCount = 24

// distribute counts the lookups of all modes in common bins of a round width.
func distribute(modes []Result) {
	var longest time.Duration
	for i := range modes {
		longest = max(longest, modes[i].times.Quantile(1))
	}
	width := binWidth(longest)
	n := int(longest/width) + 1
	for i := range modes {
		bins := make([]Bin, n)
		for k := range n {
			bins[k].From, bins[k].To = millis(time.Duration(k)*width), millis(time.Duration(k+1)*width)
		}
		for d, count := range modes[i].times.All() {
			bins[d/width].Count += count
		}
		modes[i].Distribution = bins
	}
}

// binWidth returns 1, 2 or 5 times a power of ten.
func binWidth(longest time.Duration) time.Duration {
	for unit := 100 * time.Microsecond; ; unit *= 10 {
		for _, w := range []time.Duration{unit, 2 * unit, 5 * unit} {
			if longest < w*binCount {
				return w
			}
		}
	}
}
