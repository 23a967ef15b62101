package report

import (
	"strconv"

	"github.com/rdapq/rdapq/internal/render"
)

// A unit says how a number is written.
type unit uint8

const (
	count    unit = iota // "1,234"
	millis               // "90 ms", "1.08 s"
	byteSize             // "12.3 kB"
	decimal              // "1.15"
	rate                 // "36.8"
)

// write writes a number as people read it.
func (u unit) write(f float64) string {
	switch u {
	case millis:
		return writeMillis(f)
	case byteSize:
		return render.ByteCount(int64(f))
	case decimal:
		return strconv.FormatFloat(f, 'f', 2, 64)
	case rate:
		switch {
		case f >= 1000:
			return render.Grouped(int64(f + .5))
		case f >= 100:
			return strconv.FormatFloat(f, 'f', 0, 64)
		}
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	if f == float64(int64(f)) {
		return render.Grouped(int64(f))
	}
	return strconv.FormatFloat(f, 'f', 1, 64) // the median of an even number
}

func writeMillis(ms float64) string {
	switch {
	case ms == 0:
		return "0 ms"
	case ms < 9.95:
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	case ms < 999.5:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	case ms < 59_995:
		return strconv.FormatFloat(ms/1000, 'f', 2, 64) + " s"
	}
	return render.Milliseconds(ms)
}
