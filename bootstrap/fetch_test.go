package bootstrap

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"
)

func TestLifetime(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, tt := range []struct {
		header []string
		want   time.Duration
		stated bool
	}{
		{nil, 24 * time.Hour, false},
		{[]string{"Cache-Control", "public"}, 24 * time.Hour, false},
		{[]string{"Cache-Control", "public, max-age=86400"}, 24 * time.Hour, true},
		{[]string{"Cache-Control", "Max-Age=\"60\""}, time.Minute, true},
		{[]string{"Cache-Control", "max-age=60", "Expires", date(time.Hour)}, time.Minute, true},
		{[]string{"Cache-Control", "max-age=60", "Age", "20"}, 40 * time.Second, true},
		{[]string{"Cache-Control", "max-age=60", "Age", "90"}, 0, true},
		{[]string{"Cache-Control", "max-age=0"}, 0, true},
		{[]string{"Cache-Control", "max-age=60, no-cache"}, 0, true},
		{[]string{"Cache-Control", "no-store"}, 0, true},
		{[]string{"Cache-Control", "max-age=x"}, 24 * time.Hour, false},
		{[]string{"Cache-Control", "max-age=999999999999"}, maxLifetime, true},
		{[]string{"Cache-Control", "max-age=99999999999999999999"}, maxLifetime, true},
		{[]string{"Cache-Control", "max-age=3600", "Age", "99999999999999999999"}, 0, true},
		{[]string{"Expires", date(time.Hour)}, time.Hour, true},
		{[]string{"Expires", date(time.Hour), "Date", date(30 * time.Minute)}, 30 * time.Minute, true},
		{[]string{"Expires", date(-time.Hour)}, 0, true},
		{[]string{"Expires", "0"}, 0, true},
		{[]string{"Expires", date(9999 * time.Hour)}, maxLifetime, true},
	} {
		h := make(http.Header)
		for i := 0; i < len(tt.header); i += 2 {
			h.Add(tt.header[i], tt.header[i+1])
		}
		if got, stated := lifetime(h, now); got != tt.want || stated != tt.stated {
			t.Errorf("%v: %v, %v; want %v, %v", tt.header, got, stated, tt.want, tt.stated)
		}
	}
}

func TestBackoff(t *testing.T) {
	for failures, want := range map[int]time.Duration{1: time.Minute, 2: 2 * time.Minute, 5: 16 * time.Minute, 7: time.Hour, 1000: time.Hour} {
		if d := backoff(failures, errors.New("x")); d < want || d > want+want/4 {
			t.Errorf("after %d failures %v, want %v to a quarter more", failures, d, want)
		}
	}
	if d := backoff(1, &statusError{retryAfter: 3 * time.Hour}); d != 3*time.Hour {
		t.Errorf("Retry-After: %v", d)
	}
	if d := backoff(1, &statusError{retryAfter: 300 * time.Hour}); d != maxRetryAfter {
		t.Errorf("long Retry-After: %v", d)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "120": 2 * time.Minute, "-1": 0, "soon": 0, "999999999999999": maxRetryAfter, "99999999999999999999": maxRetryAfter,
		now.Add(time.Hour).Format(http.TimeFormat): time.Hour, now.Add(-time.Hour).Format(http.TimeFormat): 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// An error contains the URL once.
func TestFetchError(t *testing.T) {
	lookup := &net.DNSError{Name: "data.iana.org", Server: "192.0.2.53:53", Err: "no such host"}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{
			&url.Error{Op: "Get", URL: DefaultBaseURL, Err: &net.OpError{Op: "dial", Net: "tcp", Err: lookup}},
			DefaultBaseURL + ": cannot resolve data.iana.org: no such host",
		},
		{&url.Error{Op: "Get", URL: DefaultBaseURL, Err: io.ErrUnexpectedEOF}, DefaultBaseURL + ": unexpected EOF"},
	} {
		err := &fetchError{DefaultBaseURL, tt.err}
		if err.Error() != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
}
