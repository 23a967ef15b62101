package report

import (
	"fmt"
	"html"
	"strconv"
	"strings"

	"github.com/rdapq/rdapq/internal/render"
)

// markup writes HTML. All text passes through text, number or quoted, which are
// the only ways for it onto the page.
type markup struct{ strings.Builder }

// tag writes markup as it is; args, which are numbers and names of classes, are
// put in as Sprintf does.
func (m *markup) tag(format string, args ...any) { fmt.Fprintf(m, format, args...) }

// text writes words of the page's own.
func (m *markup) text(s string) { m.WriteString(html.EscapeString(s)) }

// number writes a number, and where in the data it stands.
func (m *markup) number(path string, u unit, f float64) {
	m.tag(`<span data-v="%s">`, path)
	m.text(u.write(f))
	m.tag("</span>")
}

// quoted writes text of the data, and where it stands there. What a terminal
// would obey is visible here, too.
func (m *markup) quoted(path, s string) {
	m.tag(`<span data-s="%s">`, path)
	m.text(render.Safe(s))
	m.tag("</span>")
}

// name is quoted for a mode, which may be broken behind each "+".
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

// element writes an element with text of the page's own.
func (m *markup) element(tag, s string) {
	m.tag("<%s>", tag)
	m.text(s)
	m.tag("</%s>\n", tag)
}

// percent writes a share for an attribute.
func percent(part, whole float64) string {
	if whole <= 0 {
		return "0"
	}
	return strconv.FormatFloat(part/whole*100, 'f', 3, 64) + "%"
}
