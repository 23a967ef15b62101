package pool

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
)

// An EncodingError is returned by the body of a response that cannot be decoded as its
// Content-Encoding says, and that came whole.
type EncodingError struct {
	Encoding string // the content coding, such as "gzip" (RFC 9110 section 8.4.1)
	Err      error  // the decoder's; nil if there is no decoder for it
}

// Error returns the name of the coding and what is wrong.
func (e *EncodingError) Error() string {
	switch {
	case e.Err == nil:
		return "pool: the body is encoded as " + e.Encoding
	case errors.Is(e.Err, io.ErrUnexpectedEOF):
		return "pool: the " + e.Encoding + " data of the body end too early"
	}
	return "pool: the body is not " + e.Encoding + ": " + e.Err.Error()
}

// Unwrap returns the decoder's error.
func (e *EncodingError) Unwrap() error { return e.Err }

// UndecodedGzip returns an [*EncodingError] for an error of gzip about the data that it
// decodes, and other errors as they are. whole says that the data came to their end.
func UndecodedGzip(err error, whole bool) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	switch {
	case err == nil:
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), corrupt, whole && errors.Is(err, io.ErrUnexpectedEOF):
		return &EncodingError{Encoding: "gzip", Err: err}
	}
	return err
}
