package render

import (
	"math"
	"strings"
)

// A Bar is a lookup in a waterfall. It has a start and the durations of consecutive steps, in
// milliseconds. A Bar without durations and details is a heading.
type Bar struct {
	Label                                     string
	Details                                   []string // lines below the bar
	Start                                     float64
	Queue, DNS, TCP, TLS, FirstByte, Transfer float64
}

// stepGlyphs lists the glyph and the name of each step of a bar, in order.
var stepGlyphs = [...]struct {
	glyph rune
	name  string
}{
	{'·', "queue"},
	{'○', "DNS"},
	{'▒', "TCP"},
	{'▓', "TLS"},
	{'█', "first byte"},
	{'─', "transfer"},
}

func (b *Bar) steps() [len(stepGlyphs)]float64 {
	return [...]float64{b.Queue, b.DNS, b.TCP, b.TLS, b.FirstByte, b.Transfer}
}

// end returns the time at which the bar ends.
func (b *Bar) end() float64 {
	end := b.Start
	for _, s := range b.steps() {
		end += s
	}
	return end
}

func (b *Bar) heading() bool { return b.end() == 0 && len(b.Details) == 0 }

// Waterfall draws bars on a common scale, with a legend. It omits steps that are too short to
// be visible, and appends the duration to each bar. It makes labels [Safe].
func Waterfall(bars []Bar, width int) string {
	const timeWidth = 8 // width of the duration after a bar
	labels, longest := 0, 0.0
	for i := range bars {
		longest = max(longest, bars[i].end())
		if !bars[i].heading() {
			labels = max(labels, columns(Safe(bars[i].Label)))
		}
	}
	labels = min(labels, width/3)
	room := max(width-labels-2-timeWidth, 10)
	var out strings.Builder
	var seen [len(stepGlyphs)]bool
	for i := range bars {
		b := &bars[i]
		if b.heading() {
			out.WriteString(Shorten(Safe(b.Label), width) + "\n")
			continue
		}
		label := Shorten(Safe(b.Label), labels)
		label += strings.Repeat(" ", labels-columns(label)+2)
		took := ""
		if b.end() > b.Start {
			took = " " + duration(b.end()-b.Start)
		}
		out.WriteString(strings.TrimRight(label+b.draw(longest, room, &seen)+took, " ") + "\n")
		for _, l := range fill(b.Details, width-labels-2) {
			out.WriteString(strings.Repeat(" ", labels+2) + l + "\n")
		}
	}
	var legend []string
	for k, g := range stepGlyphs {
		if seen[k] {
			legend = append(legend, string(g.glyph)+" "+g.name)
		}
	}
	out.WriteString(strings.Join(append(legend, "same scale"), "   ") + "\n")
	return out.String()
}

// draw draws b at the scale at which a bar of length longest fills room. It records the visible
// steps in seen.
func (b *Bar) draw(longest float64, room int, seen *[len(stepGlyphs)]bool) string {
	column := func(ms float64) int { return int(math.Round(ms / max(longest, 1e-9) * float64(room))) }
	var out strings.Builder
	at, done := column(b.Start), b.Start
	out.WriteString(strings.Repeat(" ", at))
	for k, s := range b.steps() {
		done += s
		n := column(done) - at
		if n <= 0 {
			continue
		}
		out.WriteString(strings.Repeat(string(stepGlyphs[k].glyph), n))
		at += n
		seen[k] = true
	}
	return out.String()
}

// fill arranges parts on lines of at most width columns. It does not break parts.
func fill(parts []string, width int) []string {
	var lines []string
	for _, part := range parts {
		part = Safe(part)
		if n := len(lines); n > 0 && columns(lines[n-1])+columns(part)+len(" · ") <= width {
			lines[n-1] += " · " + part
			continue
		}
		lines = append(lines, part)
	}
	return lines
}
