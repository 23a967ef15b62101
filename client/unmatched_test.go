package client

import (
	"slices"
	"testing"
	"time"

	"github.com/rdapq/rdapq/limit"
)

// What is said of a host that nothing was asked of is told; of one that was, with
// its port or without, alone or in a group, it is not.
func TestUnmatched(t *testing.T) {
	minute := limit.Rate{N: 1, Per: time.Minute}
	c, err := New(Config{
		Resolver: fewZones{},
		Rates:    map[string]limit.Rate{"ONE.example": minute, "two.example:443": minute, "thre.example": minute, "pair": minute, "pear": minute},
		Groups:   map[string]string{"three.example": "pair", "four.example": "pair"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	all := []string{"four.example", "one.example", "pair", "pear", "thre.example", "three.example", "two.example"}
	if got := c.Unmatched(); !slices.Equal(got, all) {
		t.Errorf("before: %q", got)
	}
	names := slices.Values([]string{"a.one", "a.two", "a.three", "a.zz"})
	if _, err := c.Plan(t.Context(), Inputs(names)); err != nil {
		t.Fatal(err)
	}
	if got := c.Unmatched(); !slices.Equal(got, []string{"four.example", "pear", "thre.example"}) {
		t.Errorf("after: %q", got)
	}
}
