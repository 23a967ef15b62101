package client

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"testing"
)

// ErrorOf returns the Failure or the Refusal of r, or nil if r has neither.
func ErrorOf(r *Result) *Error { return r.reason() }

// A nil *Error in an error value, which `return r.Refusal` produces for a registered
// domain, can be printed and unwrapped.
func TestNilError(t *testing.T) {
	var r Result
	var err error = r.Refusal
	if got := fmt.Sprint(err); got != "no error" {
		t.Errorf("printed as %q", got)
	}
	if errors.Unwrap(err) != nil || errors.Is(err, ErrClosed) {
		t.Error("a nil *Error has a cause")
	}
}

func TestResultErr(t *testing.T) {
	e := &Error{Code: CodeTimeout, Message: "no response"}
	for _, verdict := range append(verdicts[:], "") {
		for _, r := range []Result{{}, {Refusal: e}, {Failure: e}} {
			r.Verdict = verdict
			err := r.Err()
			if (err == nil) != verdict.Answered() {
				t.Errorf("%q: %v", verdict, err)
			}
			if err != nil && (r.Refusal != nil || r.Failure != nil) && err != error(e) {
				t.Errorf("%q: %v, want %v", verdict, err, e)
			}
		}
	}
}

func TestErrorIs(t *testing.T) {
	limited := fmt.Errorf("portfolio: %w", &Error{Code: CodeRateLimited, Message: "rate limited (429)"})
	if !errors.Is(limited, CodeRateLimited) || errors.Is(limited, CodeTimeout) || errors.Is(limited, ErrClosed) {
		t.Error("errors.Is does not compare the code")
	}
	// The code of the cause does not count: it is that of another request.
	if errors.Is(&Error{Code: CodeBootstrap, Err: errors.New("timeout")}, CodeTimeout) {
		t.Error("errors.Is compares text")
	}
}

func TestRetryable(t *testing.T) {
	for _, tt := range []struct {
		e    *Error
		want bool
	}{
		{nil, false},
		{&Error{Code: CodeRateLimited}, true},
		{&Error{Code: CodeServerError, Status: 502}, true},
		{&Error{Code: CodeTimeout}, true},
		{&Error{Code: CodeTransport, Status: 200}, true},
		{&Error{Code: CodeTransport, Status: 404}, false},
		{&Error{Code: CodeDNS, Err: &net.DNSError{Err: "no such host", IsNotFound: true}}, false},
		{&Error{Code: CodeDNS, Err: &net.DNSError{Err: "server misbehaving"}}, true},
		{&Error{Code: CodeTLS, Err: x509.UnknownAuthorityError{}}, false},
		{&Error{Code: CodeNotFound, Status: 404}, false},
		{&Error{Code: CodeForbidden, Status: 403}, false},
		{&Error{Code: CodeCanceled}, false},
		{&Error{Code: CodeNotSent}, false},
	} {
		if got := tt.e.Retryable(); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.e, got, tt.want)
		}
	}
}
