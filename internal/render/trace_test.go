package render

import (
	"crypto/tls"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/pool"
)

const ms = time.Millisecond

func traced(t *testing.T, line int64, trace pool.Trace) *client.Result {
	t.Helper()
	q, err := client.Parse("courbu.re")
	if err != nil {
		t.Fatal(err)
	}
	return &client.Result{
		Line: line, Query: q, Verdict: client.VerdictRegistered, Status: 200, Server: "https://rdap.re.example/", Attempts: 1,
		URL: "https://rdap.re.example/domain/courbu.re", FinalURL: "https://rdap.re.example/domain/courbu.re",
		Time: time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC).Add(trace.Total), Elapsed: trace.Total, Conn: trace,
	}
}

var (
	newConn = pool.Trace{
		ConnID: 1, Protocol: "h2", TLS: tls.VersionTLS13, RemoteAddr: "[2001:db8::1]:443", BytesIn: 3703,
		Wait: 187 * ms, DNS: 5 * ms, TCP: 90 * ms, Handshake: 91 * ms, FirstByte: 92 * ms, Total: 282 * ms,
	}
	keptConn = pool.Trace{ConnID: 1, Reused: true, Protocol: "http/1.1", TLS: tls.VersionTLS12, FirstByte: 90 * ms, Total: 91 * ms}
	quicConn = pool.Trace{ConnID: 2, Protocol: "h3", TLS: tls.VersionTLS13, Wait: 95 * ms, DNS: 4 * ms, Handshake: 91 * ms, FirstByte: 92 * ms, Total: 187 * ms}
	early    = pool.Trace{ConnID: 3, Protocol: "h3", TLS: tls.VersionTLS13, Resumed: true, EarlyData: true, Handshake: 95 * ms, FirstByte: 92 * ms, Total: 93 * ms}
	plainTCP = pool.Trace{ConnID: 4, Protocol: "http/1.1", Wait: 10 * ms, TCP: 10 * ms, FirstByte: 10 * ms, Total: 20 * ms}
)

// TestTraceOfARow checks that names and meanings equal those of curl.
func TestTraceOfARow(t *testing.T) {
	redirected := traced(t, 1, keptConn)
	redirected.FinalURL, redirected.Elapsed = "https://other.example/", 391*ms
	again := traced(t, 1, keptConn)
	again.Attempts, again.Conn.Retries, again.Elapsed = 3, 1, 91*ms
	for name, tt := range map[string]struct {
		r    *client.Result
		want string
	}{
		"new": {traced(t, 1, newConn), `{"connection":1,"num_connects":1,"num_retries":0,"http_version":"2","remote_ip":"2001:db8::1","remote_port":443,"size_download":3703,` +
			`"time_queue":0.001000,"time_namelookup":0.006000,"time_connect":0.096000,"time_appconnect":0.187000,"time_pretransfer":0.187000,"time_starttransfer":0.279000,"time_redirect":0.000000,"time_total":0.282000}`},
		"kept": {traced(t, 1, keptConn), `{"connection":1,"num_connects":0,"num_retries":0,"http_version":"1.1","size_download":0,` +
			`"time_queue":0.000000,"time_namelookup":0.000000,"time_connect":0.000000,"time_appconnect":0.000000,"time_pretransfer":0.000000,"time_starttransfer":0.090000,"time_redirect":0.000000,"time_total":0.091000}`},
		"HTTP/3": {traced(t, 1, quicConn), `{"connection":2,"num_connects":1,"num_retries":0,"http_version":"3","size_download":0,` +
			`"time_queue":0.000000,"time_namelookup":0.004000,"time_connect":0.095000,"time_appconnect":0.095000,"time_pretransfer":0.095000,"time_starttransfer":0.187000,"time_redirect":0.000000,"time_total":0.187000}`},
		"0-RTT": {traced(t, 1, early), `{"connection":3,"num_connects":1,"num_retries":0,"http_version":"3","size_download":0,` +
			`"time_queue":0.000000,"time_namelookup":0.000000,"time_connect":0.000000,"time_appconnect":0.000000,"time_pretransfer":0.000000,"time_starttransfer":0.092000,"time_redirect":0.000000,"time_total":0.093000}`},
		"no TLS": {traced(t, 1, plainTCP), `{"connection":4,"num_connects":1,"num_retries":0,"http_version":"1.1","size_download":0,` +
			`"time_queue":0.000000,"time_namelookup":0.000000,"time_connect":0.010000,"time_appconnect":0.000000,"time_pretransfer":0.010000,"time_starttransfer":0.020000,"time_redirect":0.000000,"time_total":0.020000}`},
		"redirected": {redirected, `{"connection":1,"num_connects":0,"num_retries":0,"http_version":"1.1","size_download":0,` +
			`"time_queue":0.000000,"time_namelookup":0.300000,"time_connect":0.000000,"time_appconnect":0.000000,"time_pretransfer":0.300000,"time_starttransfer":0.390000,"time_redirect":0.300000,"time_total":0.391000}`},
		"repeated": {again, `{"connection":1,"num_connects":0,"num_retries":3,"http_version":"1.1","size_download":0,` +
			`"time_queue":0.000000,"time_namelookup":0.000000,"time_connect":0.000000,"time_appconnect":0.000000,"time_pretransfer":0.000000,"time_starttransfer":0.090000,"time_redirect":0.000000,"time_total":0.091000}`},
	} {
		if got := string(appendTrace(nil, tt.r)); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tt.want)
		}
	}
}

// TestTraceOnRequest checks that rows, including nested ones, have a trace only on
// request.
func TestTraceOnRequest(t *testing.T) {
	r := traced(t, 1, newConn)
	r.Registrar = traced(t, 0, keptConn)
	if got := string(AppendRow(nil, r)); strings.Contains(got, "trace") {
		t.Errorf("%s", got)
	}
	var row struct {
		Trace     map[string]any
		Registrar struct{ Trace map[string]any }
	}
	got := appendRow(nil, r, true)
	if err := json.Unmarshal(got, &row); err != nil || row.Trace["num_connects"] != 1.0 || row.Registrar.Trace["num_connects"] != 0.0 {
		t.Errorf("%s: %v", got, err)
	}
	r.Conn, r.Registrar = pool.Trace{}, nil
	if got := string(appendRow(nil, r, true)); strings.Contains(got, "trace") {
		t.Errorf("without a connection: %s", got)
	}
}

func TestTraces(t *testing.T) {
	var none, traces Traces
	var b strings.Builder
	if err := none.Write(&b, 80); err != nil || b.Len() != 0 {
		t.Errorf("%q, %v", b.String(), err)
	}
	r := traced(t, 1, newConn)
	r.Registrar = traced(t, 0, quicConn)
	r.Registrar.Server = "https://rdap.registrar.example/"
	r.Registrar.Time = r.Time.Add(200 * ms)
	traces.Add(r)
	second := traced(t, 2, keptConn)
	second.Time = r.Time.Add(91 * ms)
	traces.Add(second)
	traces.Add(traced(t, 3, early))
	failed := traced(t, 4, pool.Trace{})
	failed.Elapsed, failed.Verdict, failed.Failure = 40*ms, client.VerdictFailed, &client.Error{Code: "refused"}
	traces.Add(failed)
	cached := traced(t, 5, pool.Trace{})
	cached.Cached = true
	traces.Add(cached)
	if err := traces.Write(&b, 80); err != nil {
		t.Fatal(err)
	}
	golden(t, "trace.txt", []byte(b.String()))
	for line := range strings.Lines(b.String()) {
		if n := columns(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns in %q", n, line)
		}
	}
	for range 2 * maxTraces {
		traces.Add(second)
	}
	b.Reset()
	if err := traces.Write(&b, 0); err != nil || !strings.HasSuffix(b.String(), "\nand 46 more lookups\n") {
		t.Errorf("%q, %v", b.String()[max(b.Len()-80, 0):], err)
	}
}

// TestWaterfall checks that bars end at their time, on the scale of the longest bar.
func TestWaterfall(t *testing.T) {
	bars := []Bar{
		{Label: "mode"},
		{Label: "a", TCP: 90, TLS: 90, FirstByte: 90},
		{Label: "b\x1b[2J", Start: 270, Queue: 30, FirstByte: 90, Transfer: 10},
		{Label: "short", Start: 395, FirstByte: 1},
	}
	want := "mode\n" +
		"a         ▒▒▒▒▒▒▒▒▒▓▓▓▓▓▓▓▓▓▓█████████ 270 ms\n" +
		"b\\x1b[2J                              ····█████████─ 130 ms\n" +
		"short                                              █ 1.0 ms\n" +
		"· queue   ▒ TCP   ▓ TLS   █ first byte   ─ transfer   same scale\n"
	if got := Waterfall(bars, 10+2+40+8); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestTimingAddsUp checks that the timings of --verbose are disjoint parts of the
// total.
func TestTimingAddsUp(t *testing.T) {
	for want, trace := range map[string]pool.Trace{
		"queue 1.0 ms · DNS 5.0 ms · TCP 90 ms · TLS 91 ms · first byte 92 ms · transfer 3.0 ms · total 282 ms": newConn,
		"first byte 90 ms · transfer 1.0 ms · total 91 ms":                                                      keptConn,
	} {
		r := &client.Result{Query: client.Query{Text: "a.example"}, Verdict: client.VerdictRegistered, Conn: trace}
		got := string(AppendText(nil, r, TextOptions{Now: noon, Verbose: true}))
		if !strings.Contains(got, "\nTiming        "+want+"\n") {
			t.Errorf("want %s\ngot %s", want, got)
		}
	}
}
