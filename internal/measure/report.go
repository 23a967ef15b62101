package measure

import (
	"math"
	"slices"
	"time"

	"github.com/rdapq/rdapq/internal/histogram"
	"github.com/rdapq/rdapq/internal/render"
)

// Kinds of a [Report].
const (
	KindBench = "bench" // a measurement of one or several modes by [Run]
	KindBatch = "batch" // an ordinary run, recorded by a [Recorder]
)

// A Report is the result of a measurement. Times are in milliseconds.
type Report struct {
	Kind        string       `json:"kind"`     // kind of the report: KindBench or KindBatch
	Headline    string       `json:"headline"` // result in one sentence
	Notes       []string     `json:"notes"`    // conditions of the measurement, one sentence each
	Time        time.Time    `json:"time"`     // start of the measurement
	Settings    Settings     `json:"settings"`
	RTT         RTT          `json:"rtt"`
	Modes       []Result     `json:"modes"` // results of the modes, in the requested order
	Skipped     []Skipped    `json:"skipped"`
	Comparisons []Comparison `json:"comparisons"` // comparisons of the fastest mode with the others
	Environment Environment  `json:"environment"`
}

// Settings holds the parameters of a measurement.
type Settings struct {
	Demo         bool `json:"demo"`           // the demo registry was used
	Lookups      int  `json:"lookups"`        // number of lookups per run
	Runs         int  `json:"runs"`           // number of runs per mode
	Jobs         int  `json:"jobs"`           // number of concurrent lookups
	LookupsInAll int  `json:"lookups_in_all"` // number of lookups including warm-ups
}

// An RTT is the round-trip time to the servers.
type RTT struct {
	MS     float64 `json:"ms"`     // round-trip time; 0 means unknown
	Source string  `json:"source"` // method that determined the time
}

// A Skipped describes a mode that could not be measured.
type Skipped struct {
	Mode   string `json:"mode"`
	Reason string `json:"reason"`
}

// A Result holds the measurement of one mode.
type Result struct {
	Mode  string       `json:"mode"`
	About string       `json:"about"`
	Runs  []RunSummary `json:"runs"`
	// time from the start of the first lookup to the end of the last lookup
	Wall       Spread    `json:"wall_ms"`
	Rate       Spread    `json:"lookups_per_second"` // rate of lookups, based on the wall time
	Lookup     Quantiles `json:"lookup_ms"`          // quantiles of the lookups of all runs
	Requests   Spread    `json:"requests"`
	Unanswered int64     `json:"unanswered"` // number of unanswered lookups in all runs
	failure    string    // error of the first failed lookup

	Connections Spread `json:"connections"`
	Full        Spread `json:"full_handshakes"`
	Resumed     Spread `json:"resumed_handshakes"`
	EarlyData   Spread `json:"early_data"`         // resumed handshakes with 0-RTT
	FastOpen    Spread `json:"fast_open"`          // connections with a round trip saved by TCP Fast Open
	Avoided     Spread `json:"avoided_handshakes"` // lookups sent on an existing connection
	// round trips that the avoided handshakes would have taken
	TripsAvoided Spread `json:"round_trips_avoided"`
	Saved        Spread `json:"saved_ms"`                // time saved by reuse, by the model of package pool, over the runs where it is known
	SavedUnknown string `json:"saved_unknown,omitempty"` // reason why the time saved is unknown for a run
	Retries      Spread `json:"retries"`                 // transparent retries
	// protocol of the connections, such as "h2"; spaces separate several protocols
	Protocol   string `json:"protocol"`
	TLS        string `json:"tls"`
	BytesIn    Spread `json:"bytes_in"`
	BytesOut   Spread `json:"bytes_out"`
	CPU        Spread `json:"cpu_ms"` // CPU time of this process, user and system
	RoundTrips Trips  `json:"round_trips"`
	Mean       Steps  `json:"mean_ms"` // mean over all lookups; a skipped step counts as 0
	// distribution of the lookups of all runs; all modes have the same bins
	Distribution []Bin `json:"histogram"`

	Waterfall []Line   `json:"waterfall"` // first lookups of the run with the median time
	Servers   []Server `json:"servers"`   // servers of the same run

	times histogram.Histogram // durations of the lookups of all runs
}

// A RunSummary summarizes one run.
type RunSummary struct {
	Wall        float64 `json:"wall_ms"`
	Requests    int64   `json:"requests"`
	Connections int64   `json:"connections"`
	Full        int64   `json:"full_handshakes"`
	Resumed     int64   `json:"resumed_handshakes"`
	EarlyData   int64   `json:"early_data"`
	Unanswered  int64   `json:"unanswered"`
}

// A Spread holds the median and the range of a value over several runs.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Quantiles holds quantiles of durations.
type Quantiles struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
}

// Trips holds numbers of round trips per lookup.
type Trips struct {
	// Counted is derived from the number of handshakes and requests.
	Counted float64 `json:"counted_per_lookup"`
	// Measured is the mean time of TCP, TLS, first byte and transfer, divided by the
	// round-trip time. It is 0 if the round-trip time is unknown or below a millisecond.
	Measured Spread `json:"measured_per_lookup"`
	// Wall is the duration of the median run divided by the round-trip time. It is 0 in the
	// same cases as Measured.
	Wall float64 `json:"wall"`
}

// Steps holds the durations of the steps of a lookup.
type Steps struct {
	Queue     float64 `json:"queue"`
	DNS       float64 `json:"dns"`
	TCP       float64 `json:"tcp"`
	TLS       float64 `json:"tls"`
	FirstByte float64 `json:"first_byte"`
	Transfer  float64 `json:"transfer"`
}

// A Bin counts lookups with a duration of at least From and less than To.
type Bin struct {
	From  float64 `json:"from_ms"`
	To    float64 `json:"to_ms"`
	Count uint64  `json:"count"`
}

// A Line is one lookup in a waterfall.
type Line struct {
	Query   string  `json:"query"`
	Conn    int64   `json:"conn"`     // number of the connection; 0 means none
	Reused  bool    `json:"reused"`   // another lookup had opened the connection
	Start   float64 `json:"start_ms"` // time since the start of the run
	Steps   Steps   `json:"steps_ms"`
	Verdict string  `json:"verdict"`
}

// A Server holds the statistics of one server.
type Server struct {
	render.ServerReport
	Limit string `json:"limit,omitempty"` // rate limit in effect, such as "100/1m"
}

// An Environment describes the system of a measurement.
type Environment struct {
	Version string `json:"rdapq"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	CPUs    int    `json:"cpus"`
}

// round rounds to two decimals.
func round(f float64) float64 { return math.Round(f*100) / 100 }

func millis(d time.Duration) float64 { return round(float64(d) / float64(time.Millisecond)) }

// spread returns the Spread of values, which must not be empty.
func spread(values []float64) Spread {
	s := slices.Sorted(slices.Values(values))
	median := s[len(s)/2]
	if len(s)%2 == 0 {
		median = (s[len(s)/2-1] + median) / 2
	}
	return Spread{Median: round(median), Min: round(s[0]), Max: round(s[len(s)-1])}
}

// Varies reports whether the runs differ.
func (s Spread) Varies() bool { return s.Min != s.Max }
