// Package content decodes response bodies and detects bodies that contradict their header
// fields. It does not deal with RDAP objects or requests.
package content

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rdapq/rdapq/internal/safetext"
	"github.com/rdapq/rdapq/pool"
)

// Coding returns the content coding of a body (RFC 9110 section 8.4): "gzip" (also for
// x-gzip, section 8.4.1.3), another coding, a list of codings, or "" for none.
func Coding(h http.Header) string {
	var list []string
	for _, field := range h["Content-Encoding"] {
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

// A Gunzip decodes a body. It distinguishes truncated data from a broken connection.
type Gunzip struct {
	from wholeReader
	gz   *gzip.Reader
}

// NewGunzip returns a Gunzip of body. It reads the header of the gzip data.
func NewGunzip(body io.Reader) (*Gunzip, error) {
	z := &Gunzip{from: wholeReader{Reader: body}}
	gz, err := gzip.NewReader(&z.from)
	if err != nil {
		return nil, pool.GzipError(err, z.from.whole)
	}
	z.gz = gz
	return z, nil
}

func (z *Gunzip) Read(p []byte) (int, error) {
	n, err := z.gz.Read(p)
	return n, pool.GzipError(err, z.from.whole)
}

// Close implements [io.Closer]. It does not close the body.
func (z *Gunzip) Close() error { return z.gz.Close() }

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

// CheckEncoding recognizes bodies that are compressed or in a charset other than UTF-8 by their
// first bytes, and returns an error for them.
func CheckEncoding(raw []byte) error {
	for _, f := range [...]struct{ prefix, encoding, what string }{
		{"\x1f\x8b", "gzip", "gzip data without a Content-Encoding"},
		{"\x28\xb5\x2f\xfd", "zstd", "zstd data without a Content-Encoding"},
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

// Failure describes why a body cannot be decoded. It returns "" for other errors.
func Failure(err error) string {
	if unlabelled, ok := errors.AsType[*unlabelledError](err); ok {
		if strings.HasPrefix(unlabelled.encoding, "UTF") {
			return "it is " + unlabelled.what + ", but JSON must be UTF-8"
		}
		return "it is " + unlabelled.what
	}
	bad, ok := errors.AsType[*pool.EncodingError](err)
	if !ok {
		if bad, ok = errors.AsType[*pool.EncodingError](pool.GzipError(err, false)); !ok {
			return ""
		}
	}
	coding := safetext.Visible(bad.Encoding)
	switch {
	case bad.Err == nil:
		return "its Content-Encoding is " + coding + ", which was not requested"
	case errors.Is(bad.Err, io.ErrUnexpectedEOF):
		return "the " + coding + " data is truncated"
	default:
		return "its Content-Encoding is " + coding + ", but the body is not valid " + coding
	}
}

// ForeignCharset returns the declared charset of a body if neither the charset nor the
// body is UTF-8.
func ForeignCharset(contentType string, raw []byte) string {
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

// MediaType returns the media type of a Content-Type field in lower case.
func MediaType(contentType string) string {
	if contentType == "application/rdap+json" {
		return contentType // the usual form needs no parsing
	}
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil && t == "" {
		t, _, _ = strings.Cut(contentType, ";")
	}
	return strings.ToLower(strings.TrimSpace(t))
}

// maxRetryAfter limits a Retry-After: a date centuries away would overflow a Duration.
const maxRetryAfter = 10 * 365 * 24 * time.Hour

// RetryAfter parses a Retry-After field (RFC 9110 section 10.2.3), seconds or a date. It
// returns 0 if the field is missing or invalid.
func RetryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseUint(value, 10, 63); err == nil {
		if seconds > uint64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
