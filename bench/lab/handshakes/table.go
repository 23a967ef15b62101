package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// columns lists the columns of the table. The counts of rdapq are in the order of the columns
// before them.
var columns = []string{
	"lookups", "way", "trips", "theory ms", "ms", "reference ms", "SYN", "Fast Open", "QUIC", "full", "resumed", "0-RTT",
	"reported", "",
}

// A table prints rows, immediately or when all widths are known.
type table struct {
	out      io.Writer
	markdown bool
	rtt      time.Duration
	runs     int
	aligned  *tabwriter.Writer
	err      error
}

func newTable(out io.Writer, s settings) *table {
	t := &table{out: out, markdown: s.markdown, rtt: s.rtt, runs: s.runs}
	if !t.markdown {
		t.aligned = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		t.out = t.aligned
	}
	t.line(columns)
	if t.markdown {
		rule := make([]string, len(columns))
		for i := range rule {
			rule[i] = "---"
			if i >= 2 && i <= 11 {
				rule[i] = "---:"
			}
		}
		t.line(rule)
	}
	return t
}

func (t *table) line(cells []string) {
	text := strings.Join(cells, "\t")
	if t.markdown {
		text = "| " + strings.Join(cells, " | ") + " |"
	}
	if _, err := fmt.Fprintln(t.out, text); t.err == nil {
		t.err = err
	}
}

func (t *table) flush() error {
	if t.aligned != nil && t.err == nil {
		t.err = t.aligned.Flush()
	}
	return t.err
}

func (t *table) add(r row) {
	trips := r.mode.trips(r.size)
	cells := []string{r.size.String(), r.mode.title, strconv.Itoa(trips), milliseconds(time.Duration(trips) * t.rtt)}
	switch {
	case r.missing != "":
		cells = append(cells, "not in this build: "+r.missing)
	case r.failed:
		cells = append(cells, "failed")
	case len(r.samples) == 0:
		return // the client was not measured with so many lookups
	default:
		cells = append(cells, t.measured(r)...)
	}
	for len(cells) < len(columns) {
		cells = append(cells, "")
	}
	t.line(cells)
}

func (t *table) measured(r row) []string {
	m := r.median()
	took := milliseconds(m.wall)
	if len(r.samples) < t.runs {
		took += fmt.Sprintf(" (%d of %d runs)", len(r.samples), t.runs)
	}
	reference := ""
	if d, ok := r.referenceMedian(); ok {
		reference = milliseconds(d)
	}
	cells := []string{took, reference}
	for _, n := range []int{
		m.link.SYN, m.link.TFOAcked, m.link.QUICConns, m.link.Full + m.link.QUICFull, m.link.Resumed + m.link.QUICResumed, m.link.QUIC0RTT,
	} {
		cells = append(cells, strconv.Itoa(n))
	}
	if m.said == nil {
		return cells
	}
	h := m.said.Handshakes
	verdict := "agree"
	if len(r.problems) > 0 {
		verdict = "differ"
	}
	return append(cells, fmt.Sprintf("%d: %d, %d, %d", m.said.Connections, h.Full, h.Resumed, h.EarlyData), verdict)
}

func milliseconds(d time.Duration) string {
	return strconv.FormatInt(d.Round(time.Millisecond).Milliseconds(), 10)
}
