package render

import (
	"bytes"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rdapq/rdapq/client"
)

// AppendJSON appends what the server sent for r, as [client.Compact] gives it
// and indented if pretty, without line break at the end. Without a JSON body
// it is an object that says why, in the shape of an NDJSON row:
// {"rdapq":{"query":…,"verdict":…,"error":{…}}}.
//
// What a terminal would obey is a \u escape in strings, and if pretty, so is
// all else that [Safe] escapes.
func AppendJSON(dst []byte, r *client.Result, pretty bool) []byte {
	start := len(dst)
	out, _, err := r.Compact(dst)
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
		if isUnsafe(r) {
			dst = append(dst, src[start:i]...)
			dst = appendEscape(dst, r)
			start = i + n
		}
		i += n
	}
	return append(dst, src[start:]...)
}

// jsonEncoder writes the one object of a single query, or a list of the objects
// of many.
type jsonEncoder struct {
	w      io.Writer
	many   bool
	pretty bool
	buf    []byte
	begun  bool
	err    error
}

func (e *jsonEncoder) Encode(r *client.Result) error {
	if e.err != nil {
		return e.err
	}
	switch {
	case e.many && e.begun:
		e.buf = append(e.buf, ",\n"...)
	case e.many:
		e.buf = append(e.buf, "[\n"...)
	}
	e.begun = true
	e.buf = AppendJSON(e.buf, r, e.pretty)
	if !e.many {
		e.buf = append(e.buf, '\n')
	}
	if len(e.buf) >= blockSize {
		return e.Flush()
	}
	return nil
}

func (e *jsonEncoder) Flush() error {
	if e.err == nil && len(e.buf) > 0 {
		_, e.err = e.w.Write(e.buf)
		e.buf = e.buf[:0]
	}
	return e.err
}

// Close ends the list. A list of nothing is empty and not absent.
func (e *jsonEncoder) Close() error {
	if e.many {
		if !e.begun {
			e.buf = append(e.buf, '[')
		} else {
			e.buf = append(e.buf, '\n')
		}
		e.buf = append(e.buf, "]\n"...)
		e.many = false // closing twice ends it once
	}
	return e.Flush()
}
