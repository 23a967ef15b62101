package client

import (
	"errors"
	"fmt"
	"testing"
)

// A nil *Error in an error value, which `return r.Err` produces for a registered domain,
// can be printed and unwrapped.
func TestNilError(t *testing.T) {
	var r Result
	var err error = r.Err
	if got := fmt.Sprint(err); got != "no error" {
		t.Errorf("printed as %q", got)
	}
	if errors.Unwrap(err) != nil || errors.Is(err, ErrClosed) {
		t.Error("a nil *Error has a cause")
	}
}
