package safetext

import (
	"strings"
	"testing"
	"unicode"
)

// TestUnsafe checks that the table contains all controls, separators and characters
// that Unicode ignores in display, except visible ones of category Cf.
func TestUnsafe(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		want := unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point) ||
			r == 0x034f || r == 0x17b4 || r == 0x17b5
		if isVisibleFormat(r) {
			want = false
		}
		if IsSelector(r) {
			continue
		}
		if got := Unsafe(r); got != want {
			t.Errorf("Unsafe(%U) = %v, want %v", r, got, want)
		}
	}
	for _, r := range []rune{0x115f, 0x1160, 0x2065, 0x3164, 0xffa0, 0xfff0, 0x1bca0, 0x1d173, 0xe0020} {
		if !Unsafe(r) {
			t.Errorf("Unsafe(%U) = false", r)
		}
	}
}

func TestUnsafeAfter(t *testing.T) {
	for _, tt := range []struct {
		r, before rune
		want      bool
	}{
		{0xfe0f, '❤', false},
		{0xfe0f, 'a', true},
		{0xfe0f, 0, true},
		{0xe0100, '葛', false},
		{0xe0100, 0xe0100, true},
		{0x180b, 0x1820, false},
		{0x180b, 0x180b, true},
		{0xfe00, 0x1000, false},
		{0x202e, '❤', true},
		{'a', 0, false},
	} {
		if got := UnsafeAfter(tt.r, tt.before); got != tt.want {
			t.Errorf("UnsafeAfter(%U, %U) = %v", tt.r, tt.before, got)
		}
	}
}

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
