package pool

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"
)

// A requestError reports an invalid request. The request is not sent, and a retry cannot
// succeed.
type requestError struct{ error }

func (e requestError) Unwrap() error { return e.error }

func badRequest(format string, a ...any) error {
	return requestError{fmt.Errorf("pool: "+format, a...)}
}

// checkRequest returns the errors that [http.Transport] returns before it makes a
// connection.
func checkRequest(req *http.Request) error {
	switch {
	case req.URL == nil:
		return requestError{errors.New("pool: nil Request.URL")}
	case req.Header == nil:
		return requestError{errors.New("pool: nil Request.Header")}
	case req.URL.Scheme != "https" && req.URL.Scheme != "http":
		return badRequest("unsupported scheme %q", req.URL.Scheme)
	// both methods and field names are tokens
	case req.Method != "" && !httpguts.ValidHeaderFieldName(req.Method):
		return badRequest("invalid method %q", req.Method)
	case req.URL.Host == "":
		return requestError{errors.New("pool: request without a host")}
	case !httpguts.ValidHostHeader(req.Host), req.Host == "" && !httpguts.ValidHostHeader(req.URL.Host):
		return requestError{errors.New("pool: invalid Host")}
	case strings.ContainsFunc(req.URL.Opaque, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return requestError{errors.New("pool: control character in Request.URL")}
	}
	if err := checkFields("header", req.Header); err != nil {
		return err
	}
	return checkFields("trailer", req.Trailer)
}

func checkFields(what string, h http.Header) error {
	for name, values := range h {
		if !httpguts.ValidHeaderFieldName(name) {
			return badRequest("invalid %s field name %q", what, name)
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				// omit the value, which may be secret
				return badRequest("invalid %s field value for %q", what, name)
			}
		}
	}
	return nil
}

// checkHTTP2 returns an error for fields that HTTP/2 does not permit (RFC 9113
// section 8.2.2).
func checkHTTP2(h http.Header) error {
	one := func(name string, permitted ...string) bool {
		values := h[name]
		if len(values) == 0 || len(values) == 1 && values[0] == "" {
			return true
		}
		for _, p := range permitted {
			if len(values) == 1 && strings.EqualFold(values[0], p) {
				return true
			}
		}
		return false
	}
	for _, name := range []string{"Upgrade", "Transfer-Encoding", "Connection"} {
		permitted := []string{"chunked"}
		if name == "Connection" {
			permitted = []string{"close", "keep-alive"}
		}
		if !one(name, permitted...) {
			return badRequest("field %s is not permitted in HTTP/2: %q", name, h[name])
		}
	}
	return nil
}

// wantsClose reports whether the connection is to be closed after req.
func wantsClose(req *http.Request) bool {
	return req.Close || httpguts.HeaderValuesContainsToken(req.Header["Connection"], "close")
}

// A closeOnce is a request body, which both net/http and the Pool close.
type closeOnce struct {
	io.Reader
	close func() error
}

// closing returns req with a body that may be closed more than once, and a function
// that closes it.
func closing(req *http.Request) (*http.Request, func()) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, func() {}
	}
	c := closeOnce{req.Body, sync.OnceValue(req.Body.Close)}
	again := *req
	again.Body = c
	return &again, func() { _ = c.close() }
}

func (c closeOnce) Close() error { return c.close() }
