package measure

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/unshared"
	"github.com/rdapq/rdapq/pool"
)

// A Config configures [Run].
type Config struct {
	Queries []client.Query // at least one query; repeated from the first query as needed
	Modes   []Mode         // at least one mode
	Lookups int            // number of lookups per run
	Runs    int            // number of runs per mode
	Jobs    int            // number of concurrent lookups
	Demo    bool           // the servers are in this process
	RTT     time.Duration  // round-trip time that the demo emulates; 0 means use the fastest TCP handshake

	Resolver client.Resolver // finds the servers of queries for the warm-up

	// Setup returns the configuration for a mode, and Run adds the mode's own settings. An
	// [*UnavailableError] skips the mode.
	Setup func(Mode) (Setup, error)

	// Progress is called at the start of each run of a mode. Runs count from 1; run 0 is the
	// warm-up. Progress may be nil.
	Progress func(mode string, run int)
}

// A Setup configures pool and client. Pool.TLS must not be nil. Run sets Sessions and Origins
// according to the mode.
type Setup struct {
	Pool   pool.Config
	Client client.Config
}

// An UnavailableError reports why a mode cannot be measured.
type UnavailableError struct{ Reason string }

func (e *UnavailableError) Error() string { return e.Reason }

// A contender is a mode under measurement.
type contender struct {
	mode     Mode
	setup    Setup
	sessions *sessionCache // TLS sessions of the mode; nil means runs do not share sessions
	runs     []run
}

// Run measures the modes. Each mode starts with an uncounted warm-up of one lookup per server.
// Then the runs of the modes are interleaved. Each run starts with no open connections. An
// error means that nothing could be measured or that ctx ended; the report counts failed
// lookups.
func Run(ctx context.Context, c Config) (*Report, error) {
	r := &Report{
		Kind: KindBench, Time: time.Now().UTC().Truncate(time.Millisecond), Notes: []string{}, Skipped: []Skipped{},
		Settings:    Settings{Demo: c.Demo, Lookups: c.Lookups, Runs: c.Runs, Jobs: c.Jobs},
		Environment: environment(),
	}
	var contenders []*contender
	for _, m := range c.Modes {
		setup, err := c.Setup(m)
		if missing, ok := errors.AsType[*UnavailableError](err); ok {
			r.Skipped = append(r.Skipped, Skipped{m.Name, missing.Reason})
			continue
		}
		if err != nil {
			return nil, err
		}
		one := &contender{mode: m, setup: setup}
		if m.Resume {
			one.sessions = newSessionCache()
		}
		contenders = append(contenders, one)
	}
	warm := warmUp(ctx, c.Resolver, c.Queries)
	queries := make([]client.Query, c.Lookups)
	for i := range queries {
		queries[i] = c.Queries[i%len(c.Queries)]
	}
	for _, one := range contenders {
		c.reportProgress(one, 0)
		if _, err := one.run(ctx, warm, c.Jobs); err != nil {
			return nil, err
		}
	}
	r.Settings.LookupsInAll = len(contenders) * (len(warm) + c.Runs*c.Lookups)
	for i := range c.Runs {
		order := slices.Clone(contenders)
		if i%2 == 1 {
			slices.Reverse(order) // alternate, so that no mode is always first
		}
		for _, one := range order {
			c.reportProgress(one, i+1)
			done, err := one.run(ctx, queries, c.Jobs)
			if err != nil {
				return nil, err
			}
			one.runs = append(one.runs, done)
		}
	}
	r.finish(contenders, c)
	return r, nil
}

func (c *Config) reportProgress(one *contender, run int) {
	if c.Progress != nil {
		c.Progress(one.mode.Name, run)
	}
}

// minRTT is the shortest round-trip time that is used for counting.
const minRTT = time.Millisecond

// roundTrip sets the round-trip time of the report. It returns 0 if the time is too
// short for counting.
func (r *Report) roundTrip(demo bool, emulated, fastest time.Duration) time.Duration {
	rtt := emulated
	r.RTT.Source = "emulated"
	if !demo {
		rtt = fastest
		r.RTT.Source = "fastest TCP handshake"
	}
	if r.RTT.MS = millis(rtt); rtt <= 0 {
		r.RTT.Source = "unknown"
	}
	if rtt < minRTT {
		return 0 // other delays dominate a very short time
	}
	return rtt
}

// finish computes the report from the runs.
func (r *Report) finish(contenders []*contender, c Config) {
	rtt := r.roundTrip(c.Demo, c.RTT, fastestTCP(contenders))
	r.Modes = make([]Result, len(contenders))
	for i, one := range contenders {
		r.Modes[i] = summarize(one.mode, one.runs, rtt)
	}
	distribute(r.Modes)
	r.Comparisons = compare(r.Modes)
	r.Headline = headline(r.Modes, r.Comparisons)
	r.addNotes()
}

// addNotes adds notes about the conditions of the measurement.
func (r *Report) addNotes() {
	say := func(s string) { r.Notes = append(r.Notes, s) }
	if r.Settings.Demo {
		say("CPU time includes the demo servers, which run in this process")
	}
	unanswered, limited, failure := int64(0), false, ""
	for _, m := range r.Modes {
		unanswered += m.Unanswered
		failure = cmp.Or(failure, m.failure)
		for _, s := range m.Servers {
			limited = limited || s.Limit != ""
		}
	}
	if unanswered > 0 {
		say(plural(float64(unanswered), "lookup") + " got no response; the first error: " + failure)
	}
	if limited {
		say("wall time includes waiting for a server's rate limit")
	}
}

func fastestTCP(contenders []*contender) time.Duration {
	var best time.Duration
	for _, one := range contenders {
		for _, r := range one.runs {
			if r.minTCP > 0 && (best == 0 || r.minTCP < best) {
				best = r.minTCP
			}
		}
	}
	return best
}

// run looks up all queries on its own connections.
func (one *contender) run(ctx context.Context, queries []client.Query, jobs int) (run, error) {
	poolConfig, clientConfig := one.setup.Pool, one.setup.Client
	one.mode.apply(&poolConfig)
	poolConfig.Sessions, poolConfig.Origins = nil, nil
	if one.sessions != nil {
		poolConfig.Sessions = one.sessions
	}
	p, err := pool.New(poolConfig)
	if err != nil {
		return run{}, err
	}
	defer p.Close()
	// Use one attempt, because a retry would be another lookup, and neither a cache nor other
	// servers.
	clientConfig.Transport, clientConfig.Attempts = p, 1
	clientConfig.Cache, clientConfig.Referral = client.CacheNone, client.ReferralNone
	clientConfig.Jobs, clientConfig.PerHost = jobs, jobs
	c, err := client.New(clientConfig)
	if err != nil {
		return run{}, err
	}
	defer c.Close()

	runtime.GC() // keep the run from collecting the garbage of the previous run
	cpu := cpuTime()
	rec := NewRecorder()
	results := lookUp(ctx, c, queries, jobs)
	wall := time.Since(rec.start)
	if err := ctx.Err(); err != nil {
		return run{}, err
	}
	servers := c.Servers()
	p.Close() // close connections, so that all bytes are counted
	cpu = cpuTime() - cpu
	for _, res := range results {
		rec.Add(res)
	}
	return rec.end(wall, cpu, p.Stats(), servers), nil
}

// lookUp looks up the queries, jobs at a time. It does not use a batch, which would
// coalesce duplicates.
func lookUp(ctx context.Context, c *client.Client, queries []client.Query, jobs int) []*client.Result {
	results := make([]*client.Result, len(queries))
	next := make(chan int, len(queries))
	ctx = unshared.Context(ctx)
	for i := range queries {
		next <- i
	}
	close(next)
	var workers sync.WaitGroup
	for range min(jobs, len(queries)) {
		workers.Go(func() {
			for i := range next {
				r, _ := c.Lookup(ctx, queries[i]) // r has the error
				r.Raw = nil                       // drop the body, which is not needed
				results[i] = r
			}
		})
	}
	workers.Wait()
	return results
}

// environment describes this process.
func environment() Environment {
	return Environment{
		Version: client.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0),
	}
}
