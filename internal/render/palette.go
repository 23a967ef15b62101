package render

import "github.com/fatih/color"

// An ink says what a piece of text means, and so how it is shown.
type ink uint8

const (
	plain  ink = iota
	strong     // what the answer is about
	label      // names of rows
	faint      // what explains the rest
	good
	wary
	bad
	inks // how many there are
)

// A palette has a colour for each ink. It is made for one output, so that two
// of them can differ: the colour package's own switch is never touched.
type palette [inks]*color.Color

func newPalette(on bool) *palette {
	p := &palette{
		plain:  color.New(),
		strong: color.New(color.Bold),
		label:  color.New(color.FgCyan),
		faint:  color.New(color.Faint),
		good:   color.New(color.FgGreen),
		wary:   color.New(color.FgYellow),
		bad:    color.New(color.FgRed),
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

func (p *palette) paint(i ink, text string) string {
	if i == plain {
		return text
	}
	return p[i].Sprint(text)
}
