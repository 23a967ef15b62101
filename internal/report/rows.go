package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/rdapq/rdapq/internal/measure"
	"github.com/rdapq/rdapq/internal/render"
)

// A row describes one line of the comparison table.
type row struct {
	label      string
	about      string // explanation of the label
	path       string // path of the number in the JSON of a mode; for a spread, without its members
	unit       unit
	get        func(*measure.Result) measure.Spread
	num        func(*measure.Result) float64 // getter in place of get, for a number without a range
	rangeRow   bool                          // the range has its own row
	medianOnly bool                          // the range is irrelevant
	always     bool                          // show the row even if all modes have 0
	text       func(*measure.Result) string  // getter of a text in place of a number
}

// A group is a set of rows with a heading.
type group struct {
	title string
	rows  []row
}

// spread returns the number, with its range if it has one.
func (w *row) spread(r *measure.Result) measure.Spread {
	if w.num == nil {
		return w.get(r)
	}
	f := w.num(r)
	return measure.Spread{Median: f, Min: f, Max: f}
}

// groups returns all rows.
func groups() []group {
	type R = *measure.Result
	type S = measure.Spread
	return []group{
		{"Time", []row{
			{label: "wall time", about: "from the first lookup of a run to the end of the last, median of the runs", path: "wall_ms", unit: millis, get: func(r R) S { return r.Wall }, rangeRow: true, always: true},
			{label: "lookups per second", path: "lookups_per_second", unit: rate, medianOnly: true, get: func(r R) S { return r.Rate }, always: true},
			{label: "lookup latency, p50", about: "over the lookups of all runs", path: "lookup_ms.p50", unit: millis, num: func(r R) float64 { return r.Lookup.P50 }, always: true},
			{label: "lookup latency, p95", path: "lookup_ms.p95", unit: millis, num: func(r R) float64 { return r.Lookup.P95 }, always: true},
			{label: "lookup latency, p99", path: "lookup_ms.p99", unit: millis, num: func(r R) float64 { return r.Lookup.P99 }, always: true},
		}},
		{"Connections per run", []row{
			{label: "protocol", text: func(r R) string { return protocolText(r) }},
			{label: "connections", path: "connections", get: func(r R) S { return r.Connections }, always: true},
			{label: "full handshakes", path: "full_handshakes", get: func(r R) S { return r.Full }, always: true},
			{label: "resumed handshakes", path: "resumed_handshakes", get: func(r R) S { return r.Resumed }, always: true},
			{label: "of these, with 0-RTT", path: "early_data", get: func(r R) S { return r.EarlyData }},
			{label: "with TCP Fast Open", path: "fast_open", get: func(r R) S { return r.FastOpen }},
			{label: "handshakes avoided", about: "lookups sent on an existing connection", path: "avoided_handshakes", get: func(r R) S { return r.Avoided }, always: true},
			{label: "round trips avoided", about: "by the avoided handshakes", path: "round_trips_avoided", get: func(r R) S { return r.TripsAvoided }},
			{label: "time saved (model)", about: "extra duration of the run without reuse", path: "saved_ms", unit: millis, get: func(r R) S { return r.Saved }},
			{label: "retried transparently", path: "retries", get: func(r R) S { return r.Retries }},
			{label: "lookups without a response", about: "in all runs", path: "unanswered", num: func(r R) float64 { return float64(r.Unanswered) }},
		}},
		{"Round trips", []row{
			{label: "per lookup, counted", about: "derived from the number of handshakes and requests", path: "round_trips.counted_per_lookup", unit: decimal, num: func(r R) float64 { return r.RoundTrips.Counted }, always: true},
			{label: "per lookup, measured", about: "time of TCP, TLS, first byte and transfer divided by the RTT", path: "round_trips.measured_per_lookup", unit: decimal, medianOnly: true, get: func(r R) S { return r.RoundTrips.Measured }},
			{label: "per run, by wall time", about: "run duration divided by the RTT", path: "round_trips.wall", unit: rate, num: func(r R) float64 { return r.RoundTrips.Wall }},
		}},
		{"Cost per run", []row{
			{label: "received", path: "bytes_in", unit: byteSize, medianOnly: true, get: func(r R) S { return r.BytesIn }, always: true},
			{label: "sent", path: "bytes_out", unit: byteSize, medianOnly: true, get: func(r R) S { return r.BytesOut }, always: true},
			{label: "CPU time", about: "of this process, user and system", path: "cpu_ms", unit: millis, get: func(r R) S { return r.CPU }, rangeRow: true},
		}},
		{"Mean per lookup", []row{
			{label: "in the queue", about: "waiting for a free connection or stream", path: "mean_ms.queue", unit: millis, num: func(r R) float64 { return r.Mean.Queue }},
			{label: "DNS", path: "mean_ms.dns", unit: millis, num: func(r R) float64 { return r.Mean.DNS }},
			{label: "TCP", path: "mean_ms.tcp", unit: millis, num: func(r R) float64 { return r.Mean.TCP }, always: true},
			{label: "TLS", path: "mean_ms.tls", unit: millis, num: func(r R) float64 { return r.Mean.TLS }, always: true},
			{label: "first byte", path: "mean_ms.first_byte", unit: millis, num: func(r R) float64 { return r.Mean.FirstByte }, always: true},
			{label: "transfer", path: "mean_ms.transfer", unit: millis, num: func(r R) float64 { return r.Mean.Transfer }, always: true},
		}},
	}
}

// shownGroups returns the rows to show for a report.
func shownGroups(r *measure.Report) []group {
	var out []group
	for _, g := range groups() {
		var rows []row
		for _, w := range g.rows {
			if w.shown(r) {
				rows = append(rows, w)
			}
		}
		if len(rows) > 0 {
			out = append(out, group{g.title, rows})
		}
	}
	return out
}

func (w *row) shown(r *measure.Report) bool {
	if w.always {
		return true
	}
	for i := range r.Modes {
		if w.text != nil && w.text(&r.Modes[i]) != "" || w.text == nil && w.spread(&r.Modes[i]).Max != 0 {
			return true
		}
	}
	return false
}

// cell formats the median, followed by the range unless the range has its own row.
func (w *row) cell(r *measure.Result) string {
	if w.text != nil {
		return w.text(r)
	}
	s := w.spread(r)
	out := w.unit.write(s.Median)
	if span := w.span(s); span != "" && !w.rangeRow && !w.medianOnly {
		out += " (" + span + ")"
	}
	return out
}

// span formats a range. It returns "" for a range that is empty or invisible. A range with its
// own row is more precise, so that it is visible.
func (w *row) span(s measure.Spread) string {
	from, to := w.unit.write(s.Min), w.unit.write(s.Max)
	if w.rangeRow && s.Min >= 100 && s.Max < 100_000 {
		from, to = render.Grouped(int64(math.Round(s.Min)))+" ms", render.Grouped(int64(math.Round(s.Max)))+" ms"
	}
	if from == to && (!w.rangeRow || !s.Varies()) {
		return ""
	}
	if number, ok := strings.CutSuffix(from, unitOf(to)); ok && unitOf(to) != "" {
		from = number
	}
	return from + "–" + to
}

// unitOf returns the unit after a number, with its space.
func unitOf(text string) string {
	if i := strings.LastIndexByte(text, ' '); i >= 0 {
		return text[i:]
	}
	return ""
}

// protocolText returns protocol and TLS version, such as "h2 · TLS 1.3".
func protocolText(r *measure.Result) string {
	if r.TLS == "" {
		return r.Protocol
	}
	return strings.ReplaceAll(r.Protocol, " ", ", ") + " · TLS " + strings.ReplaceAll(r.TLS, " ", ", ")
}

// A unit is the format of a number.
type unit uint8

const (
	count    unit = iota // format of "1,234"
	millis               // format of "90 ms" and "1.08 s"
	byteSize             // format of "12.3 kB"
	decimal              // format of "1.15"
	rate                 // format of "36.8"
)

// write formats a number for people.
func (u unit) write(f float64) string {
	switch u {
	case millis:
		return writeMillis(f)
	case byteSize:
		return render.ByteCount(int64(f))
	case decimal:
		return strconv.FormatFloat(f, 'f', 2, 64)
	case rate:
		switch {
		case f >= 1000:
			return render.Grouped(int64(f + .5))
		case f >= 100:
			return strconv.FormatFloat(f, 'f', 0, 64)
		}
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	if f == float64(int64(f)) {
		return render.Grouped(int64(f))
	}
	return strconv.FormatFloat(f, 'f', 1, 64) // show the half in the median of an even number of runs
}

func writeMillis(ms float64) string {
	switch {
	case ms == 0:
		return "0 ms"
	case ms < 9.95:
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	case ms < 999.5:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	case ms < 59_995:
		return strconv.FormatFloat(ms/1000, 'f', 2, 64) + " s"
	}
	return render.Milliseconds(ms)
}
