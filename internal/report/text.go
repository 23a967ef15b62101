package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rdapq/rdapq/internal/measure"
	"github.com/rdapq/rdapq/internal/render"
)

const (
	minWidth   = 60
	usualWidth = 80
	columnGap  = 3
	// textLines is how many lookups a waterfall has on a terminal, of each mode at
	// least two.
	textLines = 12
)

// WriteText writes r for a terminal of that width; 0 means 80 columns. Modes that
// don't fit beside one another come in tables one below the other. The error is
// w's.
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

// A tableLine is one of a table: a heading where there are no cells.
type tableLine struct {
	label string
	cells []string
}

// tableLines returns the table with all modes.
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
