package rdap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rdapq/rdapq/internal/safetext"
	"github.com/rdapq/rdapq/rdap/internal/jsonscan"
)

// A Response is a validated RDAP response (RFC 9083). Create a Response with [Parse]; the zero
// value is not usable. Its methods may be called concurrently. Each call decodes the response
// again.
type Response struct {
	document
	scan    scan
	checked bool // the bytes as sent are valid and need no second check
}

// Parse validates a response: an object, search results, help or an error. It accepts the same
// deviations as [Read]. raw must not change while the Response is in use. The error is a
// [*FormatError] if raw is not a JSON object or nests more than 100 levels deep. Its Reason
// describes raw.
func Parse(raw []byte) (*Response, error) {
	raw = trimBOM(raw)
	if s := scanOf(raw); s.isValid {
		return &Response{document: document{sent: raw, object: raw, utf8: s.plain, literal: s.literal, long: s.long}, scan: s, checked: true}, nil
	}
	doc, err := openDocument(raw)
	if err != nil {
		return nil, describeBody(raw, err)
	}
	r := &Response{document: doc}
	r.scan = scanOf(doc.object)
	return r, nil
}

// describeBody returns an error that describes an unreadable body and quotes its
// beginning.
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

// Class returns the class of the response (RFC 9083 sections 4 to 8). The first rule
// that applies decides:
//
//   - an array member such as "domainSearchResults", if no member describes an object
//     beside it: its name
//   - objectClassName
//   - a member such as "domainSearchResults": its name
//   - errorCode: [ClassError]
//   - members that only one class has, since some servers omit objectClassName: that
//     class
//   - rdapConformance or notices: [ClassHelp]
//
// A help response is valid RDAP but does not answer a lookup: the caller must compare
// the class with its query. The error is a [*FormatError] if no rule applies.
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

// HasConformance reports whether the response has rdapConformance, which only RDAP has
// (RFC 9083 section 4.1).
func (r *Response) HasConformance() bool { return r.scan.hasConformance }

// HasNotices reports whether the response has notices (RFC 9083 section 4.3).
func (r *Response) HasNotices() bool { return !r.scan.noNotices }

// IsExact reports whether the response is one JSON object without any other data, which Parse
// accepted without corrections.
func (r *Response) IsExact() bool { return r.checked }

// Truncations returns the notices and remarks which say that the response is incomplete (RFC
// 9083 section 10.2.1). It returns at most 100, each type once. Their Notice is empty;
// [Record.Truncations] includes it.
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

// Summary reads the summary of the response in one pass, without decoding the rest. It returns
// at most 100 problems of the members that it reads.
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

// Objects yields the objects of search results as sent, in the order of the server (RFC 9083
// section 8). For other responses, it yields nothing.
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

// A FormatError reports why a body cannot be read as RDAP.
type FormatError struct {
	Reason string // description of the body
	Err    error  // the cause; may be nil

	tooDeep bool
}

// Error returns "the response is not RDAP" and the reason.
func (e *FormatError) Error() string { return "the response is not RDAP: " + e.Reason }

// Unwrap returns the cause, or nil.
func (e *FormatError) Unwrap() error { return e.Err }

// formatError returns the error for an unreadable body.
func formatError(cause error, format string, args ...any) *FormatError {
	return &FormatError{Reason: fmt.Sprintf(format, args...), Err: cause}
}

func errTooDeep() *FormatError {
	e := formatError(nil, "JSON is nested more than %d levels deep", jsonscan.MaxNesting)
	e.tooDeep = true
	return e
}

// syntaxError returns an error with the offset of the first invalid byte.
func syntaxError(err error) *FormatError {
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return formatError(err, "truncated JSON: it ends at byte %d", s.ByteOffset)
		}
		return formatError(err, "invalid JSON at byte %d", s.ByteOffset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return formatError(err, "an empty body")
	}
	return formatError(err, "invalid JSON")
}
