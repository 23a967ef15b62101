package report

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rdapq/rdapq/internal/measure"
	"github.com/rdapq/rdapq/internal/render"
)

//go:embed style.css
var style string

// WriteHTML writes r as a self-contained page without scripts, fonts or images. It embeds the
// report as JSON. WriteHTML returns the error of w.
//
// Each number of the data is in an element whose data-v attribute is its path in the JSON. Text
// of the data is in an element with data-s.
func WriteHTML(w io.Writer, r *measure.Report) error {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	m := new(markup)
	m.tag("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	m.tag("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
	m.tag("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n")
	m.element("title", "rdapq "+r.Kind+": "+render.Safe(r.Headline))
	m.tag("<style>\n%s</style>\n</head>\n<body>\n", style)
	m.head(r)
	if len(r.Modes) > 0 && r.Settings.LookupsInAll > 0 {
		m.comparisonTable(r)
		m.waterfalls(r)
		m.distributions(r)
		m.servers(r)
	}
	m.environment(r)
	m.tag("<details>\n<summary>All numbers, as JSON</summary>\n<pre id=\"data\">")
	m.text(string(render.VisibleJSON(data)))
	m.tag("</pre>\n</details>\n</body>\n</html>\n")
	_, err = io.WriteString(w, m.String())
	return err
}

// head writes the headline, the comparisons and the settings.
func (m *markup) head(r *measure.Report) {
	m.tag("<header>\n<p class=\"kicker\">rdapq %s · ", r.Kind)
	m.quoted("time", r.Time.Format(time.RFC3339Nano))
	m.tag("</p>\n<h1>")
	m.quoted("headline", r.Headline)
	m.tag("</h1>\n")
	for i := range r.Comparisons {
		m.comparisonSentence(i, &r.Comparisons[i])
	}
	m.tag("<dl>\n")
	s := r.Settings
	term := func(name string, describe func()) {
		m.tag("<dt>")
		m.text(name)
		m.tag("</dt><dd>")
		describe()
		m.tag("</dd>\n")
	}
	term("Target", func() {
		if s.Demo {
			m.text("demo registry, in this process")
			return
		}
		m.text("servers on the network")
	})
	if r.RTT.MS > 0 {
		term("Round-trip time", func() {
			m.number("rtt.ms", millis, r.RTT.MS)
			m.tag(" (")
			m.quoted("rtt.source", r.RTT.Source)
			m.tag(")")
		})
	}
	if r.Kind == measure.KindBench {
		term("Each run", func() {
			m.number("settings.lookups", count, float64(s.Lookups))
			m.tag(" lookups, ")
			m.number("settings.jobs", count, float64(s.Jobs))
			m.tag(" concurrent, on its own connections")
		})
		term("Runs", func() {
			m.number("settings.runs", count, float64(s.Runs))
			m.tag(" per mode, interleaved, after a warm-up; ")
			m.number("settings.lookups_in_all", count, float64(s.LookupsInAll))
			m.tag(" lookups total")
		})
	}
	m.tag("</dl>\n</header>\n")
}

func (m *markup) comparisonSentence(i int, c *measure.Comparison) {
	path := fmt.Sprintf("comparisons.%d.", i)
	m.tag("<p>")
	m.quoted(path+"than", c.Than)
	m.tag(" took ")
	m.number(path+"times.median", decimal, c.Times.Median)
	m.tag(" times the time of ")
	m.quoted(path+"mode", c.Mode)
	if c.Significant {
		m.tag(" (range ")
		m.number(path+"times.min", decimal, c.Times.Min)
		m.tag(" to ")
		m.number(path+"times.max", decimal, c.Times.Max)
		m.tag(")</p>\n")
		return
	}
	m.tag("; no significant difference: ")
	m.quoted(path+"why", c.Why)
	m.tag("</p>\n")
}

// fewModes is the maximum number of columns on a phone. manyModes is the maximum on paper in
// the usual font size.
const (
	fewModes  = 2
	manyModes = 4
)

// comparisonTable writes the table of all modes.
func (m *markup) comparisonTable(r *measure.Report) {
	m.tag("<section>\n")
	m.element("h2", "Comparison")
	m.wallChart(r)
	class := "modes"
	if len(r.Modes) > fewModes {
		class += " cards"
	}
	if len(r.Modes) > manyModes {
		class += " many"
	}
	m.tag("<table class=\"%s\">\n<thead><tr><th></th>", class)
	for i := range r.Modes {
		m.tag("<th>")
		m.name(fmt.Sprintf("modes.%d.mode", i), r.Modes[i].Mode)
		m.tag("</th>")
	}
	m.tag("</tr></thead>\n<tbody>\n")
	for _, g := range shownGroups(r) {
		m.tag("<tr class=\"group\"><th colspan=\"%d\">", len(r.Modes)+1)
		m.text(g.title)
		m.tag("</th></tr>\n")
		for _, w := range g.rows {
			m.tag("<tr><th>")
			m.text(w.label)
			if w.about != "" {
				m.element("small", w.about)
			}
			m.tag("</th>")
			for i := range r.Modes {
				m.tag("<td data-label=\"")
				m.text(render.Safe(r.Modes[i].Mode))
				m.tag("\"><span>")
				m.cell(&w, i, &r.Modes[i])
				m.tag("</span></td>")
			}
			m.tag("</tr>\n")
		}
	}
	m.tag("</tbody>\n</table>\n<ul>\n")
	for i := range r.Modes {
		if r.Modes[i].About == "" {
			continue
		}
		m.tag("<li>")
		m.quoted(fmt.Sprintf("modes.%d.mode", i), r.Modes[i].Mode)
		m.tag(": ")
		m.quoted(fmt.Sprintf("modes.%d.about", i), r.Modes[i].About)
		m.tag("</li>\n")
	}
	for i, s := range r.Skipped {
		m.tag("<li>")
		m.quoted(fmt.Sprintf("skipped.%d.mode", i), s.Mode)
		m.tag(" was not measured: ")
		m.quoted(fmt.Sprintf("skipped.%d.reason", i), s.Reason)
		m.tag("</li>\n")
	}
	for i, s := range r.Notes {
		m.tag("<li>")
		m.quoted(fmt.Sprintf("notes.%d", i), s)
		m.tag("</li>\n")
	}
	m.tag("</ul>\n</section>\n")
}

// cell writes a result of a mode, with its range below.
func (m *markup) cell(w *row, mode int, r *measure.Result) {
	if w.text != nil {
		path := fmt.Sprintf("modes.%d.", mode)
		m.quoted(path+"protocol", r.Protocol)
		if r.TLS != "" {
			m.tag("<small>TLS ")
			m.quoted(path+"tls", r.TLS)
			m.tag("</small>")
		}
		return
	}
	path := fmt.Sprintf("modes.%d.%s", mode, w.path)
	if w.num != nil {
		m.number(path, w.unit, w.num(r))
		return
	}
	s := w.get(r)
	m.number(path+".median", w.unit, s.Median)
	if w.unit.write(s.Min) != w.unit.write(s.Max) {
		m.tag("<small>")
		m.number(path+".min", w.unit, s.Min)
		m.tag(" – ")
		m.number(path+".max", w.unit, s.Max)
		m.tag("</small>")
	}
}

// environment writes the environment of the measurement.
func (m *markup) environment(r *measure.Report) {
	m.tag("<section>\n")
	m.element("h2", "Environment")
	m.tag("<dl>\n")
	e := r.Environment
	for _, x := range []struct{ name, path, value string }{
		{"rdapq", "rdapq", e.Version},
		{"Go", "go", e.Go},
		{"System", "os", e.OS},
		{"Architecture", "arch", e.Arch},
	} {
		m.tag("<dt>%s</dt><dd>", x.name)
		m.quoted("environment."+x.path, x.value)
		m.tag("</dd>\n")
	}
	m.tag("<dt>CPUs</dt><dd>")
	m.number("environment.cpus", count, float64(e.CPUs))
	m.tag("</dd>\n</dl>\n</section>\n")
}

// servers writes the statistics of each server.
func (m *markup) servers(r *measure.Report) {
	m.tag("<section>\n")
	m.element("h2", "Servers")
	if r.Kind == measure.KindBench {
		m.tag("<p class=\"faint\">From the run with the median time.</p>\n")
	}
	if sharesHosts(r) {
		m.tag("<p class=\"faint\">Servers on the same host share its connections; each row counts them.</p>\n")
	}
	heads := []string{"Lookups", "Verdicts", "Connections", "Full", "Resumed", "Avoided", "Protocol", "p50", "Limit"}
	labels := slices.Clone(heads)
	labels[3] = "Full handshakes" // shorter, for the layout on phones
	for i := range r.Modes {
		mode := &r.Modes[i]
		if len(r.Modes) > 1 {
			m.tag("<h3>")
			m.quoted(fmt.Sprintf("modes.%d.mode", i), mode.Mode)
			m.tag("</h3>\n")
		}
		m.tag("<table class=\"cards servers\">\n<thead><tr><th>Server</th><th>%s</th></tr></thead>\n<tbody>\n", strings.Join(heads, "</th><th>"))
		for k := range mode.Servers[:min(len(mode.Servers), maxServers)] {
			m.server(fmt.Sprintf("modes.%d.servers.%d.", i, k), &mode.Servers[k], labels)
		}
		m.tag("</tbody>\n</table>\n")
		if len(mode.Servers) > maxServers {
			m.tag("<p class=\"faint\">Servers with fewer lookups are in the JSON data below.</p>\n")
		}
	}
	m.tag("</section>\n")
}

// maxServers limits the servers on a page to those with the most lookups.
const maxServers = 100

// sharesHosts reports whether several servers are on the same host.
func sharesHosts(r *measure.Report) bool {
	for i := range r.Modes {
		seen := make(map[string]bool)
		for _, s := range r.Modes[i].Servers {
			u, err := url.Parse(s.Server)
			if err != nil {
				continue
			}
			if seen[u.Host] {
				return true
			}
			seen[u.Host] = true
		}
	}
	return false
}

func (m *markup) server(path string, s *measure.Server, labels []string) {
	m.tag("<tr><th>")
	m.quoted(path+"server", s.Server)
	m.tag("</th>")
	for i, write := range []func(){
		func() { m.number(path+"lookups", count, float64(s.Lookups)) },
		func() { m.verdicts(path+"verdicts.", s.Verdicts) },
		func() { m.number(path+"connections", count, float64(s.Connections)) },
		func() { m.number(path+"handshakes.full", count, float64(s.Handshakes.Full)) },
		func() { m.number(path+"handshakes.resumed", count, float64(s.Handshakes.Resumed)) },
		func() { m.number(path+"handshakes.avoided", count, float64(s.Handshakes.Avoided)) },
		func() { m.quoted(path+"protocol", s.Protocol) },
		func() { m.number(path+"p50", millis, s.P50) },
		func() {
			if s.Limit == "" {
				m.text("–")
				return
			}
			m.quoted(path+"limit", s.Limit)
		},
	} {
		m.tag("<td data-label=\"%s\"><span>", labels[i])
		write()
		m.tag("</span></td>")
	}
	m.tag("</tr>\n")
}

// verdicts writes counts by verdict, with the most frequent verdict first.
func (m *markup) verdicts(path string, counts map[string]int64) {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		if i > 0 {
			m.tag(", ")
		}
		m.number(path+name, count, float64(counts[name]))
		m.text(" " + strings.ReplaceAll(name, "_", " "))
	}
}
