package limit

import (
	"testing"
	"time"
)

func TestParseRate(t *testing.T) {
	for _, tt := range []struct {
		text, host string
		rate       Rate
		spelled    string
	}{
		{"rdap.example=100/1m", "rdap.example", Rate{100, time.Minute}, "100/1m"},
		{" RDAP.Example:8443 = 1 / s ", "rdap.example:8443", Rate{1, time.Second}, "1/1s"},
		{"cnic=1800/15m", "cnic", Rate{1800, 15 * time.Minute}, "1800/15m"},
		{"rdap.example=1000/h", "rdap.example", Rate{1000, time.Hour}, "1000/1h"},
		{"rdap.example=5000/1d", "rdap.example", Rate{5000, 24 * time.Hour}, "5000/24h"},
		{"rdap.example=3/1h30m", "rdap.example", Rate{3, 90 * time.Minute}, "3/1h30m"},
		{"rdap.example=10/0.5s", "rdap.example", Rate{10, 500 * time.Millisecond}, "10/500ms"},
		{"[2001:db8::1]:443=1/s", "[2001:db8::1]:443", Rate{1, time.Second}, "1/1s"},
	} {
		host, rate, err := ParseRate(tt.text)
		if err != nil || host != tt.host || rate != tt.rate || rate.String() != tt.spelled {
			t.Errorf("ParseRate(%q) = %q, %v, %v; want %q, %v", tt.text, host, rate, err, tt.host, tt.rate)
		}
	}
	for _, text := range []string{
		"", "rdap.example", "=1/s", "rdap.example=", "rdap.example=10", "rdap.example=0/s", "rdap.example=-1/s",
		"rdap.example=1.5/s", "rdap.example=+1/s", "rdap.example=1/", "rdap.example=1/0s", "rdap.example=1/-1s",
		"rdap.example=1/32d", "rdap.example=1/1.5d", "rdap.example=1/week", "rdap.example=99999999999/s",
		"https://rdap.example/=1/s", "a b=1/s", "rdap.example=1/s/s",
	} {
		if host, rate, err := ParseRate(text); err == nil || host != "" || !rate.IsZero() {
			t.Errorf("ParseRate(%q) = %q, %v, %v; want an error", text, host, rate, err)
		}
	}
}

func TestBuiltin(t *testing.T) {
	rates := Builtin()
	if r := rates["rdap.org"]; r != (Rate{10, 10 * time.Second}) {
		t.Errorf("rdap.org: %v", r)
	}
	// The published limits of these operators do not count RDAP requests.
	for _, host := range []string{"rdap.nominet.uk", "rdap.db.ripe.net", "rdap.afrinic.net"} {
		if r, ok := rates[host]; ok {
			t.Errorf("%s: %v", host, r)
		}
	}
	clear(rates)
	if len(Builtin()) == 0 {
		t.Error("a caller can change what others are given")
	}
}

func FuzzParseRate(f *testing.F) {
	for _, s := range []string{"rdap.example=100/1m", "a=1/s", "a=5/1d", "a=1/1h30m", "=", "a=/", "a=1/9223372036s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		host, rate, err := ParseRate(text)
		if err != nil {
			if host != "" || rate != (Rate{}) {
				t.Errorf("%q, %v with error %v", host, rate, err)
			}
			return
		}
		if host == "" || rate.N < 1 || rate.Per < time.Millisecond || rate.Per > MaxPer || rate.Interval() < 0 {
			t.Fatalf("ParseRate(%q) = %q, %+v", text, host, rate)
		}
		// ParseRate accepts the output of String.
		again, same, err := ParseRate(host + "=" + rate.String())
		if err != nil || again != host || same != rate {
			t.Errorf("ParseRate(%q) = %q, %v, %v; want %v", host+"="+rate.String(), again, same, err, rate)
		}
	})
}
