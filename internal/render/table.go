package render

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/rdapq/rdapq/client"
)

// tableFields are the columns of a table if none are asked for, and if they fit.
var tableFields = [...]string{"query", "verdict", "expires", "registrar", "server"}

// columnWidths are those of fields whose values have about one length; others
// share what is left.
var columnWidths = map[string]int{
	"line": 8, "type": 10, "verdict": 12, "status": 6, "source": 10, "attempts": 8, "ms": 9, "time": 24,
	"created": 10, "updated": 10, "expires": 10, "dnssec": 8, "country": 7, "registrar_id": 12,
	"conn.id": 7, "conn.reused": 11, "conn.protocol": 13, "conn.tls": 8, "conn.resumed": 12, "conn.early_data": 15,
	"error.code": 13,
}

const (
	minColumn    = 8
	usefulColumn = 16
	usualColumn  = 30
	columnGap    = 2
)

// tableShape has a line a result, in columns of fixed width so that lines can be
// written as they come. On a terminal, whose width is in Text.Width, cells are
// cut to fit; elsewhere a long cell pushes the others to the right, and nothing
// is lost.
func tableShape(o Options) (shape, error) {
	names := o.Fields
	if names == nil {
		names = usualFields(o.Text.Width)
	}
	fields, err := lookUp(names)
	if err != nil {
		return shape{}, err
	}
	zone := cmp.Or(o.Text.Zone, time.UTC)
	colours := newPalette(o.Text.Color)
	widths := fitColumns(names, o.Text.Width)
	cut := o.Text.Width > 0
	var header []byte
	for i, name := range names {
		header = appendColumn(header, Safe(name), strong, colours, widths[i], cut, i == len(names)-1)
	}
	return shape{header: string(append(header, '\n')), row: func(dst []byte, r *client.Result) []byte {
		v := view{r: r}
		for i, f := range fields {
			text := tableCell(f.name, f.value(&v), zone)
			dst = appendColumn(dst, text, inkOf(f.name, r.Verdict), colours, widths[i], cut, i == len(fields)-1)
		}
		return append(dst, '\n')
	}}, nil
}

// usualFields are those of tableFields that a terminal of that width has room for:
// a name that is cut to a few letters is of no use.
func usualFields(width int) []string {
	n := len(tableFields)
	for width > 0 && n > 2 && fitColumns(tableFields[:n], width)[0] < usefulColumn {
		n--
	}
	return tableFields[:n]
}

// tableCell makes a value short where that loses little.
func tableCell(name string, v value, zone *time.Location) string {
	text := v.str
	switch {
	case text != "":
	case len(v.json) > 0:
		text = string(v.json)
	case len(v.list) > 0:
		text = strings.Join(v.list, ", ")
	}
	switch strings.TrimPrefix(name, "summary.") {
	case "created", "updated", "expires": // to the day, as in a text
		if t, dateOnly, ok := client.ParseDate(text); ok {
			text = momentIn(client.Event{Time: t, DateOnly: dateOnly}, zone).Format(time.DateOnly)
		}
	case "server":
		text = strings.TrimSuffix(strings.TrimPrefix(text, "https://"), "/")
	}
	return Safe(flat(text))
}

func inkOf(name string, v client.Verdict) ink {
	switch {
	case name != "verdict":
		return plain
	case v == client.Registered || v == client.Found:
		return good
	case v == client.NotFound:
		return wary
	}
	return bad
}

// fitColumns returns the widths of columns. Those without a usual width share
// what a terminal of that width has left.
func fitColumns(names []string, width int) []int {
	widths := make([]int, len(names))
	left, sharing := width-columnGap*(len(names)-1), 0
	for i, name := range names {
		w, fixed := columnWidths[strings.TrimPrefix(name, "summary.")]
		if !fixed {
			w = usualColumn
			sharing++
		} else {
			left -= w
		}
		widths[i] = max(w, min(columns(Safe(name)), usualColumn))
	}
	if width <= 0 || sharing == 0 {
		return widths
	}
	share := max(left/sharing, minColumn)
	for i, name := range names {
		if _, fixed := columnWidths[strings.TrimPrefix(name, "summary.")]; !fixed {
			widths[i] = share
		}
	}
	// What does not divide evenly goes to the first of them.
	if spare := left - share*sharing; spare > 0 {
		i := slices.IndexFunc(names, func(name string) bool { _, fixed := columnWidths[strings.TrimPrefix(name, "summary.")]; return !fixed })
		widths[i] += spare
	}
	return widths
}

// appendColumn appends a cell and the space up to the next one.
func appendColumn(dst []byte, text string, i ink, colours *palette, width int, cut, last bool) []byte {
	used := columns(text)
	if cut && used > width {
		text = shorten(text, width)
		used = columns(text)
	}
	if text != "" {
		dst = append(dst, colours.paint(i, text)...)
	}
	if last {
		return dst
	}
	for range max(width-used, 0) + columnGap {
		dst = append(dst, ' ')
	}
	return dst
}

// shorten cuts s to a width and shows that it did.
func shorten(s string, width int) string {
	used := 0
	for i, r := range s {
		w := columns(string(r))
		if used+w > width-1 {
			return s[:i] + "…"
		}
		used += w
	}
	return s
}
