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

// A Config says what to measure.
type Config struct {
	Queries []client.Query // asked in turn, from the first again when they end; at least one
	Modes   []Mode         // at least one
	Lookups int            // of a run
	Runs    int            // of each mode
	Jobs    int            // lookups at once
	Demo    bool           // the servers are in this process
	RTT     time.Duration  // of the demo; 0: found by the fastest TCP set-up

	Resolver client.Resolver // finds the servers of queries for the warm-up

	// Setup returns how the servers are reached in a mode, which adds what makes
	// it. An error of type [*UnavailableError] leaves the mode out.
	Setup func(Mode) (Setup, error)

	// Progress is told what begins: a run of a mode, from 1; 0 is its warm-up. It
	// may be nil.
	Progress func(mode string, run int)
}

// A Setup is how servers are reached. Pool.TLS must not be nil. Sessions and
// Facts are left to the mode.
type Setup struct {
	Pool   pool.Config
	Client client.Config
}

// An UnavailableError says why a mode can't be measured here.
type UnavailableError struct{ Reason string }

func (e *UnavailableError) Error() string { return e.Reason }

// A contender is a mode that is being measured.
type contender struct {
	mode     Mode
	setup    Setup
	sessions *sessionCache // nil: no run knows of another
	runs     []run
}

// Run measures. First each mode has a warm-up with a lookup for each server,
// which is not counted; then come the runs, by turns. Each run begins with cold
// connections. An error means that nothing could be measured, or that ctx ended;
// lookups that are not answered are in the report.
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
			slices.Reverse(order) // so that none is always the first
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

// minRTT is the shortest round trip that anything is counted in.
const minRTT = time.Millisecond

// roundTrip notes the round trip to the servers, and returns it if anything can be
// counted in it.
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
		return 0 // it is the time of other things
	}
	return rtt
}

// finish fills in what follows from the runs.
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

// addNotes says what a reader should know.
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

// run asks all queries, over connections of its own.
func (one *contender) run(ctx context.Context, queries []client.Query, jobs int) (run, error) {
	poolConfig, clientConfig := one.setup.Pool, one.setup.Client
	one.mode.apply(&poolConfig)
	poolConfig.Sessions, poolConfig.Facts = nil, nil
	if one.sessions != nil {
		poolConfig.Sessions = one.sessions
	}
	p, err := pool.New(poolConfig)
	if err != nil {
		return run{}, err
	}
	defer p.Close()
	// One attempt, as a second one would be another lookup; nothing from memory,
	// and nobody else asked.
	clientConfig.Transport, clientConfig.Attempts = p, 1
	clientConfig.Cache, clientConfig.Referral = client.CacheNone, client.ReferralNone
	clientConfig.Jobs, clientConfig.PerHost = jobs, jobs
	c, err := client.New(clientConfig)
	if err != nil {
		return run{}, err
	}
	defer c.Close()

	runtime.GC() // not in the middle, for what others left
	cpu := cpuTime()
	rec := NewRecorder()
	results := lookUp(ctx, c, queries, jobs)
	wall := time.Since(rec.start)
	if err := ctx.Err(); err != nil {
		return run{}, err
	}
	servers := c.Progress().Servers
	p.Close() // so that all octets are counted
	cpu = cpuTime() - cpu
	for _, res := range results {
		rec.Add(res)
	}
	return rec.end(wall, cpu, p.Stats(), servers), nil
}

// lookUp asks so many at once. It is no batch, which would ask only once for
// what stands there twice.
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
				r.Raw = nil                       // nobody reads it, and there may be many
				results[i] = r
			}
		})
	}
	workers.Wait()
	return results
}

// environment is where this process runs.
func environment() Environment {
	return Environment{
		Version: client.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0),
	}
}
