package render

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestSafe(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "", ""},
		{"plain", "Example Registrar, Inc. (tel: +1.555)", "Example Registrar, Inc. (tel: +1.555)"},
		{"clear screen", "Evil\x1b[2J", `Evil\x1b[2J`},
		{"clipboard", "\x1b]52;c;AAAA\x07", `\x1b]52;c;AAAA\x07`},
		{"C1 CSI", "a\u009b31m", `a\x9b31m`},
		{"raw C1 byte", "a\x9b31m", `a\x9b31m`},
		{"DEL", "a\x7fb", `a\x7fb`},
		{"line breaks", "a\r\nb\tc\vd\fe", `a\x0d\x0ab\x09c\x0bd\x0ce`},
		{"NUL", "a\x00b", `a\x00b`},
		{"next line", "a\u0085b", `a\x85b`},
		{"override", "abc\u202edef\u202c", `abc\u202edef\u202c`},
		{"isolates", "\u2066a\u2069", `\u2066a\u2069`},
		{"marks", "\u200e\u200f\u061c", `\u200e\u200f\u061c`},
		{"zero width", "a\u200bb\u200cc\u200dd\u2060e\ufefff", `a\u200bb\u200cc\u200dd\u2060e\ufefff`},
		{"soft hyphen", "pay\u00adpal", `pay\xadpal`},
		{"filler", "a\u3164b", `a\u3164b`},
		{"tags", "x\U000e0041\U000e007f", `x\U000e0041\U000e007f`},
		{"separators", "a\u2028b\u2029c", `a\u2028b\u2029c`},
		{"noncharacter", "a\uffffb", `a\uffffb`},
		{"broken UTF-8", "a\xc3(\xff", `a\xc3(\xff`},
		{"U+FFFD itself", "a\ufffdb", "a\ufffdb"},
		{"surrogate half", "\xed\xa0\x80", `\xed\xa0\x80`},
		{"German", "Bücher & Straße", "Bücher & Straße"},
		{"Arabic", "مثال إختبار ٢٠٢٤", "مثال إختبار ٢٠٢٤"},
		{"Hebrew", "דוגמה", "דוגמה"},
		{"Hindi", "उदाहरण", "उदाहरण"},
		{"Thai", "ตัวอย่าง", "ตัวอย่าง"},
		{"Japanese", "株式会社　例え", "株式会社　例え"},
		{"combining", "e\u0301", "e\u0301"},
		{"no-break space", "10\u00a0km", "10\u00a0km"},
		{"emoji", "🎉 ok 👍🏽", "🎉 ok 👍🏽"},
		{"emoji style", "❤\ufe0f ©\ufe0f 1\ufe0f\u20e3", "❤\ufe0f ©\ufe0f 1\ufe0f\u20e3"},
		{"ideographic variant", "葛\U000e0100城", "葛\U000e0100城"},
		{"selector after nothing", "\ufe0fa", `\ufe0fa`},
		{"selector after a letter", "a\ufe0f", `a\ufe0f`},
		{"hidden selectors", "❤\ufe0f\ufe01\U000e0101", "❤\ufe0f" + `\ufe01\U000e0101`},
		{"selector after an escape", "\u2060\ufe0f", `\u2060\ufe0f`},
		{"backslash", `C:\x1b`, `C:\x1b`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Safe(tt.in)
			if got != tt.want {
				t.Errorf("Safe(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if again := Safe(got); again != got {
				t.Errorf("Safe of a safe string: %q became %q", got, again)
			}
		})
	}
}

func TestSafeDoesNotCopy(t *testing.T) {
	s := strings.Repeat("Bücher 株式会社 🎉 ", 20)
	if n := testing.AllocsPerRun(100, func() { Safe(s) }); n != 0 {
		t.Errorf("%v allocations for a clean string, want 0", n)
	}
}

func TestLines(t *testing.T) {
	tests := []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"\n\r\n", nil},
		{"one", []string{"one"}},
		{"\none\r\n\r\ntwo  \rthree\n\n", []string{"one", "", "two", "three"}},
		{"a\tb\x1b[2J\nc\u2028d", []string{`a b\x1b[2J`, `c\u2028d`}},
	}
	for _, tt := range tests {
		if got := Lines(tt.in); !slices.Equal(got, tt.want) {
			t.Errorf("Lines(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// checkSafe fails if s could control a terminal. It has its own list of dangerous
// characters, independent of the code under test.
func checkSafe(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("not UTF-8: %q", s)
	}
	for _, r := range s {
		switch {
		case unicode.IsControl(r),
			unicode.Is(unicode.Bidi_Control, r),
			unicode.In(r, unicode.Zl, unicode.Zp),
			r >= 0x200b && r <= 0x200f, r == 0x2060, r == 0xfeff,
			r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r == 0x2065, r >= 0xfff0 && r <= 0xfffb,
			r >= 0xe0000 && r <= 0xe007f:
			t.Fatalf("%U in %q", r, s)
		}
	}
}

func FuzzSafe(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b[2J", "\u202e", "\xff\xfe", "❤\ufe0f\ufe0f", "a\u200d\u2060", "\U000e0041", "é\u0085"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Safe(s)
		checkSafe(t, got)
		if again := Safe(got); again != got {
			t.Errorf("not idempotent: %q became %q", got, again)
		}
		if strings.IndexFunc(s, func(r rune) bool { return r < 0x20 || r > 0x7e }) < 0 && got != s {
			t.Errorf("plain text %q became %q", s, got)
		}
		for _, line := range Lines(s) {
			checkSafe(t, line)
		}
		visible := visibleText([]byte(s))
		for line := range strings.SplitSeq(visible, "\n") {
			checkSafe(t, strings.ReplaceAll(line, "\t", " "))
		}
		if n := strings.Count(s, "\n"); strings.Count(visible, "\n") != n {
			t.Errorf("%d lines became %q", n, visible)
		}
	})
}
