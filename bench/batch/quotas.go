package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/rdapq/rdapq/limit"
)

// Limits of the scenarios.
const (
	leastThroughput = 0.8 // minimum share of the throughput without random refusals
	mostTime        = 1.2 // maximum multiple of the minimum time
	mostDiscovery   = 10  // maximum number of refusals when a quota is discovered
)

// refusals compares a server that refuses 0.4% of its requests at random with a server that
// refuses none. The second run starts with the limits that the first run learned.
func (b *bench) refusals() error {
	const rounds = 3
	loads := []load{{"steady", 20_000, "registered"}, {"random", 20_000, "registered"}}
	var errs []error
	took := make([][]float64, 3) // times without refusals, with refusals, and with refusals again
	for range rounds {
		servers, err := startServers(loads)
		if err != nil {
			return err
		}
		defer servers.stop()
		for i, l := range []load{loads[0], loads[1], loads[1]} {
			out, err := b.runAt(servers, []load{l})
			if err != nil {
				return err
			}
			seen := out.end.Limited[l.server]
			fmt.Printf("%s: %d requests refused\n", l.server, seen.Refused)
			took[i] = append(took[i], seen.Last.Seconds())
			errs = append(errs, out.err)
		}
	}
	for _, list := range took {
		slices.Sort(list)
	}
	without, with, again := took[0][rounds/2], took[1][rounds/2], took[2][rounds/2]
	fmt.Printf("refusals at random: %.2f s without them, %.2f s with them (%.0f%% of the throughput), %.2f s in the next run (%.0f%%); medians of %d\n",
		without, with, 100*without/with, again, 100*without/again, rounds)
	for i, seconds := range []float64{with, again} {
		if without/seconds < leastThroughput {
			errs = append(errs, fmt.Errorf("refusals at random, run %d: %.0f%% of the throughput without them", i+1, 100*without/seconds))
		}
	}
	return errors.Join(errs...)
}

// quotas looks up names at two servers with a quota, twice.
func (b *bench) quotas() error {
	loads := []load{{"ten", 60, "registered"}, {"minute", 180, "registered"}}
	quotas := []limit.Rate{{N: 10, Per: 3 * time.Second}, {N: 60, Per: time.Minute}}
	if err := os.RemoveAll(b.path("home")); err != nil {
		return err
	}
	servers, err := startServers(loads)
	if err != nil {
		return err
	}
	defer servers.stop()
	var errs []error
	for run := range 2 {
		if run > 0 {
			time.Sleep(quotas[1].Per) // wait until the windows of the first run are over
		}
		out, err := b.runAt(servers, loads, "--max-wait", "5m")
		if err != nil {
			return err
		}
		errs = append(errs, out.err)
		for i, l := range loads {
			q, seen := quotas[i], out.end.Limited[l.server]
			discovery, later := divide(seen.At, q.Per)
			lines := max(l.lines/b.scale, 1)
			least := time.Duration((lines-1)/q.N) * q.Per
			windows := int(seen.Last / q.Per)
			fmt.Printf("run %d, %d in %v: %d lines in %.2f s, %.2f times the least possible time; refused: %d at discovery, %d in the next %d windows\n",
				run+1, q.N, q.Per, lines, seen.Last.Seconds(), seen.Last.Seconds()/least.Seconds(), discovery, later, windows)
			if seen.Last.Seconds() > mostTime*least.Seconds() {
				errs = append(errs, fmt.Errorf("run %d, %s: %v, minimum %v", run+1, l.server, seen.Last, least))
			}
			if discovery > mostDiscovery || later > windows {
				errs = append(errs, fmt.Errorf("run %d, %s: %d refused at discovery, %d in the next %d windows", run+1, l.server, discovery, later, windows))
			}
		}
	}
	return errors.Join(errs...)
}

// divide returns the number of refusals within per after the first refusal, and the number of
// later refusals.
func divide(at []time.Duration, per time.Duration) (discovery, later int) {
	for _, t := range at {
		if t < at[0]+per {
			discovery++
		} else {
			later++
		}
	}
	return discovery, later
}
