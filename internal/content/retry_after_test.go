package content

import (
	"testing"
	"time"
)

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"2", "86400", "0", "-5", "abc", "1.5", " 3 ", "99999999999999999999", "Wed, 21 Oct 2099 07:28:00 GMT"} {
		f.Add(s)
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, value string) {
		if d := RetryAfter(value, now); d < 0 || d > maxRetryAfter {
			t.Errorf("RetryAfter(%q) = %v", value, d)
		}
	})
}
