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

	"github.com/rdapq/rdapq/rdap/internal/jsonscan"
)

// lenient holds the deviations from JSON that responses may have.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// isValid reports whether raw is one JSON document.
func isValid(raw []byte) bool { return jsontext.Value(raw).IsValid(lenient) }

// firstValue returns the first JSON document in raw, and whether data follows it.
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

// firstSyntaxError returns the error at the first invalid token of raw.
func firstSyntaxError(raw []byte) error {
	dec := newDecoder(raw)
	for {
		if _, err := dec.ReadToken(); err != nil {
			return err
		}
	}
}

// A reader walks a valid JSON document from front to back. Errors are sticky: after the
// first one every method is a no-op, so a walk needs no check at each step and every
// loop ends.
type reader struct {
	source
	pos         int             // end of the last token read
	summaryOnly bool            // read only what a Summary needs
	dnssec      SecureDNS       // storage for Record.SecureDNS if summaryOnly
	types       []string        // storage for the types of a phone number if summaryOnly
	cardStart   int             // start of the current card
	languages   *languagePicker // nil: read cards in whatever language they are
	base        string          // path of the document's root, for nested documents
	locator     locator
	problems    []Problem
	// spellings holds the member names that were accepted in another case.
	spellings []string
	searched  int  // bytes searched so far, limited by maxDuplicateSearch
	used      int  // cost so far, limited by maxCost
	exhausted bool // maxCost is reached, and a problem reports it

	truncations []Truncation

	err error
}

// A source is a document that a reader walks.
type source struct {
	raw  []byte // the document
	text string // raw as a string; every string of the result is a part of it
	utf8 bool   // raw is valid UTF-8
}

// newReader returns a reader of raw, which must be valid and must not change during the
// walk. base is the path of raw within its response.
func newReader(raw []byte, base string) *reader {
	r := &reader{base: base}
	r.open(raw)
	return r
}

// borrow points a new reader at a document without copying it. The caller must copy
// every string that the reader returns before the document may change. Copying the
// document took 2% of the CPU time of a batch.
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
		if k := jsonscan.KindOf[r.raw[r.pos]]; k > jsonscan.Separator {
			return k
		} else if k != jsonscan.Separator {
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

// skip skips the next value and returns its start.
func (r *reader) skip() (start int) {
	switch r.peek() {
	case jsontext.KindString:
		start = r.pos
		r.pos = jsonscan.StringEnd(r.raw, start)
		return start
	case 0:
		return r.pos
	case jsontext.KindEndObject, jsontext.KindEndArray:
		r.err = errBroken
		return r.pos
	}
	start = r.pos
	r.pos = jsonscan.ValueEnd(r.raw, start)
	return start
}

// next reports whether the current array or object has another item. If not, it reads
// the closing bracket.
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

// skipInvalid skips the next value, which has the wrong kind, and records a problem. It
// records none for null, which many servers send for an absent value.
func (r *reader) skipInvalid(want string) {
	k := r.peek()
	r.skip()
	if k != jsontext.KindNull {
		r.discard(expected(want, k))
	}
}

// name reads a member name.
func (r *reader) name() string { return r.unquote(r.value()) }

// unquote returns the content of a JSON string. The result shares memory with the
// document where possible.
func (r *reader) unquote(quoted string) string {
	if len(quoted) < 2 {
		return ""
	}
	inner := quoted[1 : len(quoted)-1]
	if strings.IndexByte(inner, '\\') < 0 && (r.utf8 || utf8.ValidString(inner)) {
		return inner
	}
	b, _ := jsontext.AppendUnquote(nil, quoted) // the only possible error: bytes that became U+FFFD
	return string(b)
}

// enterObject reads the opening bracket of the next object. It skips any other value
// and returns false.
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

// maxCost limits the memory for the decoded form of one response beside its text, in
// bytes, as an estimate. An object of two characters becomes hundreds of bytes, so a
// response within the limit on bodies could otherwise exhaust the memory. 8 MiB hold
// about ten thousand entities or search results.
const maxCost = 8 << 20

// Estimated cost of decoded values, in bytes.
const (
	costItem   = 128 // an array item such as a link
	costString = 64
	costEntity = 512
	costRecord = 1024
)

// reserve accounts for a value about to be decoded and reports whether the budget
// allows it. Once it is exhausted, the rest of the response is skipped and one problem
// reports the path.
func (r *reader) reserve(bytes int) bool {
	if r.used += bytes; r.used <= maxCost {
		return true
	}
	if !r.exhausted {
		r.exhausted = true
		if len(r.problems) == maxProblems { // this problem matters more than the last one
			r.problems = r.problems[:maxProblems-1]
		}
		r.discard("record too large: the rest is omitted")
	}
	return false
}
