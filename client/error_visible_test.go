package client

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestVisible(t *testing.T) {
	long := strings.Repeat("a", maxQuoted)
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"object redacted", "object redacted"},
		{long, long},
		{long + "b", long + "…"},
		{long + " b", long + " …"},
		{" a", "a"},
		{"a ", "a"},
		{" ", ""},
		{"a  b", "a b"},
		{"a\tb\n", "a b"},
		{"a\x1b[31mb", `a\u001b[31mb`},
		{"a\x7f", `a\u007f`},
		{"réunion", "réunion"},
		{"a\u202eb", `a\u202eb`},
		{"a\U000e0001", `a\U000e0001`},
		{"a\xff", "a\ufffd"},
	} {
		if got := visible(tt.in); got != tt.want {
			t.Errorf("%q became %q, want %q", tt.in, got, tt.want)
		}
	}
}

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
