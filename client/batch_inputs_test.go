package client_test

import (
	"slices"
	"testing"

	"github.com/rdapq/rdapq/client"
)

// Inputs numbers texts from 1, restarts at 1 with each iteration, and reads no text that
// is not needed.
func TestInputs(t *testing.T) {
	read := 0
	inputs := client.Inputs(func(yield func(string) bool) {
		for _, text := range []string{"a.example", "", "b.example"} {
			if read++; !yield(text) {
				return
			}
		}
	})
	for range 2 {
		var got []client.Input
		for in, err := range inputs {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, in); len(got) == 2 {
				break
			}
		}
		if len(got) != 2 || got[0].Line != 1 || got[0].Text != "a.example" || got[1].Line != 2 || got[1].Text != "" {
			t.Errorf("%+v", got)
		}
	}
	if read != 4 {
		t.Errorf("%d texts were read, want 4", read)
	}
	for in := range client.Inputs(slices.Values([]string(nil))) {
		t.Errorf("of nothing came %+v", in)
	}
}
