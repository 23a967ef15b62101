package client

import (
	"slices"
	"testing"
	"time"

	"github.com/rdapq/rdapq/limit"
)

// A setting for a host is reported unless a query was sent to the host. The host may have a
// port or not, and may be alone or in a group.
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
