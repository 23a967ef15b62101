package render

import "github.com/fatih/color"

// An style says what a piece of text means, and so how it is shown.
type style uint8

const (
	stylePlain style = iota
	styleBold        // what the answer is about
	styleLabel       // names of rows
	styleDim         // what explains the rest
	styleOK
	styleWarn
	styleError
	styleCount // how many there are
)

// A palette has a colour for each ink. It is made for one output, so that two
// of them can differ: the colour package's own switch is never touched.
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
