package client

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxNesting is how deep arrays and objects of an answer may stand in each
// other. Honest answers stay under 20.
const maxNesting = 100

// A reader walks one JSON document from front to back. A syntax error sticks:
// after it every method does nothing, so that the walk needs no check at each
// step and every loop ends.
type reader struct {
	dec      *jsontext.Decoder
	text     string // the document; every string of the result is cut from it
	utf8     bool   // the document is valid UTF-8
	brief    bool   // read only what a Summary needs
	base     string // path of the document's root, for documents within documents
	problems []Problem
	err      error
}

// newReader reads raw, which must not change until the walk is over.
func newReader(raw []byte, brief bool) *reader {
	r := &reader{text: string(raw), brief: brief}
	r.utf8 = utf8.ValidString(r.text)
	r.dec = jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return r
}

// restart points the reader at another document, which keeps its buffers. The
// problems found so far stay.
func (r *reader) restart(text, base string) {
	r.text, r.base, r.err = text, base, nil
	r.utf8 = utf8.ValidString(text)
	r.dec.Reset(bytes.NewBufferString(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// peek returns the kind of the next value or closing bracket, 0 after an error.
func (r *reader) peek() jsontext.Kind {
	if r.err != nil {
		return 0
	}
	return r.dec.PeekKind()
}

// token reads one bracket.
func (r *reader) token() {
	if r.err == nil {
		_, r.err = r.dec.ReadToken()
	}
}

// value reads the next value and returns its JSON text.
func (r *reader) value() string {
	if r.err != nil {
		return ""
	}
	v, err := r.dec.ReadValue()
	if err != nil {
		r.err = err
		return ""
	}
	end := int(r.dec.InputOffset())
	return r.text[end-len(v) : end]
}

// next reports whether the array or object being read has one more item, and
// leaves it when it has none.
func (r *reader) next() bool {
	switch r.peek() {
	case jsontext.KindEndObject, jsontext.KindEndArray, jsontext.KindInvalid:
		r.token() // the bracket, or the error that peek saw
		return false
	}
	return r.err == nil
}

// skip passes over the next value.
func (r *reader) skip() {
	if r.err == nil {
		_, r.err = r.dec.ReadValue()
	}
}

// drop passes over the next value, which is of the wrong kind, and says so.
// null is how many servers say that they have nothing to say.
func (r *reader) drop(due string) {
	k := r.peek()
	r.skip()
	if k != jsontext.KindNull {
		r.lost(kindName(k) + " where " + due + " is due")
	}
}

// name reads a member name.
func (r *reader) name() string { return r.unquote(r.value()) }

// unquote returns what a JSON string says. It shares memory with the document
// where it can.
func (r *reader) unquote(quoted string) string {
	if len(quoted) < 2 {
		return ""
	}
	inner := quoted[1 : len(quoted)-1]
	if strings.IndexByte(inner, '\\') < 0 && (r.utf8 || utf8.ValidString(inner)) {
		return inner
	}
	b, _ := jsontext.AppendUnquote(nil, quoted) // its only error here: bytes that became U+FFFD
	return string(b)
}

// enterObject steps into the object that comes next. Anything else is passed
// over.
func (r *reader) enterObject() bool {
	if r.peek() == jsontext.KindBeginObject {
		r.token()
		return r.err == nil
	}
	r.drop("an object")
	return false
}

// finish returns what stopped the walk, if anything did, and looks at what
// follows the document.
func (r *reader) finish() error {
	if r.err != nil {
		return r.err
	}
	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		if len(r.problems) < maxProblems {
			r.problems = append(r.problems, Problem{Message: "something follows the JSON object"})
		}
	}
	return nil
}

var byteOrderMark = []byte("\xef\xbb\xbf")

func trimBOM(raw []byte) []byte { return bytes.TrimPrefix(raw, byteOrderMark) }

// tooDeep reports whether brackets nest deeper than maxNesting. On broken JSON
// the answer may be wrong; the decoder finds that out.
func tooDeep(raw []byte) bool {
	if bytes.Count(raw, []byte{'['})+bytes.Count(raw, []byte{'{'}) <= maxNesting {
		return false
	}
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '[', '{':
			if depth++; depth > maxNesting {
				return true
			}
		case ']', '}':
			depth--
		case '"':
			i = stringEnd(raw, i+1)
		}
	}
	return false
}

// stringEnd returns the index of the quotation mark that ends the string whose
// inside begins at i, or len(raw).
func stringEnd(raw []byte, i int) int {
	for i < len(raw) {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return len(raw)
		}
		end := i + n
		slashes := 0
		for j := end - 1; j >= i && raw[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return end
		}
		i = end + 1
	}
	return len(raw)
}
