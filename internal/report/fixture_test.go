package report

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdapq/rdapq/internal/measure"
	"github.com/rdapq/rdapq/internal/render"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (to create it, run: go test ./internal/report -update)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func spread(median, low, high float64) measure.Spread {
	return measure.Spread{Median: median, Min: low, Max: high}
}

func same(f float64) measure.Spread { return spread(f, f, f) }

// bench returns a report with distinct numbers.
func bench() *measure.Report {
	steps := measure.Steps{TCP: 90.4, TLS: 92.1, FirstByte: 91.2, Transfer: .3}
	kept := measure.Steps{FirstByte: 91.2, Transfer: .2}
	waited := measure.Steps{Queue: 182.5, FirstByte: 91.3, Transfer: .1}
	server := func(connections int64) []measure.Server {
		return []measure.Server{{
			ServerReport: render.ServerReport{
				Server: "https://rdap.re.example/", Lookups: 40, Requests: 40, Connections: connections,
				Handshakes: render.HandshakeReport{Full: connections, Avoided: 40 - connections},
				Protocol:   "h2", BytesIn: 157_100, P50: 92.3, Verdicts: map[string]int64{"registered": 39, "rate_limited": 1},
			},
			Limit: "100/1m",
		}}
	}
	reuse := measure.Result{
		Mode: "reuse", About: "connections reused", Runs: []measure.RunSummary{{Wall: 1098.12}, {Wall: 1101.5}, {Wall: 1112.75}},
		Wall: spread(1101.5, 1098.12, 1112.75), Rate: spread(36.31, 35.95, 36.43),
		Lookup: measure.Quantiles{Mean: 111.4, P50: 92.3, P95: 273.5, P99: 278.1}, Requests: same(40),
		Connections: same(2), Full: same(2), Avoided: same(38), Protocol: "h2", TLS: "1.3",
		BytesIn: spread(157_100, 157_000, 157_163), BytesOut: same(9_812), CPU: spread(18.2, 17.4, 25.3),
		RoundTrips:   measure.Trips{Counted: 1.1, Measured: spread(1.12, 1.11, 1.14), Wall: 12.24},
		Mean:         measure.Steps{Queue: 9.21, TCP: 4.52, TLS: 4.61, FirstByte: 91.7, Transfer: .04},
		Distribution: []measure.Bin{{From: 0, To: 100, Count: 108}, {From: 100, To: 200}, {From: 200, To: 300, Count: 12}},
		Waterfall: []measure.Line{
			{Query: "courbu.re", Conn: 1, Start: .2, Steps: steps, Verdict: "registered"},
			{Query: "nic.re", Conn: 1, Reused: true, Start: .3, Steps: waited, Verdict: "registered"},
			{Query: "copacabana.re", Conn: 1, Reused: true, Start: 274.9, Steps: kept, Verdict: "rate_limited"},
		},
		Servers: server(2),
	}
	none := measure.Result{
		Mode: "no-reuse", About: "a connection and a full handshake each", Runs: []measure.RunSummary{{Wall: 2755}, {Wall: 2761}, {Wall: 2794}},
		Wall: spread(2761, 2755, 2794), Rate: spread(14.49, 14.32, 14.52),
		Lookup: measure.Quantiles{Mean: 276.1, P50: 275.6, P95: 279.2, P99: 301.8}, Requests: same(40),
		Connections: spread(40, 40, 41), Full: spread(40, 40, 41), Protocol: "h2", TLS: "1.3",
		BytesIn: same(234_600), BytesOut: same(73_100), CPU: spread(80.1, 75.2, 107.4),
		RoundTrips:   measure.Trips{Counted: 3, Measured: spread(3.07, 3.06, 3.12), Wall: 30.68},
		Mean:         measure.Steps{Queue: .12, TCP: 91.1, TLS: 93.2, FirstByte: 91.8, Transfer: .05},
		Distribution: []measure.Bin{{From: 0, To: 100}, {From: 100, To: 200}, {From: 200, To: 300, Count: 120}},
		Waterfall: []measure.Line{
			{Query: "courbu.re", Conn: 1, Start: .1, Steps: steps, Verdict: "registered"},
			{Query: "nic.re", Conn: 2, Start: .4, Steps: steps, Verdict: "registered"},
			{Query: "copacabana.re", Conn: 3, Start: 275.5, Steps: steps, Verdict: "registered"},
		},
		Servers: server(40),
	}
	return &measure.Report{
		Kind: measure.KindBench, Headline: "reuse was 2.5 times faster than no-reuse: 38 handshakes avoided",
		Notes:    []string{"CPU time includes the demo servers, which run in this process"},
		Time:     time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC),
		Settings: measure.Settings{Demo: true, Lookups: 40, Runs: 3, Jobs: 4, LookupsInAll: 244},
		RTT:      measure.RTT{MS: 90, Source: "emulated"},
		Modes:    []measure.Result{reuse, none},
		Skipped:  []measure.Skipped{{Mode: "fast-open", Reason: "TCP Fast Open needs a real network path"}},
		Comparisons: []measure.Comparison{{
			Mode: "reuse", Than: "no-reuse", Times: spread(2.51, 2.48, 2.54), Significant: true, Avoided: 38,
		}},
		Environment: measure.Environment{Version: "0.1.0", Go: "go1.26.8", OS: "linux", Arch: "amd64", CPUs: 2},
	}
}

// several returns a bench report with n modes.
func several(n int) *measure.Report {
	r := bench()
	modes := r.Modes
	names := []string{"reuse", "no-reuse", "no-reuse+h2+tls1.2", "resume+tls1.2", "h1", "h2", "h3", "0rtt", "no-reuse+0rtt"}
	r.Modes, r.Comparisons = nil, nil
	for i := range n {
		m := modes[i%2]
		m.Mode = names[i]
		r.Modes = append(r.Modes, m)
		if i > 0 {
			r.Comparisons = append(r.Comparisons, measure.Comparison{Mode: names[0], Than: names[i], Times: spread(1, .9, 1.1), Why: "their ranges overlap"})
		}
	}
	return r
}
