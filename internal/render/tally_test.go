package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/pool"
)

// stats has the statistics of three lookups at one server and two bootstrap files.
var stats = pool.Stats{
	Requests: 5, Connections: 2, Open: 2,
	Handshakes: pool.Handshakes{Full: 2, Avoided: 3},
	BytesIn:    112_345, BytesOut: 2_000,
	Setup: 360 * time.Millisecond, Saved: 360 * time.Millisecond, RoundTripsAvoided: 6,
	Origins: []pool.OriginStats{
		{Origin: "https://data.iana.example", Protocol: "h2", Stats: pool.Stats{
			Requests: 2, Connections: 1, Handshakes: pool.Handshakes{Full: 1, Avoided: 1},
			BytesIn: 100_000, BytesOut: 1_000, Saved: 180 * time.Millisecond, RoundTripsAvoided: 2,
		}},
		{Origin: "https://rdap.registry.example", Protocol: "h2", Stats: pool.Stats{
			Requests: 3, Connections: 1, Handshakes: pool.Handshakes{Full: 1, Avoided: 2},
			BytesIn: 12_345, BytesOut: 1_000, Saved: 360 * time.Millisecond, RoundTripsAvoided: 4,
		}},
	},
}

func threeLookups(t testing.TB) *Tally {
	var tally Tally
	tally.Apart("https://data.iana.example:443/rdap/dns.json")
	all := fixtures(t)
	for i, name := range []string{"domain-thin", "domain-thick", "not-found"} {
		r := all[name]
		r.Elapsed = time.Duration(i+1) * 100 * time.Millisecond
		tally.Add(r)
	}
	return &tally
}

func TestReport(t *testing.T) {
	got := threeLookups(t).Report(stats, 1234*time.Millisecond)
	// Quantiles are inexact, because buckets grow by 2%.
	near := func(name string, got, want float64) {
		if math.Abs(got-want) > want/50 {
			t.Errorf("%s is %v, want about %v", name, got, want)
		}
	}
	near("p50", got.MS.P50, 200)
	near("p95", got.MS.P95, 300)
	near("p50 of the server", got.PerServer[0].P50, 200)
	got.MS.P50, got.MS.P95, got.PerServer[0].P50 = 0, 0, 0
	want := Report{
		Lookups: 3, Requests: 3, Servers: 1, Connections: 1,
		Handshakes: HandshakeReport{Full: 1, Avoided: 2},
		BytesIn:    12_345, BytesOut: 1_000,
		MS: TimeReport{Wall: 1234, Saved: new(360.0)}, TripsAvoided: 4,
		Verdicts: map[string]int64{"registered": 2, "not_found": 1},
		PerServer: []ServerReport{{
			Server: "https://rdap.registry.example/", Lookups: 3, Requests: 3, Connections: 1,
			Handshakes: HandshakeReport{Full: 1, Avoided: 2}, Protocol: "h2", BytesIn: 12_345,
			Verdicts: map[string]int64{"registered": 2, "not_found": 1},
		}},
		BootstrapRequests: 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReportMembers(t *testing.T) {
	raw, err := json.Marshal(threeLookups(t).Report(stats, time.Second))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"lookups", "requests", "servers", "connections", "handshakes", "round_trips_avoided", "retries",
		"bytes_in", "bytes_out", "ms", "verdicts", "per_server", "bootstrap_requests",
	}
	if got := members(t, raw); !slices.Equal(got, want) {
		t.Errorf("members %q, want %q", got, want)
	}
}

func TestReportOfNothing(t *testing.T) {
	var tally Tally
	raw, err := json.Marshal(tally.Report(pool.Stats{}, 0))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "null") {
		t.Errorf("null in %s", raw)
	}
	var out bytes.Buffer
	if err := WriteReceipt(&out, tally.Report(pool.Stats{}, 0), 0); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "0 lookups\n" {
		t.Errorf("got %q", got)
	}
}

func TestServersOnOneOrigin(t *testing.T) {
	var tally Tally
	for _, server := range []string{"https://Rdap.registry.example:443/com/", "https://rdap.registry.example/net/"} {
		tally.Add(&client.Result{Server: server, Verdict: client.VerdictRegistered, Attempts: 1, Elapsed: time.Millisecond})
	}
	for _, s := range tally.Report(stats, 0).PerServer {
		if s.Connections != 1 || s.Lookups != 1 {
			t.Errorf("%s: %d connections, %d lookups, want 1 and 1", s.Server, s.Connections, s.Lookups)
		}
	}
}

func TestTallyIsBounded(t *testing.T) {
	var tally Tally
	for i := range maxServers + 1000 {
		tally.Add(&client.Result{Server: fmt.Sprintf("https://s%d.example/", i), Verdict: client.VerdictFound, Attempts: 1, Elapsed: time.Duration(i) * time.Hour})
	}
	if n := len(tally.servers); n > maxServers+1 {
		t.Errorf("%d servers are counted separately, want at most %d", n, maxServers+1)
	}
	if got := tally.servers[otherServers].lookups; got != 1000 {
		t.Errorf("%d lookups at other servers, want 1000", got)
	}
	r := fixtures(t)["domain-thin"]
	tally.Add(r)
	if n := testing.AllocsPerRun(100, func() { tally.Add(r) }); n != 0 {
		t.Errorf("%v allocations for one more result, want 0", n)
	}
}

// TestFollowedRecords checks that servers of linked records count as servers, but not
// as lookups.
func TestFollowedRecords(t *testing.T) {
	var tally Tally
	registrar := &client.Result{Server: "https://rdap.registrar.example/", Attempts: 1, Verdict: client.VerdictRegistered, Elapsed: 20 * time.Millisecond}
	above := &client.Result{Server: "https://rdap.registry.example/", Attempts: 1, Verdict: client.VerdictFound, Elapsed: 40 * time.Millisecond}
	unasked := &client.Result{Server: "https://other.example/", Verdict: client.VerdictFailed}
	tally.Add(&client.Result{
		Server: "https://rdap.registry.example/", Attempts: 1, Verdict: client.VerdictRegistered, Elapsed: 10 * time.Millisecond,
		Registrar: registrar, Related: []*client.Result{above, unasked},
	})
	r := tally.Report(pool.Stats{}, time.Second)
	if r.Lookups != 1 || r.Verdicts["registered"] != 1 || r.Servers != 2 || len(r.PerServer) != 2 {
		t.Fatalf("%+v", r)
	}
	if s := r.PerServer[0]; s.Lookups != 1 || s.Followed != 1 || serverLine(s) != "rdap.registry.example · 1 lookup · 1 linked record · "+duration(s.P50) {
		t.Errorf("%+v: %s", s, serverLine(s))
	}
	if s := r.PerServer[1]; s.Lookups != 0 || s.Followed != 1 || len(s.Verdicts) != 0 || serverLine(s) != "rdap.registrar.example · 1 linked record · "+duration(s.P50) {
		t.Errorf("%+v: %s", s, serverLine(s))
	}
}

func TestReceipt(t *testing.T) {
	r := threeLookups(t).Report(stats, 1234*time.Millisecond)
	var out bytes.Buffer
	if err := WriteReceipt(&out, r, 0); err != nil {
		t.Fatal(err)
	}
	golden(t, "receipt.txt", out.Bytes())
	if want := "3 lookups over 1 connection: 1 full handshake, 2 avoided\n  avoided   2 handshakes · 4 round trips\n  saved     about 360 ms\n"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("got %s\nwant it to begin with %s", out.String(), want)
	}
}

// TestSavedLine checks that a receipt reports savings of 0, and the reason for unknown savings.
func TestSavedLine(t *testing.T) {
	for want, change := range map[string]func(*Report){
		"about 360 ms": func(*Report) {},
		"about 0 ms: lookups waited for the same handshakes concurrently": func(r *Report) { r.MS.Saved = new(0.0) },
		"unknown: a server rate-limited the requests":                     func(r *Report) { r.WithholdSaved(pool.SavedThrottled) },
		"unknown: requests or connections failed":                         func(r *Report) { r.WithholdSaved(pool.SavedBroke) },
		"unknown: the number of concurrent requests varied":               func(r *Report) { r.WithholdSaved(pool.SavedUnbound) },
		"unknown: there were too many servers":                            func(r *Report) { r.WithholdSaved(pool.SavedForgotten) },
	} {
		r := threeLookups(t).Report(stats, time.Second)
		if change(&r); savedLine(r.MS) != want {
			t.Errorf("%q, want %q", savedLine(r.MS), want)
		}
	}
	tally := threeLookups(t)
	tally.Add(&client.Result{Verdict: client.VerdictRateLimited})
	if r := tally.Report(stats, time.Second); r.MS.Saved != nil || r.MS.Unknown != pool.SavedThrottled {
		t.Errorf("with a lookup that was refused as too many: %+v", r.MS)
	}
}

func TestReceiptOfABatch(t *testing.T) {
	r := Report{
		Lookups: 1_000_000, Requests: 1_000_412, Servers: 9, Connections: 64,
		Handshakes: HandshakeReport{Full: 60, Resumed: 4, EarlyData: 1, Avoided: 1_000_348},
		Retries:    12, BytesIn: 4_321_000_000,
		MS: TimeReport{Wall: 5_025_000, P50: 91.3, P95: 1210, Unknown: pool.SavedThrottled}, TripsAvoided: 2_000_696,
		Verdicts:          map[string]int64{"registered": 900_000, "not_found": 99_000, "rate_limited": 900, "failed": 100},
		BootstrapRequests: 3,
	}
	for i := range 9 {
		r.PerServer = append(r.PerServer, ServerReport{Server: fmt.Sprintf("https://rdap%d.example/", i), Lookups: int64(500_000 >> i), Connections: 8, Protocol: "h2", P50: 90})
	}
	var out bytes.Buffer
	if err := WriteReceipt(&out, r, 0); err != nil {
		t.Fatal(err)
	}
	golden(t, "receipt-batch.txt", out.Bytes())
}

// TestNarrowReceipt checks the width on a narrow terminal, and that one lookup has no
// percentiles.
func TestNarrowReceipt(t *testing.T) {
	r := threeLookups(t).Report(stats, 1234*time.Millisecond)
	var out bytes.Buffer
	if err := WriteReceipt(&out, r, 50); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		// Parts without a comma or dot are not broken.
		if n := columns(strings.TrimSuffix(line, "\n")); n > 50 && strings.ContainsAny(line[12:], ",·") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	r.Lookups = 1
	if s := timeLine(r); s != "1.2 s total" {
		t.Error(s)
	}
}

func TestDuration(t *testing.T) {
	for ms, want := range map[float64]string{0: "0.0 ms", 9.94: "9.9 ms", 91.3: "91 ms", 999.4: "999 ms", 999.6: "1.0 s", 4200: "4.2 s", 59_960: "1 m 0 s", 725_000: "12 m 5 s", 11_400_000: "3 h 10 m"} {
		if got := duration(ms); got != want {
			t.Errorf("%v ms is %q, want %q", ms, got, want)
		}
	}
}

func TestByteCount(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 12_345: "12.3 kB", 999_960: "1.0 MB", 4_321_000_000: "4.3 GB"} {
		if got := byteCount(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestFolded(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"short, and · simple", "short, and · simple\n"},
		{
			"581 lookups over 9 connections: 8 full handshakes, 1 resumed, 572 avoided, about 1 m 45 s saved",
			"581 lookups over 9 connections: 8 full handshakes, 1 resumed, 572 avoided,\n    about 1 m 45 s saved\n",
		},
		{
			"  traffic   1,204 requests · 3.4 MB received · 12 retried on another connection · 3 more",
			"  traffic   1,204 requests · 3.4 MB received · 12 retried on another connection\n    3 more\n",
		},
	} {
		if got := folded(tt.line, "    ", 80); got != tt.want {
			t.Errorf("%q\nwant %q", got, tt.want)
		}
	}
}

func TestReceiptOfRetries(t *testing.T) {
	for _, test := range []struct {
		all, same int64
		want      string
	}{
		{0, 0, ""},
		{3, 0, "3 retried on another connection"},
		{3, 3, "3 retried on the same connection"},
		{3, 1, "3 retried, 1 of them on the same connection"},
	} {
		got := trafficLine(Report{Requests: 9, Retries: test.all, RetriesSameConn: test.same})
		if !strings.HasSuffix(got, test.want) || test.want == "" && strings.Contains(got, "retried") {
			t.Errorf("%d, %d: %q, want %q", test.all, test.same, got, test.want)
		}
	}
}
