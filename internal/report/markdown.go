package report

import (
	"io"
	"strings"

	"github.com/rdapq/rdapq/internal/measure"
)

// WriteMarkdown writes r as a table with a row for each number and a column for
// each mode. The error is w's.
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
