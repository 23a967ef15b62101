package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// objects yields the queries of an NDJSON input.
func (r *Reader) objects(yield func(Record, error) bool) {
	for n := int64(1); ; n++ {
		line, err := r.in.ReadSlice('\n')
		blank := len(bytes.TrimSpace(line)) == 0
		var rec Record
		var bad error
		if !errors.Is(err, bufio.ErrBufferFull) && !blank {
			if rec, bad = r.object(line); bad != nil {
				rec.Text = excerpt(line)
			}
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			if bad == nil {
				rec.Text, bad = excerpt(line), recordError("record is longer than %d bytes", maxRecord)
			}
			line, err = r.in.ReadSlice('\n')
			blank = blank && len(bytes.TrimSpace(line)) == 0
		}
		if err != nil && err != io.EOF {
			r.fail(n, err, yield)
			return
		}
		rec.Line = n
		if !blank && !yield(rec, bad) {
			return
		}
		if err == io.EOF {
			return
		}
	}
}

// object parses one line. The query is the first of r.fields that is present; all other
// members are extra.
func (r *Reader) object(line []byte) (Record, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(bytes.TrimRight(line, "\r\n")), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.PeekKind() != '{' {
		return Record{}, recordError("not a JSON object")
	}
	if _, err := d.ReadToken(); err != nil {
		return Record{}, syntaxError(err)
	}
	type member struct{ name, value string }
	var members []member
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return Record{}, syntaxError(err)
		}
		m := member{name: name.String()}
		value, err := d.ReadValue()
		if err != nil {
			return Record{}, syntaxError(err)
		}
		m.value = string(value)
		members = append(members, m)
	}
	if _, err := d.ReadToken(); err != nil {
		return Record{}, syntaxError(err)
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return Record{}, recordError("extra data after the JSON object")
	}
	at := -1
	for _, field := range r.fields {
		if at = slices.IndexFunc(members, func(m member) bool { return m.name == field }); at >= 0 {
			break
		}
	}
	if at < 0 {
		return Record{}, recordError("the object has no member %s", orList(r.fields))
	}
	text, err := scalar(members[at].value)
	if err != nil {
		return Record{}, recordError("member %q: expected a string, found %s", members[at].name, err)
	}
	rec := Record{Text: text}
	if len(members) == 1 || r.queriesOnly {
		return rec, nil
	}
	rec.Extra = append(rec.Extra, '{')
	for i, m := range members {
		if i == at {
			continue
		}
		rec.Extra = appendMember(rec.Extra, m.name, m.value)
	}
	rec.Extra = append(rec.Extra, '}')
	return rec, nil
}

// scalar returns a JSON string or number as text.
func scalar(value string) (string, error) {
	switch jsontext.Value(value).Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil && !utf8.ValidString(value) {
			err = nil // client.Parse will reject the number as a query
		}
		return strings.TrimSpace(string(text)), err
	case '0':
		return value, nil
	case '{':
		return "", errors.New("an object")
	case '[':
		return "", errors.New("an array")
	}
	return "", errors.New(value)
}

// appendMember appends a member with a JSON value to an unfinished object, on one line.
func appendMember(dst []byte, name, value string) []byte {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	dst = appendString(dst, name)
	dst = append(dst, ':')
	out, err := jsontext.AppendFormat(dst, value,
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	if err != nil { // cannot happen, because the same value was read before
		return append(dst, "null"...)
	}
	return out
}

// appendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, strings.ToValidUTF8(s, "\ufffd")) // fails only for invalid UTF-8
	return dst
}

func syntaxError(err error) error {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) && syntax.Err != nil {
		err = syntax.Err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return recordError("truncated JSON")
	}
	return recordError("invalid JSON: %v", err)
}

// orList formats a list such as "a", "b" or "c".
func orList(names []string) string {
	var b strings.Builder
	for i, name := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", name)
	}
	return b.String()
}
