package render

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/safetext"
	"github.com/rdapq/rdapq/rdap"
)

// AppendJSON appends what the server sent for r, as [rdap.Compact] gives it
// and indented if pretty, without line break at the end. Without a JSON body
// it is an object that says why, in the shape of an NDJSON row:
// {"rdapq":{"query":…,"verdict":…,"error":{…}}}.
//
// What a terminal would obey is a \u escape in strings, and if pretty, so is
// all else that [Safe] escapes.
func AppendJSON(dst []byte, r *client.Result, pretty bool) []byte {
	start := len(dst)
	out, _, err := appendCompact(dst, r)
	if err != nil || len(r.Raw) == 0 {
		out = append(out[:start], `{"rdapq":`...)
		bare := *r
		bare.Raw = nil
		out = AppendRow(out, &bare)
		out = append(bytes.TrimSuffix(out, []byte("\n")), '}')
	}
	if !pretty {
		return out
	}
	// AppendFormat must not read what it writes to.
	indented, err := jsontext.AppendFormat(nil, out[start:],
		jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true),
		jsontext.PreserveRawStrings(true),
		jsontext.Multiline(true),
		jsontext.SpaceAfterColon(true),
		jsontext.WithIndent("  "))
	if err != nil {
		return out
	}
	return appendVisible(out[:start], indented)
}

// VisibleJSON returns JSON with the characters that [Safe] would escape as \u
// escapes, which mean the same.
func VisibleJSON(text []byte) []byte { return appendVisible(nil, text) }

// appendVisible appends JSON with the characters that Safe would escape as \u
// escapes. In valid JSON such characters, all beyond ASCII, stand in strings
// only, and never after a backslash.
func appendVisible(dst, src []byte) []byte {
	start := 0
	for i := 0; i < len(src); {
		if src[i] < 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRune(src[i:])
		if unsafeAt(src, i, r) {
			dst = append(dst, src[start:i]...)
			dst = appendEscape(dst, r)
			start = i + n
		}
		i += n
	}
	return append(dst, src[start:]...)
}

// unsafeAt reports whether Safe would escape r, which is at i of text.
func unsafeAt(text []byte, i int, r rune) bool {
	if !safetext.IsSelector(r) {
		return safetext.Unsafe(r)
	}
	before, _ := utf8.DecodeLastRune(text[:i])
	return safetext.UnsafeAfter(r, before)
}

// jsonShape is the one object of a single query, or a list of the objects of
// many. A list of nothing is empty and not absent. Each page of a search is an
// object of its own, as the server sent it.
func jsonShape(o Options) shape {
	var s shape
	if o.Many {
		s.first, s.between, s.last, s.none = "[\n", ",\n", "\n]\n", "[]\n"
	} else {
		s.between, s.last = "\n", "\n"
	}
	s.row = func(dst []byte, r *client.Result) []byte {
		start := len(dst)
		eachPage(r, func(page *client.Result) {
			if len(dst) > start {
				dst = append(dst, s.between...)
			}
			dst = AppendJSON(dst, page, o.Pretty)
		})
		return dst
	}
	return s
}

// appendCompact appends the body of r as one line: see [rdap.Compact].
func appendCompact(dst []byte, r *client.Result) (out []byte, warnings []string, err error) {
	if resp, err := r.Response(); err == nil {
		return resp.AppendCompact(dst)
	}
	return rdap.Compact(dst, r.Raw)
}
