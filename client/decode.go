package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxNesting is how deep arrays and objects of an answer may stand in each
// other. Honest answers stay under 20.
const maxNesting = 100

// maxProblems bounds what is remembered of an answer that is wrong all over.
const maxProblems = 100

// A Problem is one thing wrong with an answer that was read nevertheless.
type Problem struct {
	Path    string // where in the document: "entities[0].publicIds"; empty for the document as a whole
	Message string // what is wrong there, one sentence
	Lost    bool   // the value was given up; false when its meaning was plain and it was read
}

// String returns path and message on one line.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

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

// str reads a string into dst, and leaves dst alone when there is none.
func (r *reader) str(dst *string) {
	if s, ok := r.scalar(); ok {
		r.again(*dst != "")
		*dst = s
	}
}

func (r *reader) scalar() (string, bool) {
	switch r.peek() {
	case jsontext.KindString:
		return r.unquote(r.value()), r.err == nil
	case jsontext.KindNumber:
		s := r.value()
		r.odd("a number where a string is due")
		return s, r.err == nil
	case jsontext.KindBeginArray:
		return r.onlyItem()
	}
	r.drop("a string")
	return "", false
}

// onlyItem reads a list of one where its item alone was due.
func (r *reader) onlyItem() (string, bool) {
	r.token()
	if !r.next() {
		return "", false
	}
	s, ok := r.scalar()
	if !r.next() {
		if ok && r.err == nil {
			r.odd("a list where a string is due")
		}
		return s, ok && r.err == nil
	}
	for {
		r.skip()
		if !r.next() {
			break
		}
	}
	r.lost("a list of several where one string is due")
	return "", false
}

// strings reads a list of strings into dst, and leaves dst alone when there is
// none.
func (r *reader) strings(dst *[]string) {
	switch r.peek() {
	case jsontext.KindString, jsontext.KindNumber:
		s, ok := r.scalar()
		if ok && s != "" {
			r.odd("one value where a list is due")
			r.again(*dst != nil)
			*dst = []string{s}
		}
		return
	case jsontext.KindBeginArray:
	default:
		r.drop("a list of strings")
		return
	}
	r.again(*dst != nil)
	r.token()
	var list []string
	for r.next() {
		if r.peek() == jsontext.KindNull {
			r.skip()
			r.odd("null in a list")
			continue
		}
		if s, ok := r.scalar(); ok {
			if list == nil {
				list = make([]string, 0, 4)
			}
			list = append(list, s)
		}
	}
	*dst = list
}

// number reads an unsigned number. What does not fit is given up: it never
// wraps, and never becomes 0.
func (r *reader) number(dst **uint32) {
	var text string
	switch r.peek() {
	case jsontext.KindNumber:
		text = r.value()
	case jsontext.KindString:
		text = strings.TrimSpace(r.unquote(r.value()))
		if text == "" {
			return
		}
		r.odd("a string where a number is due")
	default:
		r.drop("a number")
		return
	}
	if r.err != nil {
		return
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		r.lost("not a whole number from 0 to 4294967295")
		return
	}
	r.again(*dst != nil)
	*dst = new(uint32(n))
}

// tri reads a boolean.
func (r *reader) tri(dst *Tri) {
	switch r.peek() {
	case jsontext.KindTrue:
		r.skip()
		*dst = Yes
	case jsontext.KindFalse:
		r.skip()
		*dst = No
	case jsontext.KindString:
		s := r.unquote(r.value())
		switch {
		case strings.EqualFold(s, "true"):
			*dst = Yes
		case strings.EqualFold(s, "false"):
			*dst = No
		default:
			r.lost("a string where true or false is due")
			return
		}
		r.odd("a string where true or false is due")
	default:
		r.drop("true or false")
	}
}

// A list is a walk over the items of a JSON array, or over the one item that
// stands where the array is due.
type list struct {
	array, single bool
}

func (r *reader) list() list {
	switch r.peek() {
	case jsontext.KindBeginArray:
		r.token()
		return list{array: true}
	case jsontext.KindNull:
		r.skip()
		return list{}
	}
	return list{single: r.err == nil}
}

// more moves to the next item that is an object. Others are passed over.
func (l *list) more(r *reader) bool {
	if l.single {
		l.single = false
		if r.peek() != jsontext.KindBeginObject {
			r.drop("a list of objects")
			return false
		}
		r.odd("one object where a list is due")
		return true
	}
	for l.array && r.next() {
		switch r.peek() {
		case jsontext.KindBeginObject:
			return true
		case jsontext.KindNull:
			r.skip()
			r.odd("null in a list")
		default:
			r.drop("an object")
		}
	}
	return false
}

// odd records that the value just read has a form that it should not have.
func (r *reader) odd(message string) { r.problem(message, false) }

// lost records that the value just read was given up.
func (r *reader) lost(message string) { r.problem(message, true) }

// again records that a member stands twice in an object.
func (r *reader) again(already bool) {
	if already {
		r.odd("a member that stands twice: the last one counts")
	}
}

func (r *reader) problem(message string, lost bool) {
	if r.err == nil && len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{Path: r.path(), Message: message, Lost: lost})
	}
}

// path returns where the value last read stands.
func (r *reader) path() string {
	var b strings.Builder
	b.WriteString(r.base)
	level := 0
	for token := range r.dec.StackPointer().Tokens() {
		level++
		if kind, _ := r.dec.StackIndex(level); kind == jsontext.KindBeginArray {
			b.WriteByte('[')
			b.WriteString(token)
			b.WriteByte(']')
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(token)
	}
	return b.String()
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

// notRDAP makes the error for an answer that cannot be read.
func notRDAP(cause error, format string, args ...any) *Error {
	return &Error{Code: CodeNotRDAP, Message: "the answer is not RDAP: " + fmt.Sprintf(format, args...), Err: cause}
}

// syntaxError says in one line where the JSON is broken.
func syntaxError(err error) *Error {
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return notRDAP(err, "the JSON ends too early, at byte %d", s.ByteOffset)
		}
		return notRDAP(err, "broken JSON at byte %d", s.ByteOffset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return notRDAP(err, "an empty body")
	}
	return notRDAP(err, "broken JSON")
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

func kindName(k jsontext.Kind) string {
	switch k {
	case jsontext.KindNull:
		return "null"
	case jsontext.KindTrue, jsontext.KindFalse:
		return "true or false"
	case jsontext.KindString:
		return "a string"
	case jsontext.KindNumber:
		return "a number"
	case jsontext.KindBeginObject:
		return "an object"
	case jsontext.KindBeginArray:
		return "a list"
	}
	return "nothing"
}
