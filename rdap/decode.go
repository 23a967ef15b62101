package rdap

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
	"unsafe"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxNesting is how deep arrays and objects of an answer may stand in each
// other. Honest answers stay under 20.
const maxNesting = 100

// lenient is what is allowed of an answer's JSON.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// isValid reports whether raw is one JSON document.
func isValid(raw []byte) bool { return jsontext.Value(raw).IsValid(lenient) }

// firstValue returns the JSON document that raw begins with, and whether
// something follows it.
func firstValue(raw []byte) (value []byte, followed bool, err error) {
	if isValid(raw) {
		return raw, false, nil
	}
	dec := newDecoder(raw)
	if value, err = dec.ReadValue(); err != nil {
		return nil, false, firstSyntaxError(raw)
	}
	_, end := dec.ReadToken()
	return value, !errors.Is(end, io.EOF), nil
}

func newDecoder(raw []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// firstSyntaxError returns the error at the first token of raw that is out of place.
func firstSyntaxError(raw []byte) error {
	dec := newDecoder(raw)
	for {
		if _, err := dec.ReadToken(); err != nil {
			return err
		}
	}
}

// A reader walks one JSON document from front to back, which is known to be
// valid. An error sticks: after it every method does nothing, so that the walk
// needs no check at each step and every loop ends, whatever the document.
type reader struct {
	source
	pos         int             // where the token read last ends
	summaryOnly bool            // read only what a Summary needs
	dnssec      SecureDNS       // if brief, what Record.SecureDNS points to
	types       []string        // if brief, memory for the types of a number
	cardStart   int             // where the card begins that is read
	languages   *languagePicker // nil: cards are read whatever their language
	base        string          // path of the document's root, for documents within documents
	locator     locator
	problems    []Problem
	// spellings are names of members that were read in spite of their case.
	spellings []string
	searched  int  // of maxTwinSearch
	used      int  // of maxRoom
	exhausted bool // and that has been told

	truncations []Truncation

	err error
}

// A source is a document that a reader walks.
type source struct {
	raw  []byte // the document
	text string // the same; every string of the result is cut from it
	utf8 bool   // it is valid UTF-8
}

// newReader reads raw, which is valid and must not change until the walk is
// over. The document stands at base.
func newReader(raw []byte, base string) *reader {
	r := &reader{base: base}
	r.open(raw)
	return r
}

// borrow points a new reader at a document without a copy of it. What the reader
// returns must be copied before somebody else may change the document. The copy took
// 2% of the CPU time of a batch.
func (r *reader) borrow(raw []byte) {
	r.source = source{raw, unsafe.String(unsafe.SliceData(raw), len(raw)), utf8.Valid(raw)}
}

// open points a new reader at a document.
func (r *reader) open(raw []byte) { r.source = source{raw, string(raw), utf8.Valid(raw)} }

var errBroken = errors.New("invalid JSON")

// peek returns the kind of the next value or closing bracket, 0 after an error.
func (r *reader) peek() jsontext.Kind {
	if r.err != nil {
		return 0
	}
	for ; r.pos < len(r.raw); r.pos++ {
		if k := kindOf[r.raw[r.pos]]; k > separator {
			return k
		} else if k != separator {
			break
		}
	}
	r.err = errBroken
	return 0
}

// token reads one bracket.
func (r *reader) token() {
	if r.peek() != 0 {
		r.pos++
	}
}

// value reads the next value and returns its JSON text.
func (r *reader) value() string {
	start := r.skip()
	return r.text[start:r.pos]
}

// skip passes over the next value and returns where it begins.
func (r *reader) skip() (start int) {
	switch r.peek() {
	case jsontext.KindString:
		start = r.pos
		r.pos = stringEnd(r.raw, start)
		return start
	case 0:
		return r.pos
	case jsontext.KindEndObject, jsontext.KindEndArray:
		r.err = errBroken
		return r.pos
	}
	start = r.pos
	r.pos = valueEnd(r.raw, start)
	return start
}

// next reports whether the array or object being read has one more item, and
// leaves it when it has none.
func (r *reader) next() bool {
	switch r.peek() {
	case 0:
		return false
	case jsontext.KindEndObject, jsontext.KindEndArray:
		r.pos++
		return false
	}
	return true
}

// skipInvalid skips the next value, which is of the wrong kind, and records that. Many
// servers send null for an absent value, so null is not recorded.
func (r *reader) skipInvalid(want string) {
	k := r.peek()
	r.skip()
	if k != jsontext.KindNull {
		r.discard(expected(want, k))
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

// unquoted returns what a JSON string says. Bytes that are not UTF-8 become
// U+FFFD.
func unquoted(quoted []byte) string {
	if len(quoted) > 1 && bytes.IndexByte(quoted, '\\') < 0 && utf8.Valid(quoted) {
		return string(quoted[1 : len(quoted)-1])
	}
	b, _ := jsontext.AppendUnquote(nil, quoted) // its only error here: such bytes
	return string(b)
}

// enterObject steps into the object that comes next. Anything else is passed
// over.
func (r *reader) enterObject() bool {
	if r.peek() == jsontext.KindBeginObject {
		r.pos++
		return true
	}
	r.skipInvalid("an object")
	return false
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
			i = stringEnd(raw, i) - 1
		}
	}
	return false
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
