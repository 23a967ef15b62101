package limit

import (
	"testing"
	"time"
)

func TestStated(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Rate
	}{
		{"a limit of 10 queries per minute", Rate{10, time.Minute}},
		{"You may send at most 1,000 requests per hour.", Rate{1000, time.Hour}},
		{"Limit: 5 requests/second", Rate{5, time.Second}},
		{"100 RDAP queries in any 15 minutes", Rate{100, 15 * time.Minute}},
		{"10 lookups every 30 seconds", Rate{10, 30 * time.Second}},
		{"300 requests within a day", Rate{300, 24 * time.Hour}},
		// the limit that is stricter in the long run
		{"10 queries per minute and 100 queries per hour", Rate{100, time.Hour}},
		{"Die Grenze ist 10 queries per minute.", Rate{10, time.Minute}},

		{"Rate limit: 10 per minute", Rate{10, time.Minute}},
		{"The limit is 10 per minute.", Rate{10, time.Minute}},
		{"Quota: 100/hour", Rate{100, time.Hour}},
		{"limited to at most 5 per second", Rate{5, time.Second}},
		{"10 per minute", Rate{}},
		{"limit 10 of something per minute", Rate{}},
		{"no limit; we saw 10 per minute", Rate{}},

		{"WHOIS is limited to 5 queries per second", Rate{}},
		{"RDAP and WHOIS: 5 queries per second", Rate{5, time.Second}},
		{"1000 personal data sets per day", Rate{}},
		{"you made 10 queries", Rate{}},
		{"10 queries, minute by minute", Rate{}},
		{"0 queries per minute", Rate{}},
		{"1.5 queries per minute", Rate{}},
		{"1,00 queries per minute", Rate{}},
		{"10 queries per 0 minutes", Rate{}},
		{"10 queries per 99999 days", Rate{}},
		{"10 queries per fortnight", Rate{}},
		{"come back in 10 minutes", Rate{}},
		{"99999999999 queries per minute", Rate{}},
		{"queries per minute: 10", Rate{}},
		{"", Rate{}},
	} {
		if got := Stated(tt.text); got != tt.want {
			t.Errorf("%q: %v, want %v", tt.text, got, tt.want)
		}
	}
	if got := Stated("Too many", "20 queries per minute", "10 queries per minute"); got != (Rate{10, time.Minute}) {
		t.Errorf("of two: %v", got)
	}
}

func FuzzStated(f *testing.F) {
	for _, s := range []string{"a limit of 10 queries per minute", "1,000 requests/hour", "5 calls in any 3 days", "10 req s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := Stated(text)
		if r == (Rate{}) {
			return
		}
		if r.N < 1 || r.Per < time.Second || r.Per > MaxPer || r.Interval() < 0 {
			t.Errorf("%q: %+v", text, r)
		}
	})
}
