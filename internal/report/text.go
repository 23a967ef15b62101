package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rdapq/rdapq/internal/measure"
	"github.com/rdapq/rdapq/internal/render"
)

const (
	minWidth   = 60
	usualWidth = 80
	columnGap  = 3
	// textLines limits the lookups of a waterfall on a terminal, but each mode has at least
	// two.
	textLines = 12
)

// WriteText writes r for a terminal of that width; 0 means 80 columns. It writes several tables
// if the modes do not fit side by side. It returns the error of w.
func WriteText(w io.Writer, r *measure.Report, width int) error {
	if width <= 0 {
		width = usualWidth
	}
	width = max(width, minWidth)
	var b strings.Builder
	line := func(s string) {
		for _, part := range render.Wrap(s, width) {
			b.WriteString(part + "\n")
		}
	}
	line(r.Headline)
	b.WriteByte('\n')
	for _, s := range settingLines(r) {
		line(s)
	}
	for _, s := range skippedLines(r) {
		line(s)
	}
	writeTables(&b, r, width)
	if len(r.Comparisons) > 1 || len(r.Comparisons) == 1 && !r.Comparisons[0].Significant {
		b.WriteByte('\n')
		for i := range r.Comparisons {
			line(comparisonLine(&r.Comparisons[i]))
		}
	}
	writeWaterfall(&b, r, width)
	for i, s := range r.Notes {
		if i == 0 {
			b.WriteByte('\n')
		}
		line("Note: " + s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// A tableLine is a line of a table; a heading has no cells.
type tableLine struct {
	label string
	cells []string
}

// tableLines returns the table of all modes.
func tableLines(r *measure.Report) []tableLine {
	header := tableLine{cells: make([]string, len(r.Modes))}
	for i := range r.Modes {
		header.cells[i] = r.Modes[i].Mode
	}
	lines := []tableLine{header}
	for _, g := range shownGroups(r) {
		lines = append(lines, tableLine{label: g.title})
		for _, w := range g.rows {
			one := tableLine{label: w.label, cells: make([]string, len(r.Modes))}
			span := tableLine{label: "range", cells: make([]string, len(r.Modes))}
			spans := false
			for i := range r.Modes {
				one.cells[i] = w.cell(&r.Modes[i])
				if w.rangeRow {
					span.cells[i] = w.span(w.spread(&r.Modes[i]))
					spans = spans || span.cells[i] != ""
				}
			}
			lines = append(lines, one)
			if spans {
				lines = append(lines, span)
			}
		}
	}
	return lines
}

func writeTables(b *strings.Builder, r *measure.Report, width int) {
	lines := tableLines(r)
	labels := 0
	widths := make([]int, len(r.Modes))
	for _, l := range lines {
		labels = max(labels, render.Columns(l.label)+2)
		for i, cell := range l.cells {
			widths[i] = max(widths[i], render.Columns(cell))
		}
	}
	for from := 0; from < len(widths); {
		to, used := from, labels
		for to < len(widths) && (to == from || used+columnGap+widths[to] <= width) {
			used += columnGap + widths[to]
			to++
		}
		b.WriteByte('\n')
		for _, l := range lines {
			if l.cells == nil {
				b.WriteString(l.label + "\n")
				continue
			}
			text := "  " + l.label
			used := render.Columns(text)
			end := labels
			for i := from; i < to; i++ {
				end += columnGap + widths[i]
				text += strings.Repeat(" ", end-used-render.Columns(l.cells[i])) + l.cells[i]
				used = end
			}
			b.WriteString(strings.TrimRight(text, " ") + "\n")
		}
		from = to
	}
}

func writeWaterfall(b *strings.Builder, r *measure.Report, width int) {
	var bars []render.Bar
	each := max(textLines/max(len(r.Modes), 1), 2)
	for i := range r.Modes {
		m := &r.Modes[i]
		lines := m.Waterfall[:min(len(m.Waterfall), each)]
		if len(lines) == 0 {
			continue
		}
		bars = append(bars, render.Bar{Label: m.Mode})
		for _, l := range lines {
			s := l.Steps
			bars = append(bars, render.Bar{
				Label: "  " + l.Query, Start: l.Start,
				Queue: s.Queue, DNS: s.DNS, TCP: s.TCP, TLS: s.TLS, FirstByte: s.FirstByte, Transfer: s.Transfer,
			})
		}
	}
	if len(bars) > 0 {
		fmt.Fprintf(b, "\n%s", render.Waterfall(bars, width))
	}
}

// settingLines describes the settings, one per line.
func settingLines(r *measure.Report) []string {
	s := r.Settings
	var lines []string
	if r.Kind == measure.KindBench {
		what := fmt.Sprintf("%s per run, %s at a time", render.Plural(int64(s.Lookups), "lookup"), render.Grouped(int64(s.Jobs)))
		if s.Jobs == 1 {
			what = fmt.Sprintf("%s per run, one at a time", render.Plural(int64(s.Lookups), "lookup"))
		}
		lines = append(lines, fmt.Sprintf("%s; %s per mode, interleaved; %s total",
			what, render.Plural(int64(s.Runs), "run"), render.Plural(int64(s.LookupsInAll), "lookup")))
		lines = append(lines, "after a warm-up; every run starts with no open connections")
	}
	where := "servers on the network"
	if s.Demo {
		where = "demo registry, in this process"
	}
	if r.RTT.MS > 0 {
		where += ", round-trip time " + writeMillis(r.RTT.MS) + " (" + r.RTT.Source + ")"
	}
	return append(lines, where)
}

// skippedLines lists the skipped modes.
func skippedLines(r *measure.Report) []string {
	var lines []string
	for _, s := range r.Skipped {
		lines = append(lines, s.Mode+" was not measured: "+s.Reason)
	}
	return lines
}

// comparisonLine compares a mode with the fastest mode.
func comparisonLine(c *measure.Comparison) string {
	times := strconv.FormatFloat(c.Times.Median, 'f', 2, 64) + " times the time of " + c.Mode
	if c.Significant {
		return fmt.Sprintf("%s took %s (%.2f to %.2f)", c.Than, times, c.Times.Min, c.Times.Max)
	}
	return fmt.Sprintf("%s took %s; no significant difference: %s", c.Than, times, c.Why)
}

// WriteMarkdown writes r as a table with one row per number and one column per mode.
// It returns the error of w.
func WriteMarkdown(w io.Writer, r *measure.Report) error {
	var b strings.Builder
	b.WriteString("**" + r.Headline + "**\n\n")
	for _, s := range append(append(settingLines(r), skippedLines(r)...), r.Notes...) {
		b.WriteString("- " + s + "\n")
	}
	if len(r.Comparisons) > 1 {
		for i := range r.Comparisons {
			b.WriteString("- " + comparisonLine(&r.Comparisons[i]) + "\n")
		}
	}
	b.WriteByte('\n')
	for i, l := range tableLines(r) {
		label := l.label
		cells := l.cells
		if cells == nil {
			label, cells = "**"+label+"**", make([]string, len(r.Modes))
		}
		b.WriteString("| " + strings.Join(append([]string{label}, cells...), " | ") + " |\n")
		if i == 0 {
			b.WriteString("| --- |" + strings.Repeat(" ---: |", len(r.Modes)) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
