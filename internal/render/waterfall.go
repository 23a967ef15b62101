package render

import (
	"math"
	"strings"
)

// A Bar is a lookup in a waterfall, in milliseconds: when it began, and how long
// each step took, one after another. One without any time and details is a heading.
type Bar struct {
	Label                                     string
	Details                                   []string // stand below the bar
	Start                                     float64
	Queue, DNS, TCP, TLS, FirstByte, Transfer float64
}

// stepGlyphs are how the steps of a bar look, in their order, and what they are
// called.
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

// end is when the bar ends.
func (b *Bar) end() float64 {
	end := b.Start
	for _, s := range b.steps() {
		end += s
	}
	return end
}

func (b *Bar) heading() bool { return b.end() == 0 && len(b.Details) == 0 }

// Waterfall draws bars on one scale, with a line that says what is what. Steps
// that are too short to be seen are left out, and at the end of each bar stands
// how long it was. Labels are made safe.
func Waterfall(bars []Bar, width int) string {
	const timeWidth = 8 // of the number behind a bar
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

// draw draws b where longest takes all of the room, and notes which steps are to
// be seen.
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

// fill puts parts on lines of at most width columns, and breaks none of them.
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
