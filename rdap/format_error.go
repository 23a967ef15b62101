package rdap

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// A FormatError says why a body cannot be read as RDAP.
type FormatError struct {
	Reason string // what the body is instead, in words
	Err    error  // the cause; may be nil

	tooDeep bool
}

// Error returns the reason after words that say what failed.
func (e *FormatError) Error() string { return "the response is not RDAP: " + e.Reason }

// Unwrap returns the cause, nil if there is none.
func (e *FormatError) Unwrap() error { return e.Err }

// formatError makes the error for a body that cannot be read.
func formatError(cause error, format string, args ...any) *FormatError {
	return &FormatError{Reason: fmt.Sprintf(format, args...), Err: cause}
}

func errTooDeep() *FormatError {
	e := formatError(nil, "JSON is nested more than %d levels deep", maxNesting)
	e.tooDeep = true
	return e
}

// syntaxError says in one line where the JSON is broken.
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
