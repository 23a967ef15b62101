package rdap

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rdapq/rdapq/rdap/internal/jsonscan"
)

// lenient permits the deviations from JSON that responses may have.
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

// A reader walks a valid JSON document from front to back. Errors are sticky: after the first
// error every method is a no-op. A walk needs no check at each step, and every loop ends.
type reader struct {
	source
	pos         int             // end of the last token read
	summaryOnly bool            // read only the members that a Summary needs
	dnssec      SecureDNS       // storage for Record.SecureDNS if summaryOnly
	types       []string        // storage for the types of a phone number if summaryOnly
	cardStart   int             // start of the current card
	languages   *languagePicker // chooses among the languages of cards; nil means none is preferred
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
	utf8 bool   // raw is known to be valid UTF-8

	literal bool // raw is known to be valid UTF-8 without escapes

	// long holds long containers of raw by start, from the next one to be read. It may
	// be incomplete: it only saves searching for their ends.
	long []jsonscan.Span
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
func (r *reader) borrow(d *document) {
	raw := d.object
	r.source = source{raw, unsafe.String(unsafe.SliceData(raw), len(raw)), d.utf8 || utf8.Valid(raw), d.literal, d.long}
}

// open points a new reader at a document.
func (r *reader) open(raw []byte) { r.source = source{raw, string(raw), utf8.Valid(raw), false, nil} }

var errBroken = errors.New("invalid JSON")

// peek returns the kind of the next value or closing bracket, or 0 after an error.
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
	if r.pos = r.knownEnd(start); r.pos == 0 {
		r.pos = jsonscan.ValueEnd(r.raw, start)
	}
	return start
}

// knownEnd returns the end of the container that starts at start, or 0 if the end is not
// known.
func (r *reader) knownEnd(start int) int {
	for len(r.long) > 0 && int(r.long[0].Start) < start {
		r.long = r.long[1:]
	}
	if len(r.long) > 0 && int(r.long[0].Start) == start {
		return int(r.long[0].End)
	}
	return 0
}

// next reports whether the current array or object has another item. At the end, it reads the
// closing bracket.
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

// skipInvalid skips the next value, which has the wrong kind, and records a problem. It records
// no problem for null, which many servers send for an absent value.
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
	if r.literal || strings.IndexByte(inner, '\\') < 0 && (r.utf8 || utf8.ValidString(inner)) {
		return inner
	}
	b, _ := jsontext.AppendUnquote(nil, quoted) // the only possible error means that bytes became U+FFFD
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

// maxCost limits the estimated memory of the decoded form of one response, without its text, in
// bytes. An object of two characters becomes hundreds of bytes. A response within the limit on
// bodies could otherwise exhaust the memory. 8 MiB hold about ten thousand entities or search
// results.
const maxCost = 8 << 20

// Estimated cost of decoded values, in bytes.
const (
	costItem   = 128 // cost of an array item such as a link
	costString = 64
	costEntity = 512
	costRecord = 1024
)

// reserve charges a value about to be decoded to the budget and reports whether the budget
// suffices. Once the budget is exhausted, the reader skips the rest of the response, and one
// problem reports the path.
func (r *reader) reserve(bytes int) bool {
	if r.used += bytes; r.used <= maxCost {
		return true
	}
	if !r.exhausted {
		r.exhausted = true
		if len(r.problems) == maxProblems { // drop the last problem, which matters less than this one
			r.problems = r.problems[:maxProblems-1]
		}
		r.discard("record too large: the rest is omitted")
	}
	return false
}

// maxProblems limits the problems recorded for one response.
const maxProblems = 100

// A Problem is a defect of a response that can be read nevertheless.
type Problem struct {
	Path      string // location, such as "entities[0].publicIds"; empty for the whole document
	Message   string // description of the defect
	Discarded bool   // the value was discarded; false if the value was read because its meaning is clear
	More      int    // number of further places with the same problem
	InRow     bool   // the value was read, but rows report the problem among their warnings
}

// mergeProblems merges problems that differ only in their path. It may modify list.
func mergeProblems(list []Problem) []Problem {
	out := list[:0]
next:
	for _, p := range list {
		for i := range out {
			if o := &out[i]; o.Message == p.Message && o.Discarded == p.Discarded && o.InRow == p.InRow {
				o.More += 1 + p.More
				continue next
			}
		}
		out = append(out, p)
	}
	return out
}

// String returns path and message on one line.
func (p Problem) String() string {
	switch {
	case p.Path == "":
		return p.Message
	case p.More > 0:
		return p.Path + " and " + strconv.Itoa(p.More) + " more: " + p.Message
	}
	return p.Path + ": " + p.Message
}

// warn records that the last value has the wrong form but was read.
func (r *reader) warn(message string) { r.problem(message, false) }

// discard records that the last value was discarded.
func (r *reader) discard(message string) { r.problem(message, true) }

// warnRow records that the last value was read although other programs reject its form.
func (r *reader) warnRow(message string) {
	n := len(r.problems)
	if r.warn(message); len(r.problems) > n {
		r.problems[n].InRow = true
	}
}

// duplicate records a duplicate member if seen is true.
func (r *reader) duplicate(seen bool) {
	if seen {
		r.warn("duplicate member; the last one is used")
	}
}

func (r *reader) problem(message string, discarded bool) {
	if r.err == nil && len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{Path: r.path(), Message: message, Discarded: discarded})
	}
}

// expected returns the message for a value of the wrong kind.
func expected(want string, found jsontext.Kind) string {
	return "expected " + want + ", found " + kindName(found)
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
		return "an array"
	}
	return "nothing"
}

// memberName returns the member name of RFC 9083 or its extensions that name stands for,
// because servers write some names in another case ("secureDns", "nameServers"). It returns
// other names unchanged.
func memberName(name string) string {
	switch name {
	case "objectClassName", "handle", "status", "entities", "events", "links", "remarks", "publicIds", "port43", "lang",
		"name", "type", "country", "ldhName", "unicodeName", "nameservers", "secureDNS", "variants", "network",
		"startAddress", "endAddress", "ipVersion", "parentHandle", "cidr0_cidrs", "v4prefix", "v6prefix", "length",
		"startAutnum", "endAutnum", "arin_originas0_originautnums", "roles", "vcardArray", "jscard", "contact_URI",
		"asEventActor", "networks", "autnums", "ipAddresses", "v4", "v6", "redacted", "notices", "rdapConformance",
		"title", "description", "detail", "errorCode", "eventAction", "eventActor", "eventDate", "identifier",
		"href", "rel", "media", "value", "hreflang", "zoneSigned", "delegationSigned", "maxSigLife", "dsData", "keyData",
		"keyTag", "algorithm", "digestType", "digest", "flags", "protocol", "publicKey",
		"relation", "relations", "idnTable", "variantNames", "reason", "method", "prePath", "postPath", "replacementPath", "pathLang",
		"domainSearchResults", "nameserverSearchResults", "entitySearchResults", "ipSearchResults", "autnumSearchResults":
		return name
	}
	if known, ok := membersByFold[strings.ToLower(name)]; ok {
		return known
	}
	return name
}

// membersByFold maps lower-case names, and other common misspellings, to member names.
var membersByFold = func() map[string]string {
	names := strings.Fields(`
		objectClassName handle status entities events links remarks publicIds port43 lang
		name type country ldhName unicodeName nameservers secureDNS variants network
		startAddress endAddress ipVersion parentHandle cidr0_cidrs v4prefix v6prefix length
		startAutnum endAutnum arin_originas0_originautnums roles vcardArray jscard contact_URI
		asEventActor networks autnums ipAddresses v4 v6 redacted notices rdapConformance
		title description detail errorCode eventAction eventActor eventDate identifier
		href rel media value hreflang zoneSigned delegationSigned maxSigLife dsData keyData
		keyTag algorithm digestType digest flags protocol publicKey
		relation relations idnTable variantNames reason method prePath postPath replacementPath pathLang
		domainSearchResults nameserverSearchResults entitySearchResults ipSearchResults autnumSearchResults`)
	out := map[string]string{"statuses": "status"}
	for _, name := range names {
		out[strings.ToLower(name)] = name
	}
	return out
}()

const (
	// maxRespelled limits the number of misspelled names that a reader reports.
	maxRespelled = 20
	// maxDuplicateSearch limits the bytes searched for correctly spelled members. Beyond the
	// limit, misspelled members are ignored.
	maxDuplicateSearch = 1 << 20
)

// member reads the name of a member of RFC 9083 in any case. A correctly spelled member
// takes precedence over a misspelled one. Each misspelling is reported once.
func (r *reader) member() string {
	name := r.name()
	known := memberName(name)
	if known == name || r.err != nil {
		return known
	}
	if r.hasMember(known) {
		return name
	}
	if name != "contact_uri" && !slices.Contains(r.spellings, name) && len(r.spellings) < maxRespelled {
		r.spellings = append(r.spellings, name)
		r.warnRow("read as " + known + ": member name is not spelled as in RFC 9083")
	}
	return known
}

// hasMember reports whether the current object has a member of that name.
func (r *reader) hasMember(name string) bool {
	r.locator.advance(r.raw, r.pos)
	if len(r.locator.frames) == 0 {
		return false
	}
	for i := r.locator.frames[len(r.locator.frames)-1].start + 1; i < len(r.raw); {
		switch kind := jsonscan.KindOf[r.raw[i]]; kind {
		case jsonscan.Separator:
			i++
			continue
		case jsontext.KindString:
		default: // end of the object
			return false
		}
		start := i
		i = jsonscan.StringEnd(r.raw, i)
		if r.unquote(r.text[start:i]) == name {
			return true
		}
		for i < len(r.raw) && jsonscan.KindOf[r.raw[i]] == jsonscan.Separator {
			i++
		}
		i = jsonscan.ValueEnd(r.raw, i)
		if r.searched += i - start; r.searched > maxDuplicateSearch {
			return true
		}
	}
	return false
}

// A locator computes the path of a position in a document. It does so only on demand, so that
// reading a well-formed document costs nothing. It finds successive positions in one pass over
// the document.
type locator struct {
	pos    int
	frames []frame
}

// A frame is an object or array that encloses the position.
type frame struct {
	start    int  // offset of the opening bracket
	from, to int  // in an object: offsets of the last member name
	named    bool // in an object: the name has been read, but not its value
	array    bool
	count    int // number of items or members started
}

// advance moves to the position to.
func (p *locator) advance(raw []byte, to int) {
	if to < p.pos {
		p.pos, p.frames = 0, p.frames[:0]
	}
	for p.pos < to {
		kind := jsonscan.KindOf[raw[p.pos]]
		if kind == jsonscan.Separator {
			p.pos++
			continue
		}
		var in *frame
		if len(p.frames) > 0 {
			in = &p.frames[len(p.frames)-1]
		}
		start := p.pos
		switch kind {
		case jsontext.KindEndObject, jsontext.KindEndArray:
			p.pos++
			p.frames = p.frames[:max(len(p.frames)-1, 0)]
			continue
		case jsontext.KindBeginObject, jsontext.KindBeginArray:
			p.pos++
		default:
			p.pos = jsonscan.ValueEnd(raw, p.pos)
		}
		if in != nil {
			in.observe(start, p.pos)
		}
		if kind == jsontext.KindBeginObject || kind == jsontext.KindBeginArray {
			p.frames = append(p.frames, frame{start: start, array: kind == jsontext.KindBeginArray})
		}
	}
}

// observe records a member name or the start of a value.
func (l *frame) observe(from, to int) {
	switch {
	case l.array:
		l.count++
	case l.named:
		l.named = false
	default:
		l.from, l.to, l.named = from, to, true
		l.count++
	}
}

// path returns the path of the last value read.
func (r *reader) path() string {
	r.locator.advance(r.raw, r.pos)
	var b strings.Builder
	b.WriteString(r.base)
	for i := range r.locator.frames {
		l := &r.locator.frames[i]
		switch {
		case l.count == 0:
		case l.array:
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(l.count - 1))
			b.WriteByte(']')
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(r.unquote(r.text[l.from:l.to]))
		}
	}
	return b.String()
}
