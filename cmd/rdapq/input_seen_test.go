package main

import (
	"fmt"
	"testing"

	"github.com/rdapq/rdapq/client"
)

func TestSeenQueries(t *testing.T) {
	s := newSeenQueries()
	for round := range 2 {
		for i := range 100_000 {
			if got := s.add(client.Input{Text: fmt.Sprintf("name%d.example", i)}); got != (round == 0) {
				t.Fatalf("round %d: name%d is new: %v", round, i, got)
			}
		}
	}
	for _, text := range []string{"NAME7.example.", "  name7.EXAMPLE"} {
		if s.add(client.Input{Text: text}) {
			t.Errorf("%q asks the same", text)
		}
	}
	for _, in := range []client.Input{{Text: "name7.example", Type: client.TypeNameserver}, {Text: "not a query"}, {Text: "not a query"}} {
		if !s.add(in) {
			t.Errorf("%+v does not", in)
		}
	}
}
