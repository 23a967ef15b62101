package content_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rdapq/rdapq/internal/content"
	"github.com/rdapq/rdapq/pool"
)

func TestCoding(t *testing.T) {
	for want, fields := range map[string][]string{
		"":         {"", "identity, Identity"},
		"gzip":     {"X-GZIP"},
		"gzip, br": {"gzip , identity", "BR"},
	} {
		if got := content.Coding(http.Header{"Content-Encoding": fields}); got != want {
			t.Errorf("%q: %q, want %q", fields, got, want)
		}
	}
}

func TestMediaType(t *testing.T) {
	for field, want := range map[string]string{
		"application/rdap+json":                     "application/rdap+json",
		"Application/RDAP+JSON ; charset=utf-8":     "application/rdap+json",
		"application/rdap+json; charset=utf-8; =;;": "application/rdap+json",
		"": "",
	} {
		if got := content.MediaType(field); got != want {
			t.Errorf("%q: %q, want %q", field, got, want)
		}
	}
}

func TestForeignCharset(t *testing.T) {
	for _, tt := range []struct{ field, body, want string }{
		{"application/json; charset=ISO-8859-1", "\"\xe9\"", "ISO-8859-1"},
		{"application/json; charset=ISO-8859-1", `"é"`, ""}, // the body is UTF-8 despite the label
		{"application/json; charset=UTF8", "\"\xe9\"", ""},
		{"application/json", "\"\xe9\"", ""},
	} {
		if got := content.ForeignCharset(tt.field, []byte(tt.body)); got != tt.want {
			t.Errorf("%s %q: %q, want %q", tt.field, tt.body, got, tt.want)
		}
	}
}

func TestFailure(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(strings.Repeat("{}", 100))); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	read := func(body string) error {
		g, err := content.NewGunzip(strings.NewReader(body))
		if err != nil {
			return err
		}
		_, err = io.ReadAll(g)
		return err
	}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{read(packed.String()), ""},
		{read(packed.String()[:packed.Len()-9]), "the gzip data is truncated"},
		{read(`{"rdapConformance":[]}`), "its Content-Encoding is gzip, but the body is not valid gzip"},
		{&pool.EncodingError{Encoding: "br"}, "its Content-Encoding is br, which was not requested"},
		{content.CheckEncoding([]byte("{}")), ""},
		{content.CheckEncoding(packed.Bytes()), "it is gzip data without a Content-Encoding"},
		{content.CheckEncoding([]byte("{\x00}\x00")), "it is in UTF-16, but JSON must be UTF-8"},
		{content.CheckEncoding([]byte("{\x00\x00\x00")), "it is in UTF-32, but JSON must be UTF-8"},
		{io.ErrUnexpectedEOF, ""},
	} {
		if got := content.Failure(tt.err); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
}
