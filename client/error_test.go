package client

import (
	"errors"
	"fmt"
	"testing"
)

// A nil *Error in an error, as `return r.Err` makes one of a registered domain's
// Result, can be printed and looked into.
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
