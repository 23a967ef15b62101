package render

import (
	"bytes"
	"strings"

	"github.com/rdapq/rdapq/client"
)

// rawShape has the bodies as the servers sent them, decompressed and otherwise
// byte for byte, those of all pages of a search one after another. Where one
// follows another that does not end its last line, a line break comes between.
// A result without a body has nothing.
//
// If they are for a terminal, control characters become visible escapes, all but
// line breaks and tabs: see [visibleText].
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

// endLine ends the line that dst ends with, if there is one after start.
func endLine(dst []byte, start int) []byte {
	if len(dst) > start && dst[len(dst)-1] != '\n' {
		dst = append(dst, '\n')
	}
	return dst
}

// visibleText makes text of several lines safe for a terminal, its lines and
// indentation kept. A line may end with CR and LF; a CR by itself would let a
// line be overwritten, so it is shown.
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

// writeVisible writes a line, all of it [Safe] but the tabs.
func writeVisible(b *strings.Builder, line string) {
	for i, part := range strings.Split(line, "\t") {
		if i > 0 {
			b.WriteByte('\t')
		}
		b.WriteString(Safe(part))
	}
}
