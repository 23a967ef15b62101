package pool

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestParseAltSvc(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	day := 24 * time.Hour
	for _, test := range []struct {
		field string
		host  string // alternative as "host:port"; empty means none
		life  time.Duration
	}{
		{`h3=":443"`, ":443", day},
		{`h3=":443"; ma=3600`, ":443", time.Hour},
		{`h3=":443";ma=3600;persist=1`, ":443", time.Hour},
		{`h3=":8443"; ma="60"`, ":8443", time.Minute},
		{`h3="alt.example:443"; ma=60`, "alt.example:443", time.Minute},
		{`h3="ALT.example:443"; ma=60`, "alt.example:443", time.Minute},
		{`h3="192.0.2.1:443"; ma=60`, "192.0.2.1:443", time.Minute},
		{`h3="[2001:db8::1]:443"; ma=60`, "[2001:db8::1]:443", time.Minute},
		{`h3="alt\.example:443"; ma=60`, "alt.example:443", time.Minute},
		{`h2="a,b;c=\"d\":443"; ma=1, h3=":443"; MA=60`, ":443", time.Minute},
		{`h3-29=":443"; ma=60, h3=":8444"; ma=61, h3=":8445"`, ":8444", 61 * time.Second},
		{`h3=":443" ; ma=60 ; other="x;y"`, ":443", time.Minute},
		{`,, h3=":443"`, ":443", day},
		{`h3=:443`, ":443", day}, // a value without quotation marks, as some servers send it
		{`h3=":443"; ma=99999999999`, "", 0},
		{`h3=":443"; ma=2147483647`, ":443", 30 * day},
		{`h3=":443"; ma=0`, "", 0},
		{`h3=":443"; ma=-1`, "", 0},
		{`h3=":443"; ma`, "", 0},
		{`h3=":443" ma=60`, "", 0},
		{`h3=":0"`, "", 0},
		{`h3=":70000"`, "", 0},
		{`h3=":https"`, "", 0},
		{`h3="443"`, "", 0},
		{`h3="alt.example"`, "", 0},
		{`h3="a b:443"`, "", 0},
		{`h3="a/b:443"`, "", 0},
		{`h3="-a:443"`, "", 0},
		{`h3="a..b:443"`, "", 0},
		{`h3="[fe80::1%eth0]:443"`, "", 0},
		{`h3=":443`, "", 0},
		{`h3=":443\`, "", 0},
		{`h3=`, "", 0},
		{`h2=":443"`, "", 0},
		{`H3=":443"`, "", 0},
		{`clear`, "", 0},
		{`h3=":53", h3="victim.example:853", h3=":80"`, "", 0}, // ports of other services
		{`h3=":1023", h3=":1024"; ma=60`, ":1024", time.Minute},
		{``, "", 0},
		{strings.Repeat(`h2=":1",`, 10) + `h3=":443"`, ":443", day},
		{strings.Repeat(`h2=":1",`, 40) + `h3=":443"`, "", 0},
		{strings.Repeat(" ", 5<<10) + `h3=":443"`, "", 0},
	} {
		a, ok := parseAltSvc(http.Header{"Alt-Svc": {test.field}}, now)
		if !ok {
			if test.host != "" {
				t.Errorf("%s: none found", test.field)
			}
			continue
		}
		if got := net.JoinHostPort(a.host, a.port); got != test.host || !a.until.Equal(now.Add(test.life)) {
			t.Errorf("%s: %s for %v, want %s for %v", test.field, got, a.until.Sub(now), test.host, test.life)
		}
	}
}

func TestAltSvcAges(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	h := http.Header{"Alt-Svc": {`h2=":1"`, `h3=":443"; ma=100`}, "Age": {"30"}}
	if a, ok := parseAltSvc(h, now); !ok || !a.until.Equal(now.Add(70*time.Second)) {
		t.Errorf("%v, %v", a, ok)
	}
	h.Set("Age", "100")
	if a, ok := parseAltSvc(h, now); ok {
		t.Errorf("an offer that was over when it came: %v", a)
	}
}

// An accepted alternative can be dialed, whatever the server has sent.
func FuzzAltSvc(f *testing.F) {
	for _, s := range []string{
		`h3=":443"; ma=3600, h2=":443"`, `clear`, `h3="alt.example:443"`, `h3="[2001:db8::1]:443";persist=1`,
		`h2="a\"b,c:1", h3=":1";ma="1"`, `h3=":443`, `;=,"\`,
	} {
		f.Add(s, "1")
	}
	now := time.Unix(1_800_000_000, 0)
	f.Fuzz(func(t *testing.T, field, age string) {
		a, ok := parseAltSvc(http.Header{"Alt-Svc": {field}, "Age": {age}}, now)
		if !ok {
			if a != (alternative{}) {
				t.Errorf("none, and yet %+v", a)
			}
			return
		}
		if n, err := strconv.ParseUint(a.port, 10, 16); err != nil || n == 0 {
			t.Errorf("port %q", a.port)
		}
		if life := a.until.Sub(now); life <= 0 || life > maxAltSvcLife {
			t.Errorf("for %v", life)
		}
		if a.host == "" {
			return
		}
		host, port, err := net.SplitHostPort(net.JoinHostPort(a.host, a.port))
		if err != nil || host != a.host || port != a.port || !validAltHost(a.host) || strings.ContainsAny(a.host, " /@?#%\x00\r\n") {
			t.Errorf("host %q: %v", a.host, err)
		}
	})
}
