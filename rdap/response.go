package rdap

import (
	"bytes"
	"iter"
	"strings"

	"github.com/rdapq/rdapq/internal/safetext"
)

// A Response is an RDAP response that has been checked (RFC 9083). Parse makes it;
// the zero value is of no use. Its methods may be called concurrently. They decode
// anew with each call.
type Response struct {
	document
	scan    scan
	checked bool // the bytes as sent are valid: they need no second check
}

// Parse checks a response: an object, search results, help or an error. It takes
// what servers send in practice: see [Read]. raw must not change while the Response
// is in use. The error is a [*FormatError] if raw is not a JSON object or nests more
// than 100 deep; its Reason says what raw is instead.
func Parse(raw []byte) (*Response, error) {
	raw = trimBOM(raw)
	if s := scanOf(raw); s.isValid {
		return &Response{document: document{sent: raw, object: raw}, scan: s, checked: true}, nil
	}
	doc, err := openDocument(raw)
	if err != nil {
		return nil, describeBody(raw, err)
	}
	r := &Response{document: doc}
	r.scan.run(doc.object)
	return r, nil
}

// describeBody says of a body that cannot be read what it is instead, with its beginning.
func describeBody(raw []byte, err *FormatError) *FormatError {
	trimmed := bytes.TrimSpace(trimBOM(raw))
	switch {
	case err.tooDeep, len(trimmed) == 0:
		return err
	case safetext.IsBinary(trimmed):
		return formatError(nil, "binary data")
	case trimmed[0] == '<':
		what := "markup"
		if looksLikeHTML(trimmed) {
			what = "an HTML page"
		}
		return formatError(nil, "%s: %s", what, excerpt(trimmed))
	case trimmed[0] != '{':
		return formatError(nil, "%s: %s", notObject(trimmed), excerpt(trimmed))
	}
	err.Reason += ": " + excerpt(trimmed)
	return err
}

// Class returns the class of the response: the name of its search results member
// ("domainSearchResults") if that is an array and no member describes an object
// beside it, else its objectClassName, else the name of that member, else
// [ClassError] for one with an errorCode, else the class that alone has the members
// it has (some servers omit objectClassName), else [ClassHelp] for one with
// rdapConformance or notices (RFC 9083 sections 4 to 8). A help response is valid
// RDAP but does not answer a lookup: the caller must compare the class with its
// query. The error is a [*FormatError] if the members do not tell.
func (r *Response) Class() (string, error) {
	switch {
	case r.scan.class != "":
		return r.scan.class, nil
	case r.scan.members == 0:
		return "", formatError(nil, "an empty object")
	}
	return "", formatError(nil, "an object without objectClassName: %s", excerpt(bytes.TrimSpace(r.object)))
}

// Classify returns the class of the response raw: see [Parse] and [Response.Class].
func Classify(raw []byte) (string, error) {
	r, err := Parse(raw)
	if err != nil {
		return "", err
	}
	return r.Class()
}

// HasConformance reports whether the response has rdapConformance, which only RDAP
// has (RFC 9083 section 4.1).
func (r *Response) HasConformance() bool { return r.scan.hasConformance }

// HasNotices reports whether the response has notices (RFC 9083 section 4.3).
func (r *Response) HasNotices() bool { return !r.scan.noNotices }

// IsExact reports whether the response is one JSON object and nothing else, without
// anything that Parse had to correct.
func (r *Response) IsExact() bool { return r.checked }

// Truncations returns the notices and remarks which say that something was left out
// of the response (RFC 9083 section 10.2.1), at most 100, each type once. Their
// Notice is empty: [Record.Truncations] has it.
func (r *Response) Truncations() []Truncation {
	if len(r.scan.truncations) == 0 {
		return nil
	}
	list := make([]Truncation, len(r.scan.truncations))
	for i, l := range r.scan.truncations {
		list[i] = Truncation{Path: l.path, Type: l.typ, More: l.more}
	}
	return list
}

// Record decodes the response: see [Read].
func (r *Response) Record() *Record { return r.document.record() }

// Summary reads the summary of the response in one pass, without decoding the rest.
// The problems are those of the members that it read, at most 100.
func (r *Response) Summary() (Summary, []Problem) { return r.document.summarize() }

// Help reads the response to a help query.
func (r *Response) Help() *Help { return r.document.help() }

// AppendCompact appends the response to dst as one line: see [Compact].
func (r *Response) AppendCompact(dst []byte) (out []byte, warnings []string, err error) {
	switch {
	case !r.checked || !r.scan.plain:
		return Compact(dst, r.sent)
	case r.scan.minified:
		return append(dst, bytes.TrimSpace(r.object)...), nil, nil
	}
	return appendMinified(dst, r.object), nil, nil
}

// Objects yields the objects of a search's results in the order of the server, as
// they were sent (RFC 9083 section 8). It yields nothing for other responses.
func (r *Response) Objects() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		walk := newReader(r.object, "")
		if !walk.enterObject() {
			return
		}
		for walk.next() {
			if !strings.HasSuffix(memberName(walk.name()), "SearchResults") {
				walk.skip()
				continue
			}
			for l := walk.list().charging(0); l.more(walk); {
				start := walk.skip()
				if !yield(r.object[start:walk.pos:walk.pos]) {
					return
				}
			}
		}
	}
}
