package render

import "testing"

// Of several values, what goes on in the next line is told from the next value by
// its indent; a single one needs none. Words that are too long stay whole.
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
