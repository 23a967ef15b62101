package report

import "math"

// An axis goes from 0 to the greatest value there is, and no further.
type axis struct {
	end   float64
	ticks []float64
}

// maxTicks is how many ticks have room on a phone, that of 0 included.
const maxTicks = 5

// newAxis returns the axis for values up to end, with ticks at round values.
func newAxis(end float64) axis {
	a := axis{end: end, ticks: []float64{0}}
	if end <= 0 {
		a.end = 1
		return a
	}
	step := math.Pow(10, math.Floor(math.Log10(end))-1)
	for k := 0; end/step >= maxTicks; k++ {
		step *= [...]float64{2, 2.5, 2}[k%3] // 1, 2, 5, 10
	}
	for t := step; t <= end; t += step {
		a.ticks = append(a.ticks, t)
	}
	return a
}

// anchor says how the text at a place has to stand for it not to be cut.
func (a axis) anchor(t float64) string {
	switch share := t / a.end; {
	case share < .06:
		return "start"
	case share > .94:
		return "end"
	}
	return "middle"
}
