package rdap

import (
	"testing"

	"github.com/rdapq/rdapq/internal/safetext"
)

// Rows and messages escape invisible characters; excerpts omit them.
func TestInvisibleCharacters(t *testing.T) {
	for _, r := range []rune{0x034f, 0x115f, 0x1160, 0x17b4, 0x2065, 0x3164, 0xfe0f, 0xffa0, 0xfff0, 0xfdd0, 0x1d173, 0xe0001} {
		s := "A" + string(r) + "B"
		row, _, err := Compact(nil, []byte(`{"handle":"`+s+`"}`))
		if want := `{"handle":"A` + string(appendEscape(nil, r)) + `B"}`; err != nil || string(row) != want {
			t.Errorf("%U: %s, %v, want %s", r, row, err, want)
		}
		if got := safetext.Visible(s); got == s {
			t.Errorf("%U: %q in a message", r, got)
		}
		if got := excerpt([]byte(s)); got != "AB" {
			t.Errorf("%U: %q in an excerpt", r, got)
		}
	}
	for _, s := range []string{"❤\ufe0f", "葛\U000e0100", "1\ufe0f\u20e3"} {
		row, _, err := Compact(nil, []byte(`{"handle":"`+s+`"}`))
		if want := `{"handle":"` + s + `"}`; err != nil || string(row) != want {
			t.Errorf("%+q: %+q, %v", s, row, err)
		}
		if got := safetext.Visible(s); got != s {
			t.Errorf("%+q: %+q in a message", s, got)
		}
	}
}
