package client

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/rdapq/rdapq/internal/safetext"
	"github.com/rdapq/rdapq/pool"
)

// contentCoding returns the content coding of a body (RFC 9110 section 8.4): "gzip", which
// x-gzip is, too (section 8.4.1.3), another coding or a list of them, or empty for none.
func contentCoding(h http.Header) string {
	var list []string
	for _, field := range h.Values("Content-Encoding") {
		for coding := range strings.SplitSeq(field, ",") {
			coding = strings.ToLower(strings.TrimSpace(coding))
			switch coding {
			case "", "identity":
				continue
			case "x-gzip":
				coding = "gzip"
			}
			list = append(list, coding)
		}
	}
	return strings.Join(list, ", ")
}

// An ungzip decodes a body. It distinguishes truncated data from a broken connection.
type ungzip struct {
	from wholeReader
	gz   *gzip.Reader
}

func newUngzip(body io.Reader) (*ungzip, error) {
	z := &ungzip{from: wholeReader{Reader: body}}
	gz, err := gzip.NewReader(&z.from)
	if err != nil {
		return nil, pool.GzipError(err, z.from.whole)
	}
	z.gz = gz
	return z, nil
}

func (z *ungzip) Read(p []byte) (int, error) {
	n, err := z.gz.Read(p)
	return n, pool.GzipError(err, z.from.whole)
}

// A wholeReader records whether its reader reached io.EOF.
type wholeReader struct {
	io.Reader
	whole bool
}

func (r *wholeReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.whole = r.whole || err == io.EOF
	return n, err
}

// An unlabelledError reports a body in an encoding that the response does not declare.
type unlabelledError struct{ encoding, what string }

func (e *unlabelledError) Error() string { return "the body is " + e.what }

// foreignEncoding recognizes bodies that are compressed or in another charset than UTF-8,
// by how they begin.
func foreignEncoding(raw []byte) error {
	for _, f := range [...]struct{ prefix, encoding, what string }{
		{"\x1f\x8b", "gzip", "gzip data, and the response has no Content-Encoding"},
		{"\x28\xb5\x2f\xfd", "zstd", "zstd data, and the response has no Content-Encoding"},
		{"\x00\x00\xfe\xff", "UTF-32", "in UTF-32"},
		{"\xff\xfe\x00\x00", "UTF-32", "in UTF-32"},
		{"{\x00\x00\x00", "UTF-32", "in UTF-32"},
		{"\x00\x00\x00{", "UTF-32", "in UTF-32"},
		{"\xfe\xff", "UTF-16", "in UTF-16"},
		{"\xff\xfe", "UTF-16", "in UTF-16"},
		{"{\x00", "UTF-16", "in UTF-16"},
		{"\x00{", "UTF-16", "in UTF-16"},
	} {
		if bytes.HasPrefix(raw, []byte(f.prefix)) {
			return &unlabelledError{f.encoding, f.what}
		}
	}
	return nil
}

// encodingFailure returns the error of a body that cannot be decoded, nil for other
// errors.
func encodingFailure(host string, err error) *Error {
	e := &Error{Code: CodeNotRDAP, Err: err, Hint: "only the operator of the server can change that"}
	if unlabelled, ok := errors.AsType[*unlabelledError](err); ok {
		e.Message = "cannot read the response from " + host + ": it is " + unlabelled.what
		if strings.HasPrefix(unlabelled.encoding, "UTF") {
			e.Message += ", and JSON has to be in UTF-8"
		}
		return e
	}
	bad, ok := errors.AsType[*pool.EncodingError](err)
	if !ok {
		if bad, ok = errors.AsType[*pool.EncodingError](pool.GzipError(err, false)); !ok {
			return nil
		}
	}
	coding := visible(bad.Encoding)
	switch {
	case bad.Err == nil:
		e.Message = "cannot read the response from " + host + ": its Content-Encoding is " + coding + ", which was not requested"
	case errors.Is(bad.Err, io.ErrUnexpectedEOF):
		e.Message = "cannot read the response from " + host + ": the " + coding + " data is truncated"
	default:
		e.Message = "cannot read the response from " + host + ": its Content-Encoding is " + coding + ", and the body is not valid " + coding
	}
	return e
}

// foreignCharset returns the charset that a body is labelled with if it is not UTF-8, and
// neither is the body.
func foreignCharset(contentType string, raw []byte) string {
	if !strings.Contains(strings.ToLower(contentType), "charset") {
		return ""
	}
	_, params, err := mime.ParseMediaType(contentType)
	charset := params["charset"]
	if err != nil || charset == "" || strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "utf8") || utf8.Valid(raw) {
		return ""
	}
	return charset
}

func mediaType(contentType string) string {
	if contentType == "application/rdap+json" {
		return contentType // as most servers write it, which needs no parsing
	}
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil && t == "" {
		t, _, _ = strings.Cut(contentType, ";")
	}
	return strings.ToLower(strings.TrimSpace(t))
}

// contentTypeNote describes the content type of a body, for the end of a clause.
func contentTypeNote(contentType string) string {
	if contentType == "" {
		return " without a content type"
	}
	return " labelled " + safetext.Visible(contentType)
}
