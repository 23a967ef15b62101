package helpcache_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rdapq/rdapq/internal/helpcache"
	"github.com/rdapq/rdapq/rdap"
)

func TestClaim(t *testing.T) {
	var c helpcache.Cache
	const a, b = "https://a.example/", "https://b.example/"
	now := time.Now()
	claim := func(base string, after time.Duration, want bool) {
		t.Helper()
		if got := c.Claim(base, now.Add(after)); got != want {
			t.Errorf("%s after %v: %v, want %v", base, after, got, want)
		}
	}
	claim(a, 0, true)
	claim(a, time.Second, false)
	claim(b, time.Second, true)
	claim(a, 6*time.Second, true) // the first search takes too long
	c.Failed(b, now.Add(2*time.Second))
	claim(b, 2*time.Second, true) // after a failure, no search waits for another
	claim(b, 3*time.Second, true)
	h := new(rdap.Help)
	c.Put(a, h)
	claim(a, time.Hour, false)
	if got, ok := c.Get(a); got != h || !ok {
		t.Errorf("%v, %v", got, ok)
	}
	c.Put(b, nil)
	if got, ok := c.Get(b); got != nil || !ok {
		t.Errorf("a server without help: %v, %v", got, ok)
	}
}

// TestLimit checks that the cache limits the number of servers.
func TestLimit(t *testing.T) {
	var c helpcache.Cache
	base := func(i int) string { return fmt.Sprintf("https://%d.example/", i) }
	for i := range 1000 {
		c.Put(base(i), nil)
	}
	known := 0
	for i := range 1000 {
		if _, ok := c.Get(base(i)); ok {
			known++
		}
	}
	if _, last := c.Get(base(999)); !last || known > 256 {
		t.Errorf("%d known, the last one %v", known, last)
	}
}
