package render

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/safetext"
	"github.com/rdapq/rdapq/rdap"
)

// AppendJSON appends the response of r as [rdap.Compact] returns it, indented if pretty,
// without a final line break. Without a JSON body it appends an object with the reason, in the
// form of an NDJSON row: {"rdapq":{"query":…,"verdict":…,"error":{…}}}.
//
// In strings, characters that control a terminal become \u escapes. If pretty is set, all
// characters that [Safe] escapes do.
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
	// The source of AppendFormat must not overlap its destination.
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

// VisibleJSON returns JSON with the characters that [Safe] escapes as equivalent \u
// escapes.
func VisibleJSON(text []byte) []byte { return appendVisible(nil, text) }

// appendVisible appends JSON with the characters that Safe escapes as \u escapes. In valid JSON
// these characters, all beyond ASCII, occur only in strings and never after a backslash.
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

// unsafeAt reports whether Safe escapes r, at offset i of text.
func unsafeAt(text []byte, i int, r rune) bool {
	if !safetext.IsSelector(r) {
		return safetext.Unsafe(r)
	}
	before, _ := utf8.DecodeLastRune(text[:i])
	return safetext.UnsafeAfter(r, before)
}

// jsonShape returns the shape of JSON: the object of a single query, or an array of the objects
// of several queries. Without results, the array is empty, not absent. Each page of a search is
// a separate object, as sent.
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
