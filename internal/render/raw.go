package render

import (
	"bytes"
	"strings"

	"github.com/rdapq/rdapq/client"
)

// rawShape returns the shape of raw output: the bodies as sent, decompressed and otherwise
// unchanged, including all pages of a search. It inserts a line break where a body does not end
// with one. A result without a body adds nothing.
//
// For a terminal, control characters except line breaks and tabs become visible escapes: see
// [visibleText].
func rawShape(o Options) shape {
	return shape{row: func(dst []byte, r *client.Result) []byte {
		start := len(dst)
		eachPage(r, func(page *client.Result) {
			dst = endLine(dst, start)
			if o.Visible {
				dst = append(dst, visibleText(page.Raw)...)
			} else {
				dst = append(dst, page.Raw...)
			}
		})
		if o.Many || o.Visible {
			dst = endLine(dst, start)
		}
		return dst
	}}
}

// endLine adds a line break to dst if there is data after start that does not end with a line
// break.
func endLine(dst []byte, start int) []byte {
	if len(dst) > start && dst[len(dst)-1] != '\n' {
		dst = append(dst, '\n')
	}
	return dst
}

// visibleText makes text of several lines safe for a terminal, and preserves lines and
// indentation. A line may end with CR LF. Any other CR is escaped, because it could overwrite a
// line.
func visibleText(raw []byte) string {
	var b strings.Builder
	b.Grow(len(raw))
	for line := range bytes.Lines(raw) {
		text, ended := bytes.CutSuffix(line, []byte("\n"))
		text = bytes.TrimSuffix(text, []byte("\r"))
		writeVisible(&b, string(text))
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// writeVisible writes a line in the form of [Safe], but with tabs.
func writeVisible(b *strings.Builder, line string) {
	for i, part := range strings.Split(line, "\t") {
		if i > 0 {
			b.WriteByte('\t')
		}
		b.WriteString(Safe(part))
	}
}
