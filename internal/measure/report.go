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
	KindBench = "bench" // several modes, or one, measured by [Run]
	KindBatch = "batch" // an ordinary run, seen by a [Recorder]
)

// A Report is what was measured. Times are in milliseconds.
type Report struct {
	Kind        string       `json:"kind"`     // one of the Kinds
	Headline    string       `json:"headline"` // what came of it, one sentence
	Notes       []string     `json:"notes"`    // what to know about the numbers, a sentence each
	Time        time.Time    `json:"time"`     // when it began
	Settings    Settings     `json:"settings"`
	RTT         RTT          `json:"rtt"`
	Modes       []Result     `json:"modes"` // in the order in which they were asked for
	Skipped     []Skipped    `json:"skipped"`
	Comparisons []Comparison `json:"comparisons"` // of the fastest with the others
	Environment Environment  `json:"environment"`
}

// Settings are what was asked for.
type Settings struct {
	Demo         bool `json:"demo"`           // the demo registry was asked
	Lookups      int  `json:"lookups"`        // of each run
	Runs         int  `json:"runs"`           // of each mode
	Jobs         int  `json:"jobs"`           // lookups at once
	LookupsInAll int  `json:"lookups_in_all"` // of all runs and warm-ups
}

// An RTT is a round trip to the servers.
type RTT struct {
	MS     float64 `json:"ms"`     // 0: not known
	Source string  `json:"source"` // how it is known
}

// A Skipped is a mode that could not be measured.
type Skipped struct {
	Mode   string `json:"mode"`
	Reason string `json:"reason"`
}

// A Result is what one mode took.
type Result struct {
	Mode       string       `json:"mode"`
	About      string       `json:"about"`
	Runs       []RunSummary `json:"runs"`
	Wall       Spread       `json:"wall_ms"`            // from the first lookup to the end of the last
	Rate       Spread       `json:"lookups_per_second"` // by the wall time
	Lookup     Quantiles    `json:"lookup_ms"`          // of the lookups of all runs
	Requests   Spread       `json:"requests"`
	Unanswered int64        `json:"unanswered"` // lookups of all runs
	failure    string       // of the first of them

	Connections  Spread `json:"connections"`
	Full         Spread `json:"full_handshakes"`
	Resumed      Spread `json:"resumed_handshakes"`
	EarlyData    Spread `json:"early_data"`              // of the resumed handshakes, those with 0-RTT
	FastOpen     Spread `json:"fast_open"`               // connections that TCP Fast Open saved a round trip
	Avoided      Spread `json:"avoided_handshakes"`      // lookups on a connection that was there
	TripsAvoided Spread `json:"round_trips_avoided"`     // by the avoided handshakes
	Saved        Spread `json:"saved_ms"`                // that reuse saved by the model of package pool, of the runs where it is known
	SavedUnknown string `json:"saved_unknown,omitempty"` // why it is not known for a run
	Retries      Spread `json:"retries"`                 // unseen repetitions
	Protocol     string `json:"protocol"`                // of the connections: "h2"; several with spaces between
	TLS          string `json:"tls"`
	BytesIn      Spread `json:"bytes_in"`
	BytesOut     Spread `json:"bytes_out"`
	CPU          Spread `json:"cpu_ms"` // of this process, user and system
	RoundTrips   Trips  `json:"round_trips"`
	Mean         Steps  `json:"mean_ms"`   // of all lookups, those that did not pay for a step count 0
	Distribution []Bin  `json:"histogram"` // of the lookups of all runs; bins are the same for all modes

	Waterfall []Line   `json:"waterfall"` // the first lookups of the run with the median time
	Servers   []Server `json:"servers"`   // the same run's

	times histogram.Histogram // of the lookups of all runs
}

// A RunSummary is one run of a mode.
type RunSummary struct {
	Wall        float64 `json:"wall_ms"`
	Requests    int64   `json:"requests"`
	Connections int64   `json:"connections"`
	Full        int64   `json:"full_handshakes"`
	Resumed     int64   `json:"resumed_handshakes"`
	EarlyData   int64   `json:"early_data"`
	Unanswered  int64   `json:"unanswered"`
}

// A Spread is the median of several runs, and their range.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Quantiles are those of durations.
type Quantiles struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
}

// Trips are round trips for each lookup.
type Trips struct {
	// Counted is by the handshakes and requests that there were.
	Counted float64 `json:"counted_per_lookup"`
	// Measured is by time: that of TCP, TLS, first byte and transfer, in round
	// trips, the mean of a run. 0: the round trip is not known, or below a
	// millisecond.
	Measured Spread `json:"measured_per_lookup"`
	// Wall is the median run in round trips; 0 as above.
	Wall float64 `json:"wall"`
}

// Steps are what lookups waited for.
type Steps struct {
	Queue     float64 `json:"queue"`
	DNS       float64 `json:"dns"`
	TCP       float64 `json:"tcp"`
	TLS       float64 `json:"tls"`
	FirstByte float64 `json:"first_byte"`
	Transfer  float64 `json:"transfer"`
}

// A Bin counts lookups that took at least From and less than To.
type Bin struct {
	From  float64 `json:"from_ms"`
	To    float64 `json:"to_ms"`
	Count uint64  `json:"count"`
}

// A Line is one lookup in a waterfall.
type Line struct {
	Query   string  `json:"query"`
	Conn    int64   `json:"conn"`     // number of its connection; 0: it never had one
	Reused  bool    `json:"reused"`   // an earlier lookup had paid for that
	Start   float64 `json:"start_ms"` // since the run's
	Steps   Steps   `json:"steps_ms"`
	Verdict string  `json:"verdict"`
}

// A Server is what one server had to do.
type Server struct {
	render.ServerReport
	Limit string `json:"limit,omitempty"` // requests in a time that were kept to: "100/1m"
}

// An Environment is where it was measured.
type Environment struct {
	Version string `json:"rdapq"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	CPUs    int    `json:"cpus"`
}

// round keeps hundredths.
func round(f float64) float64 { return math.Round(f*100) / 100 }

func millis(d time.Duration) float64 { return round(float64(d) / float64(time.Millisecond)) }

// spread returns that of values, of which there is at least one.
func spread(values []float64) Spread {
	s := slices.Sorted(slices.Values(values))
	median := s[len(s)/2]
	if len(s)%2 == 0 {
		median = (s[len(s)/2-1] + median) / 2
	}
	return Spread{Median: round(median), Min: round(s[0]), Max: round(s[len(s)-1])}
}

// Varies reports whether not all runs were the same.
func (s Spread) Varies() bool { return s.Min != s.Max }
