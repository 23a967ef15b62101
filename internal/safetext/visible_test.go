package safetext

import (
	"strings"
	"testing"
)

func TestVisible(t *testing.T) {
	long := strings.Repeat("a", MaxQuoted)
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
		if got := Visible(tt.in); got != tt.want {
			t.Errorf("%q became %q, want %q", tt.in, got, tt.want)
		}
	}
}
