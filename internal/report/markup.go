package report

import (
	"fmt"
	"html"
	"strconv"
	"strings"

	"github.com/rdapq/rdapq/internal/render"
)

// A markup writes HTML. All text must pass through text, number or quoted.
type markup struct{ strings.Builder }

// tag writes markup, formatted like Sprintf. args must be numbers and class names.
func (m *markup) tag(format string, args ...any) { fmt.Fprintf(m, format, args...) }

// text writes text of the page itself.
func (m *markup) text(s string) { m.WriteString(html.EscapeString(s)) }

// number writes a number of the data with its path.
func (m *markup) number(path string, u unit, f float64) {
	m.tag(`<span data-v="%s">`, path)
	m.text(u.write(f))
	m.tag("</span>")
}

// quoted writes text of the data with its path, and escapes terminal controls.
func (m *markup) quoted(path, s string) {
	m.tag(`<span data-s="%s">`, path)
	m.text(render.Safe(s))
	m.tag("</span>")
}

// name is like quoted, but for the name of a mode, which may wrap after each "+".
func (m *markup) name(path, s string) {
	m.tag(`<span data-s="%s">`, path)
	for i, part := range strings.SplitAfter(render.Safe(s), "+") {
		if i > 0 {
			m.tag("<wbr>")
		}
		m.text(part)
	}
	m.tag("</span>")
}

// element writes an element with text of the page itself.
func (m *markup) element(tag, s string) {
	m.tag("<%s>", tag)
	m.text(s)
	m.tag("</%s>\n", tag)
}

// percent formats a share as an attribute.
func percent(part, whole float64) string {
	if whole <= 0 {
		return "0"
	}
	return strconv.FormatFloat(part/whole*100, 'f', 3, 64) + "%"
}
