package render

import "testing"

// TestRowsThatGoOn checks that continuation lines are indented if there are several
// values, and that long words are not broken.
func TestRowsThatGoOn(t *testing.T) {
	const long = "one two three four five six"
	for _, tt := range []struct {
		values []string
		want   string
	}{
		{[]string{long}, "Label         one two three four five\n              six\n"},
		{
			[]string{long, "seven", "a-word-that-has-30-characters- eight"},
			"Label         one two three four five\n                six\n              seven\n" +
				"              a-word-that-has-30-characters-\n                eight\n",
		},
	} {
		p := page{opt: TextOptions{Width: 38}, palette: newPalette(false)}
		p.row("Label", texts(tt.values)...)
		if got := string(p.buf); got != tt.want {
			t.Errorf("got\n%swant\n%s", got, tt.want)
		}
	}
}
