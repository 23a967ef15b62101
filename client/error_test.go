package client

import (
	"errors"
	"fmt"
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
