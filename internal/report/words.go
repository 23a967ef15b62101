package report

import (
	"fmt"
	"strconv"

	"github.com/rdapq/rdapq/internal/measure"
	"github.com/rdapq/rdapq/internal/render"
)

// settingLines say what was done, one thing each.
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

// skippedLines say which modes were left out.
func skippedLines(r *measure.Report) []string {
	var lines []string
	for _, s := range r.Skipped {
		lines = append(lines, s.Mode+" was not measured: "+s.Reason)
	}
	return lines
}

// comparisonLine says how a mode did beside the fastest.
func comparisonLine(c *measure.Comparison) string {
	times := strconv.FormatFloat(c.Times.Median, 'f', 2, 64) + " times the time of " + c.Mode
	if c.Significant {
		return fmt.Sprintf("%s took %s (%.2f to %.2f)", c.Than, times, c.Times.Min, c.Times.Max)
	}
	return fmt.Sprintf("%s took %s; no significant difference: %s", c.Than, times, c.Why)
}
