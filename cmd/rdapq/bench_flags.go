package main

import (
	"runtime"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rdapq/rdapq/internal/measure"
)

// Defaults of bench with the demo registry. Servers on the network get fewer
// lookups: see [measure.Polite].
const (
	defaultBenchLookups = 40
	defaultBenchRuns    = 3
	defaultBenchJobs    = 4
	fewBenchLookups     = 3 * defaultBenchJobs // runs with fewer lookups are sequential
)

var defaultBenchModes = []string{"reuse", "no-reuse"}

// benchOptions holds the flags that only bench has.
type benchOptions struct {
	modes    []string
	lookups  int // 0 means default
	runs     int // 0 means default
	jobs     int // 0 means default
	json     bool
	markdown bool
}

func (o *benchOptions) register(f *pflag.FlagSet) {
	f.StringSliceVar(&o.modes, "modes", defaultBenchModes, "compare these `MODES`: "+strings.Join(measure.Words(), ", ")+"; combine with +, such as no-reuse+tls1.2")
	f.IntVarP(&o.lookups, "lookups", "n", 0, "run `N` lookups per run; queries repeat if there are fewer (default 40 with the demo registry, otherwise at most 20 per server in total)")
	f.IntVar(&o.runs, "runs", 0, "do `N` runs per mode (default 3); at least 3 are needed for a verdict")
	f.IntVarP(&o.jobs, "jobs", "j", 0, "run at most `N` lookups at a time (default 4, or 1 if a run has fewer than 12)")
	f.BoolVar(&o.json, "json", false, "print all measurements as JSON")
	f.BoolVar(&o.markdown, "markdown", false, "print the table as Markdown")
}

// check returns an error for invalid values and combinations of flags.
func (o *benchOptions) check() ([]measure.Mode, error) {
	modes, err := measure.ParseModes(o.modes)
	switch {
	case err != nil:
		return nil, usagef(about("modes"), "use one or more of "+strings.Join(measure.Words(), ", ")+"; combine with +", "%w", err)
	case o.lookups < 0:
		return nil, usagef(about("lookups"), "", "--lookups must be at least 1")
	case o.runs < 0:
		return nil, usagef(about("runs"), "", "--runs must be at least 1")
	case o.jobs < 0:
		return nil, usagef(about("jobs"), "", "--jobs must be at least 1")
	case o.json && o.markdown:
		return nil, usagef(about("json", "markdown"), "use only one of these flags", "--json and --markdown cannot be used together")
	}
	return modes, nil
}

// sharedBenchFlags lists the flags of rdapq that bench has as well.
var sharedBenchFlags = []string{
	"file", "type", "server", "offline", "iana-only", "bootstrap-overrides", "allow-http", "input-format", "column", "field",
	"report", "quiet", "verbose", "max-wait", "rate", "group",
	"timeout", "connect-timeout", "ca", "insecure", "insecure-credentials", "client-cert", "client-cert-password-file", "user-agent",
	"ipv4", "ipv6", "bind", "resolve", "allow-private", "proxy", "demo", "demo-rtt",
}

// benchGroups returns all flags of bench: its own flags and those shared with rdapq.
func (a *app) benchGroups(command []flagGroup) []flagGroup {
	own := pflag.NewFlagSet("Measurement", pflag.ContinueOnError)
	own.SortFlags = false
	a.bench.register(own)
	groups := []flagGroup{{"Measurement", own}}
	for _, g := range command {
		some := pflag.NewFlagSet(g.title, pflag.ContinueOnError)
		some.SortFlags = false
		for _, name := range sharedBenchFlags {
			if f := g.flags.Lookup(name); f != nil {
				some.AddFlag(f)
			}
		}
		if some.HasFlags() {
			groups = append(groups, flagGroup{g.title, some})
		}
	}
	return groups
}

// fromSettings applies variables and the configuration file to the flags shared with
// rdapq. It does not set flags that only bench has or that have another meaning there.
func (a *app) fromSettings(command []flagGroup) error {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, g := range command {
		all.AddFlagSet(g.flags)
	}
	return a.settings.read(all)
}

// needsNetwork returns why a mode cannot be measured with the demo registry, or "".
func needsNetwork(m measure.Mode) string {
	if m.FastOpen {
		return "TCP Fast Open needs a real network path; add --server or queries"
	}
	return ""
}

// unsupported returns why a mode cannot be measured on this system, or "".
func unsupported(m measure.Mode) string {
	if m.FastOpen && runtime.GOOS != "linux" {
		return "TCP Fast Open works on Linux only"
	}
	return ""
}
