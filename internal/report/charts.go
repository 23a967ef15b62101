package report

import (
	"fmt"
	"math"

	"github.com/rdapq/rdapq/internal/measure"
	"github.com/rdapq/rdapq/internal/render"
)

// Sizes in charts. The charts have no viewBox: horizontal coordinates are percentages of the
// available width, so that text is readable on a phone. Vertical coordinates are pixels.
const (
	rowHeight  = 34 // height of a label with a bar below
	textAt     = 12 // baseline of the label in its row
	barAt      = 17
	barHeight  = 10
	axisHeight = 20
	labelSize  = 28 // maximum number of characters of a label
	chartLines = 12 // maximum number of lookups of a waterfall
	histHeight = 90
)

// grid draws the lines of an axis with their labels below.
func (m *markup) grid(a axis, height int) {
	for _, t := range a.ticks {
		x := percent(t, a.end)
		m.tag(`<line class="grid" x1="%s" x2="%s" y1="0" y2="%d"/>`, x, x, height)
		m.tag(`<text class="faint" data-tick="%g" x="%s" y="%d" text-anchor="%s">%s</text>`+"\n", t, x, height+14, a.anchor(t), writeMillis(t))
	}
}

// svg starts a chart of that height.
func (m *markup) svg(height int, label string) {
	m.tag(`<svg role="img" aria-label="%s" height="%d">`+"\n", label, height)
}

// label writes text of the data at the left of a row, shortened for a phone.
func (m *markup) label(y int, path, s string) {
	m.tag(`<text x="0" y="%d"><title>`, y)
	m.text(render.Safe(s))
	m.tag(`</title><tspan data-s="%s">`, path)
	m.text(render.Shorten(render.Safe(s), labelSize))
	m.tag("</tspan></text>")
}

// value writes a number at the right of a row.
func (m *markup) value(y int, path string, u unit, f float64) {
	m.tag(`<text x="100%%" y="%d" text-anchor="end"><tspan data-v="%s">`, y, path)
	m.text(u.write(f))
	m.tag("</tspan></text>\n")
}

// wallChart draws a bar for each mode, with a line for the range of its runs.
func (m *markup) wallChart(r *measure.Report) {
	longest := 0.0
	for i := range r.Modes {
		longest = max(longest, r.Modes[i].Wall.Max)
	}
	a := newAxis(longest)
	height := len(r.Modes) * rowHeight
	m.tag("<figure class=\"wall\">\n")
	m.svg(height+axisHeight, "wall time of each mode")
	m.grid(a, height)
	for i := range r.Modes {
		w, path, y := r.Modes[i].Wall, fmt.Sprintf("modes.%d.", i), i*rowHeight
		m.label(y+textAt, path+"mode", r.Modes[i].Mode)
		m.value(y+textAt, path+"wall_ms.median", millis, w.Median)
		m.tag(`<rect class="bar" data-v="%swall_ms.median" x="0" width="%s" y="%d" height="%d"/>`, path, percent(w.Median, a.end), y+barAt, barHeight)
		if w.Varies() {
			m.tag(`<line class="range" x1="%s" x2="%s" y1="%d" y2="%d"/>`, percent(w.Min, a.end), percent(w.Max, a.end), y+barAt+barHeight/2, y+barAt+barHeight/2)
		}
		m.tag("\n")
	}
	m.tag("</svg>\n<figcaption>Wall time")
	if r.Kind == measure.KindBench {
		m.tag(" of the median run; the line spans the fastest to the slowest run")
	}
	m.tag(".</figcaption>\n</figure>\n")
}

// steps lists the steps of a waterfall, with class and name.
var steps = [...]struct {
	class, name, path string
	of                func(s *measure.Steps) float64
}{
	{"queue", "queue", "queue", func(s *measure.Steps) float64 { return s.Queue }},
	{"dns", "DNS", "dns", func(s *measure.Steps) float64 { return s.DNS }},
	{"tcp", "TCP", "tcp", func(s *measure.Steps) float64 { return s.TCP }},
	{"tls", "TLS", "tls", func(s *measure.Steps) float64 { return s.TLS }},
	{"first", "first byte", "first_byte", func(s *measure.Steps) float64 { return s.FirstByte }},
	{"transfer", "transfer", "transfer", func(s *measure.Steps) float64 { return s.Transfer }},
}

// lineEnd returns the end of a lookup.
func lineEnd(l *measure.Line) float64 {
	end := l.Start
	for _, s := range steps {
		end += s.of(&l.Steps)
	}
	return end
}

func shownLines(r *measure.Result) []measure.Line {
	return r.Waterfall[:min(len(r.Waterfall), chartLines)]
}

// waterfalls draws the first lookups of each mode on a common scale.
func (m *markup) waterfalls(r *measure.Report) {
	longest := 0.0
	for i := range r.Modes {
		lines := shownLines(&r.Modes[i])
		for k := range lines {
			longest = max(longest, lineEnd(&lines[k]))
		}
	}
	if longest == 0 {
		return
	}
	m.tag("<section>\n")
	m.element("h2", "Where the time went")
	m.tag("<p class=\"faint\">The first lookups of a run, on a common scale. kept: existing connection; new: new connection.</p>\n<ul class=\"legend\">")
	for _, s := range steps {
		m.tag(`<li><i class="%s"></i>%s</li>`, s.class, s.name)
	}
	m.tag("</ul>\n")
	a := newAxis(longest)
	for i := range r.Modes {
		lines := shownLines(&r.Modes[i])
		if len(lines) == 0 {
			continue
		}
		m.tag("<figure class=\"waterfall\">\n<figcaption>")
		m.quoted(fmt.Sprintf("modes.%d.mode", i), r.Modes[i].Mode)
		m.tag("</figcaption>\n")
		m.svg(len(lines)*rowHeight+axisHeight, "waterfall of the first lookups")
		m.grid(a, len(lines)*rowHeight)
		for k := range lines {
			m.lookup(a, k*rowHeight, fmt.Sprintf("modes.%d.waterfall.%d.", i, k), &lines[k])
		}
		m.tag("</svg>\n</figure>\n")
	}
	m.tag("</section>\n")
}

// lookup draws one row of a waterfall.
func (m *markup) lookup(a axis, y int, path string, l *measure.Line) {
	m.label(y+textAt, path+"query", l.Query)
	m.tag(`<text class="faint" x="100%%" y="%d" text-anchor="end">`, y+textAt)
	switch {
	case l.Conn == 0:
		m.text("no connection")
	case l.Reused:
		m.tag(`kept <tspan data-v="%sconn">%d</tspan>`, path, l.Conn)
	default:
		m.tag(`new <tspan data-v="%sconn">%d</tspan>`, path, l.Conn)
	}
	m.tag(` · <tspan data-sum="%ssteps_ms">%s</tspan></text>`, path, writeMillis(lineEnd(l)-l.Start))
	at := l.Start
	for _, s := range steps {
		d := s.of(&l.Steps)
		if d > 0 {
			m.tag(`<rect class="%s" data-v="%ssteps_ms.%s" x="%s" width="%s" y="%d" height="%d"/>`,
				s.class, path, s.path, percent(at, a.end), percent(d, a.end), y+barAt, barHeight)
		}
		at += d
	}
	m.tag("\n")
}

// distributions draws the distribution of latencies. All modes share the scales.
func (m *markup) distributions(r *measure.Report) {
	most, end := uint64(0), 0.0
	for i := range r.Modes {
		for _, b := range r.Modes[i].Distribution {
			most = max(most, b.Count)
			end = max(end, b.To)
		}
	}
	if most == 0 {
		return
	}
	m.tag("<section>\n")
	m.element("h2", "Lookup latency")
	a := newAxis(end)
	for i := range r.Modes {
		m.distribution(fmt.Sprintf("modes.%d.", i), &r.Modes[i], a, most)
	}
	m.tag("</section>\n")
}

func (m *markup) distribution(path string, r *measure.Result, a axis, most uint64) {
	m.tag("<figure class=\"distribution\">\n<figcaption>")
	m.quoted(path+"mode", r.Mode)
	m.tag(": p50 ")
	m.number(path+"lookup_ms.p50", millis, r.Lookup.P50)
	m.text(", p95 ")
	m.number(path+"lookup_ms.p95", millis, r.Lookup.P95)
	m.text(", p99 ")
	m.number(path+"lookup_ms.p99", millis, r.Lookup.P99)
	m.tag("; tallest bar: ")
	high := 0
	for k, b := range r.Distribution {
		if b.Count > r.Distribution[high].Count {
			high = k
		}
	}
	m.number(fmt.Sprintf("%shistogram.%d.count", path, high), count, float64(r.Distribution[high].Count))
	m.tag(" lookups</figcaption>\n")
	m.svg(histHeight+axisHeight, "lookup latency distribution")
	m.grid(a, histHeight)
	for k, b := range r.Distribution {
		if b.Count == 0 {
			continue
		}
		h := float64(b.Count) / float64(most) * (histHeight - 4)
		m.tag(`<rect class="bar" data-v="%shistogram.%d.count" x="%s" width="%s" y="%.2f" height="%.2f"/>`+"\n",
			path, k, percent(b.From, a.end), percent(b.To-b.From, a.end), histHeight-h, h)
	}
	m.tag("</svg>\n</figure>\n")
}

// An axis extends from 0 to the greatest value.
type axis struct {
	end   float64
	ticks []float64
}

// maxTicks limits the ticks of an axis, including 0, to the number that fits on a phone.
const maxTicks = 5

// newAxis returns the axis for values up to end, with ticks at round values.
func newAxis(end float64) axis {
	a := axis{end: end, ticks: []float64{0}}
	if end <= 0 {
		a.end = 1
		return a
	}
	step := math.Pow(10, math.Floor(math.Log10(end))-1)
	for k := 0; end/step >= maxTicks; k++ {
		step *= [...]float64{2, 2.5, 2}[k%3] // the steps are 1, 2, 5 and 10
	}
	for t := step; t <= end; t += step {
		a.ticks = append(a.ticks, t)
	}
	return a
}

// anchor returns the text anchor for a tick label, so that it is not cut off.
func (a axis) anchor(t float64) string {
	switch share := t / a.end; {
	case share < .06:
		return "start"
	case share > .94:
		return "end"
	}
	return "middle"
}
