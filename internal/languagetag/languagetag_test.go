package languagetag

import "testing"

func TestRank(t *testing.T) {
	preferred := []string{"de-AT", "en"}
	for tag, want := range map[string]int{
		"de-AT": 0, "DE-at": 0, "de-AT-1996": 0, "de": 0, "en": 1, "en-GB": 1, "": 2, "fr": 3, "den": 3, "de-CH": 3, "e": 3,
	} {
		if got := Rank(tag, preferred); got != want {
			t.Errorf("%q: %d, want %d", tag, got, want)
		}
	}
}
