package measure

import (
	"fmt"
	"strconv"
	"strings"
)

// A Comparison compares the mode with the lowest median time with another mode.
type Comparison struct {
	Mode string `json:"mode"`
	Than string `json:"than"`

	// Times is the median of Than divided by the median of Mode. The range of the quotient
	// follows from the ranges of both.
	Times Spread `json:"times"`

	// Significant reports that Mode is faster beyond random variation. For that, both modes
	// need minRuns runs in which all lookups got responses. The ranges must not overlap, and
	// the quotient of the medians must be at least minRatio.
	Significant bool   `json:"claim"`
	Why         string `json:"why,omitempty"` // reason why the difference is not significant

	// Avoided is the difference of the median number of handshakes per run.
	Avoided float64 `json:"handshakes_avoided"`
}

// minRuns is the minimum number of runs of each mode for a significant difference. The
// probability that three runs are all faster than three others by chance is 1 in 20.
const minRuns = 3

// minRatio is the minimum relevant quotient. On a steady link, even 183 ms and 184 ms may
// differ in all runs.
const minRatio = 1.05

// compare compares the fastest mode with each other mode, in order.
func compare(modes []Result) []Comparison {
	out := []Comparison{}
	if len(modes) < 2 {
		return out
	}
	best := &modes[0]
	for i := range modes {
		if modes[i].Wall.Median < best.Wall.Median {
			best = &modes[i]
		}
	}
	for i := range modes {
		o := &modes[i]
		if o == best {
			continue
		}
		c := Comparison{Mode: best.Mode, Than: o.Mode, Avoided: handshakes(o) - handshakes(best)}
		c.Times = Spread{
			Median: ratio(o.Wall.Median, best.Wall.Median),
			Min:    ratio(o.Wall.Min, best.Wall.Max), Max: ratio(o.Wall.Max, best.Wall.Min),
		}
		switch {
		case best.Unanswered > 0 || o.Unanswered > 0:
			c.Why = "not all lookups were answered"
		case min(len(best.Runs), len(o.Runs)) < minRuns:
			c.Why = "need at least " + strconv.Itoa(minRuns) + " runs"
		case best.Wall.Max >= o.Wall.Min:
			c.Why = "their ranges overlap"
		case c.Times.Median < minRatio:
			c.Why = "they differ by less than 5%"
		default:
			c.Significant = true
		}
		out = append(out, c)
	}
	return out
}

func handshakes(r *Result) float64 { return r.Full.Median + r.Resumed.Median }

func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return round(a / b)
}

// headline returns the result of a bench in one sentence.
func headline(modes []Result, comparisons []Comparison) string {
	switch {
	case len(modes) == 0:
		return "nothing was measured"
	case len(modes) == 1:
		m := &modes[0]
		if m.Unanswered > 0 {
			return fmt.Sprintf("%s: %s without a response", m.Mode, plural(float64(m.Unanswered), "lookup"))
		}
		return fmt.Sprintf("%s took %s ms: %s", m.Mode, number(m.Wall.Median), plural(handshakes(m), "handshake"))
	}
	// Use the greatest significant difference, else the greatest difference.
	best := comparisons[0]
	for _, c := range comparisons {
		if c.Significant && !best.Significant || c.Significant == best.Significant && c.Times.Median > best.Times.Median {
			best = c
		}
	}
	if !best.Significant {
		return fmt.Sprintf("no significant difference between %s and %s: %s", best.Mode, best.Than, best.Why)
	}
	s := fmt.Sprintf("%s was %s times faster than %s", best.Mode, number(best.Times.Median), best.Than)
	if best.Avoided > 0 {
		s += ": " + plural(best.Avoided, "handshake") + " avoided"
	}
	if len(comparisons) > 1 {
		var same []string
		for _, c := range comparisons {
			if !c.Significant {
				same = append(same, c.Than)
			}
		}
		if len(same) > 0 {
			s += "; no significant difference from " + strings.Join(same, ", ")
		}
	}
	return s
}

// number formats f, with one decimal below 100.
func number(f float64) string {
	if f >= 100 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
}

func plural(n float64, what string) string {
	if n != 1 {
		what += "s"
	}
	return number(n) + " " + what
}
