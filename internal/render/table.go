package render

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/rdap"
)

// tableFields maps the types of the queries to the default columns of a table. The columns of
// the empty type apply to all types.
var tableFields = map[client.Type][]string{
	"":                    {"query", "verdict", columnExtent, columnParty, "server"},
	client.TypeDomain:     {"query", "verdict", "expires", "registrar", "server"},
	client.TypeIP:         {"query", "verdict", columnRange, "name", "holder", "country", "server"},
	client.TypeAutnum:     {"query", "verdict", columnRange, "name", "holder", "country", "server"},
	client.TypeEntity:     {"query", "verdict", "name", "handle", "abuse_email", "server"},
	client.TypeNameserver: {"query", "verdict", columnAddresses, "registrar", "server"},
}

// searchFields lists the columns for searches.
var searchFields = []string{"query", "verdict", columnResults, "server"}

// Columns that are not fields of a row.
const (
	columnRange     = "range"
	columnAddresses = "addresses"
	columnExtent    = "expires or range"
	columnParty     = "registrar or holder"
	columnResults   = "results"
)

var columnFields = map[string]func(v *view) value{
	columnRange:     func(v *view) value { return value{str: rangeText(v.gist())} },
	columnAddresses: func(v *view) value { return value{list: addressesOf(v.r)} },
	columnResults:   func(v *view) value { return value{str: searchCount(v.r)} },
	columnExtent: func(v *view) value {
		s := v.gist()
		switch v.r.Query.Type {
		case client.TypeNameserver:
			return value{list: addressesOf(v.r)}
		case client.TypeEntity:
			return value{str: s.Handle}
		}
		if found := searchCount(v.r); found != "" {
			return value{str: found}
		}
		return value{str: firstOf(s.Expires, rangeText(s))}
	},
	columnParty: func(v *view) value {
		s := v.gist()
		if v.r.Query.Type == client.TypeEntity {
			return value{str: firstOf(s.Name, s.Registrar)}
		}
		return value{str: firstOf(s.Registrar, s.Holder)}
	},
}

// rangeText returns the range of addresses or AS numbers of a response.
func rangeText(s *rdap.Summary) string {
	switch {
	case len(s.CIDRs) == 1:
		return s.CIDRs[0]
	case s.Start == "" && s.End == "":
		return strings.Join(s.CIDRs, ", ")
	}
	first, last := s.Start, s.End
	if !strings.ContainsAny(first+last, ".:") {
		first, last = asText(first), asText(last)
	}
	return between(first, last)
}

func asText(number string) string {
	if number == "" {
		return ""
	}
	return "AS" + number
}

func addressesOf(r *client.Result) []string {
	if !isObject(r.Raw) {
		return nil
	}
	rec, err := r.Record()
	if err != nil {
		return nil
	}
	return slices.Concat(rec.V4, rec.V6)
}

// columnsOf returns the columns of a table for queries of these types.
func columnsOf(types []client.Type) []string {
	names := tableFields[""]
	for i, t := range types {
		if i > 0 && t != types[0] {
			return tableFields[""]
		}
		switch own, ok := tableFields[t]; {
		case ok:
			names = own
		case t.IsSearch():
			names = searchFields
		case t == client.TypeHelp:
			names = tableFields[client.TypeDomain]
		}
	}
	return names
}

// columnWidths has the widths of fields with values of similar length; other fields
// share the remaining width.
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

// tableShape returns the shape of a table: one line per result. The columns have a fixed width,
// so that each result can be written immediately. On a terminal, with Text.Width, cells are cut
// to fit. Elsewhere a long cell shifts the following cells, so that no text is lost.
func tableShape(o Options) (shape, error) {
	names := o.Fields
	if names == nil {
		names = usualFields(columnsOf(o.Types), o.Text.Width)
	}
	fields := make([]field, len(names))
	for i, name := range names {
		if f, ok := columnFields[name]; ok && o.Fields == nil {
			fields[i] = field{name: name, value: f}
			continue
		}
		found, err := lookUp(names[i : i+1])
		if err != nil {
			return shape{}, err
		}
		fields[i] = found[0]
	}
	zone := cmp.Or(o.Text.Zone, time.UTC)
	colours := newPalette(o.Text.Color)
	widths := fitColumns(names, o.Text.Width)
	cut := o.Text.Width > 0
	var header []byte
	for i, name := range names {
		header = appendColumn(header, Safe(name), styleBold, colours, widths[i], cut, i == len(names)-1)
	}
	return shape{header: string(append(header, '\n')), row: func(dst []byte, r *client.Result) []byte {
		v := view{r: r}
		for i, f := range fields {
			text, colour := tableCell(f.name, f.value(&v), zone), inkOf(f.name, r.Verdict)
			if r.Other != "" && (f.name == "query" || f.name == "verdict") {
				text, colour = markOther(f.name, text, r.Other), styleWarn
			}
			if r.IsNotFoundWithoutRDAP() && f.name == "verdict" {
				text += " (without RDAP)"
			}
			if r.Desync && f.name == "verdict" {
				text, colour = text+" (desync)", styleWarn
			}
			dst = appendColumn(dst, text, colour, colours, widths[i], cut, i == len(fields)-1)
		}
		return append(dst, '\n')
	}}, nil
}

// usualFields returns the names that fit on a terminal of the given width, because a column of
// a few letters is useless.
func usualFields(names []string, width int) []string {
	n := len(names)
	for width > 0 && n > 2 && fitColumns(names[:n], width)[0] < usefulColumn {
		n--
	}
	return names[:n]
}

// tableCell shortens a value if the loss is small.
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
	case "created", "updated", "expires", columnExtent: // show only the day, as in text
		if t, dateOnly, ok := rdap.ParseDate(text); ok {
			text = momentIn(rdap.Event{Time: t, DateOnly: dateOnly}, zone).Format(time.DateOnly)
		}
	case "server":
		text = strings.TrimSuffix(strings.TrimPrefix(text, "https://"), "/")
	}
	return Safe(flat(text))
}

// markOther marks the cells of a response about another object. The mark is visible even if the
// cell is cut.
func markOther(field, text, other string) string {
	if field == "verdict" {
		return text + " !"
	}
	return text + " → " + Safe(flat(other))
}

func inkOf(name string, v client.Verdict) style {
	switch {
	case name != "verdict":
		return stylePlain
	case v == client.VerdictRegistered || v == client.VerdictFound:
		return styleOK
	case v == client.VerdictNotFound:
		return styleWarn
	}
	return styleError
}

// fitColumns returns the widths of columns. Columns without a usual width share the
// remaining width of the terminal.
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
	// The first of these columns gets the remainder.
	if spare := left - share*sharing; spare > 0 {
		i := slices.IndexFunc(names, func(name string) bool { _, fixed := columnWidths[strings.TrimPrefix(name, "summary.")]; return !fixed })
		widths[i] += spare
	}
	return widths
}

// appendColumn appends a cell and the space before the next one.
func appendColumn(dst []byte, text string, i style, colours *palette, width int, cut, last bool) []byte {
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

// shorten cuts s to a width and marks the place of the cut.
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
