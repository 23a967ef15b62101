package render

import (
	"strings"
	"unicode"

	"github.com/fatih/color"

	"github.com/rdapq/rdapq/internal/safetext"
)

// A span is a piece of text in one style. The page makes the text safe.
type span struct {
	text  string
	style style
}

// A line is one line of a page before wrapping.
type line []span

func text(s string) line { return line{{s, stylePlain}} }

func texts(list []string) []line {
	out := make([]line, len(list))
	for i, s := range list {
		out[i] = text(s)
	}
	return out
}

// and returns l with a further span.
func (l line) and(st style, s string) line { return append(l, span{s, st}) }

// note returns l with an explanation in parentheses.
func (l line) note(s string) line {
	if s == "" {
		return l
	}
	return append(l, span{" (" + s + ")", styleDim})
}

const (
	labelWidth  = 14 // number of columns before the values
	minValue    = 24 // minimum number of columns for values, on any terminal
	indentWidth = 2  // number of columns before continuation lines of one of several values
)

// A page lays out one result: a headline, then rows of a label and values. All text
// passes through Safe in emit, the only function that adds to the page.
type page struct {
	opt     TextOptions
	palette *palette
	buf     []byte
	pending bool // an empty line precedes the next row
	begun   bool
}

// blank adds an empty line before the next row, unless the page is empty.
func (p *page) blank() { p.pending = p.begun }

// headline writes l without a label, over the full width of the page.
func (p *page) headline(l line) {
	p.separate()
	p.emit("", 0, 0, l)
}

// row writes values next to a label, one per line. It writes nothing without values. With
// several values it indents continuation lines, so that these do not look like further values.
func (p *page) row(name string, values ...line) {
	indent := 0
	if len(values) > 1 {
		indent = indentWidth
	}
	for i, l := range values {
		p.separate()
		if i > 0 {
			name = ""
		}
		p.emit(name, labelWidth, indent, l)
	}
}

// value writes a row with one plain value. It writes nothing if the value is empty.
func (p *page) value(name, value string) {
	if value != "" {
		p.row(name, text(value))
	}
}

func (p *page) separate() {
	if p.pending {
		p.buf = append(p.buf, '\n')
	}
	p.pending, p.begun = false, true
}

// emit writes l, wrapped to the width of the page, with indent columns before
// continuation lines.
func (p *page) emit(name string, margin, indent int, l line) {
	width := 0
	if p.opt.Width > 0 {
		width = max(p.opt.Width-margin, minValue)
	}
	for i, part := range wrap(l, width, indent) {
		switch {
		case margin == 0:
		case i == 0 && name != "":
			name = Safe(name)
			p.buf = append(p.buf, p.palette.paint(styleLabel, name)...)
			p.pad(max(margin-columns(name), 1))
		default:
			p.pad(margin)
		}
		if i > 0 {
			p.pad(indent)
		}
		for _, s := range part {
			p.buf = append(p.buf, p.palette.paint(s.style, s.text)...)
		}
		p.buf = append(p.buf, '\n')
	}
}

func (p *page) pad(n int) {
	for range n {
		p.buf = append(p.buf, ' ')
	}
}

// wrap makes l safe and breaks it at spaces into lines of at most width columns, or not at all
// if width is 0. Continuation lines are narrower by indent. It does not break words longer than
// a line, so that people can copy URLs.
func wrap(l line, width, indent int) []line {
	var out []line
	var current line
	used, spaces := 0, 0
	for _, s := range l {
		for i, word := range strings.Split(Safe(s.text), " ") {
			if i > 0 {
				spaces++
			}
			if word == "" {
				continue
			}
			need := columns(word)
			if width > 0 && current != nil && spaces > 0 && used+spaces+need > width {
				out = append(out, current)
				current, used, spaces = nil, indent, 0
			}
			if spaces > 0 && current != nil {
				current = current.join(s.style, strings.Repeat(" ", spaces))
				used += spaces
			}
			spaces = 0
			current = current.join(s.style, word)
			used += need
		}
	}
	if current != nil {
		out = append(out, current)
	}
	return out
}

// join appends text, to the last span if the style is the same.
func (l line) join(st style, s string) line {
	if n := len(l); n > 0 && l[n-1].style == st {
		l[n-1].text += s
		return l
	}
	return append(l, span{s, st})
}

// columns returns the approximate width of s on a terminal.
func columns(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r < 0x300:
			n++
		case unicode.In(r, unicode.Mn, unicode.Me), safetext.IsSelector(r):
		case isWide(r):
			n += 2
		default:
			n++
		}
	}
	return n
}

// isWide reports whether r takes two columns on a terminal.
func isWide(r rune) bool {
	switch {
	case 0x1100 <= r && r <= 0x115f, // Hangul
		0x2e80 <= r && r <= 0xa4cf && r != 0x303f, // CJK, kana and Yi
		0xac00 <= r && r <= 0xd7a3,                // Hangul
		0xf900 <= r && r <= 0xfaff,                // CJK
		0xfe30 <= r && r <= 0xfe6f,                // CJK forms
		0xff00 <= r && r <= 0xff60,                // full width
		0xffe0 <= r && r <= 0xffe6,
		0x1f300 <= r && r <= 0x1f64f, // emoji
		0x1f900 <= r && r <= 0x1faff,
		0x20000 <= r && r <= 0x3fffd: // CJK
		return true
	}
	return false
}

// A style is the meaning of a piece of text, which determines its appearance.
type style uint8

const (
	stylePlain style = iota
	styleBold        // style of the object of the result
	styleLabel       // style of the labels of rows
	styleDim         // style of explanations
	styleOK
	styleWarn
	styleError
	styleCount // number of styles
)

// A palette has a colour for each style. Each output has its own palette, so that outputs can
// differ. The global switch of the color package stays untouched.
type palette [styleCount]*color.Color

func newPalette(on bool) *palette {
	p := &palette{
		stylePlain: color.New(),
		styleBold:  color.New(color.Bold),
		styleLabel: color.New(color.FgCyan),
		styleDim:   color.New(color.Faint),
		styleOK:    color.New(color.FgGreen),
		styleWarn:  color.New(color.FgYellow),
		styleError: color.New(color.FgRed),
	}
	for _, c := range p {
		if on {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
	}
	return p
}

func (p *palette) paint(i style, text string) string {
	if i == stylePlain {
		return text
	}
	return p[i].Sprint(text)
}
