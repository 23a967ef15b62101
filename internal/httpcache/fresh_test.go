package httpcache

import (
	"net/http"
	"testing"
	"time"
)

// Single header fields have the meaning of RFC 9111 for a private cache.
func TestFreshness(t *testing.T) {
	came := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return came.Add(d).Format(http.TimeFormat) }
	const s = time.Second
	for _, tt := range []struct {
		name   string
		header []string // alternating names and values of header fields
		took   time.Duration
		keep   bool
		fresh  time.Duration
	}{
		{"silence", nil, 0, true, 0},
		{"5.2.2.1 max-age", []string{"Cache-Control", "max-age=60"}, 0, true, 60 * s},
		{"upper case", []string{"CACHE-CONTROL", "Public, MAX-AGE=60"}, 0, true, 60 * s},
		{"5.2 quoted", []string{"Cache-Control", `max-age="60"`}, 0, true, 60 * s},
		{"quoted commas", []string{"Cache-Control", `ext="a, no-store", max-age=60`}, 0, true, 60 * s},
		{"4.2.1 twice", []string{"Cache-Control", "max-age=60", "Cache-Control", "max-age=30"}, 0, true, 30 * s},
		{"4.2.1 invalid", []string{"Cache-Control", "max-age=soon"}, 0, true, 0},
		{"4.2.1 invalid beats Expires", []string{"Cache-Control", "max-age=-1", "Expires", at(60 * s)}, 0, true, 0},
		{"1.2.2 overflow", []string{"Cache-Control", "max-age=99999999999999999999"}, 0, true, maxLifetime},
		{"5.2.2.5 no-store", []string{"Cache-Control", "no-store, max-age=60"}, 0, false, 60 * s},
		{"5.2.2.4 no-cache", []string{"Cache-Control", "max-age=60, no-cache"}, 0, true, 0},
		{"5.2.2.4 no-cache with fields", []string{"Cache-Control", `no-cache="set-cookie, x", max-age=60`}, 0, true, 0},
		{"5.2.2.7 private", []string{"Cache-Control", "private, max-age=60"}, 0, true, 60 * s},
		{"5.2.2.10 s-maxage", []string{"Cache-Control", "s-maxage=600, max-age=60"}, 0, true, 60 * s},
		{"s-maxage alone", []string{"Cache-Control", "s-maxage=600"}, 0, true, 0},
		{"5.3 Expires", []string{"Expires", at(60 * s)}, 0, true, 60 * s},
		{"Expires by the server's clock", []string{"Date", at(-60 * s), "Expires", at(0)}, 0, true, 0},
		{"server's clock is ahead", []string{"Date", at(600 * s), "Expires", at(660 * s)}, 0, true, 60 * s},
		{"5.3 max-age beats Expires", []string{"Cache-Control", "max-age=60", "Expires", at(600 * s)}, 0, true, 60 * s},
		{"5.3 invalid", []string{"Expires", "0"}, 0, true, 0},
		{"past", []string{"Expires", at(-60 * s)}, 0, true, 0},
		{"5.1 Age", []string{"Cache-Control", "max-age=60", "Age", "20"}, 0, true, 40 * s},
		{"too old", []string{"Cache-Control", "max-age=60", "Age", "70"}, 0, true, 0},
		{"Age is no number", []string{"Cache-Control", "max-age=60", "Age", "old"}, 0, true, 60 * s},
		{"4.2.3 time on the way", []string{"Cache-Control", "max-age=60", "Age", "20"}, 5 * s, true, 35 * s},
		{"4.2.3 apparent age", []string{"Cache-Control", "max-age=60", "Date", at(-50 * s), "Age", "20"}, 0, true, 10 * s},
		{"4.1 Vary", []string{"Cache-Control", "max-age=60", "Vary", "Accept, *"}, 0, false, 60 * s},
		{"Vary by what we send", []string{"Cache-Control", "max-age=60", "Vary", "Accept, Accept-Language"}, 0, true, 60 * s},
		{"4.2.2 nothing is guessed", []string{"Last-Modified", at(-1000 * s)}, 0, true, 0},
	} {
		h := make(http.Header)
		for i := 0; i < len(tt.header); i += 2 {
			h.Add(tt.header[i], tt.header[i+1])
		}
		if got := freshnessOf(h, came.Add(-tt.took), came); got != (freshness{tt.keep, tt.fresh}) {
			t.Errorf("%s: %+v, want keep %v, fresh %v", tt.name, got, tt.keep, tt.fresh)
		}
	}
}
