package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/measure"
	"github.com/rdapq/rdapq/internal/render"
	"github.com/rdapq/rdapq/internal/report"
)

const benchLong = `rdapq bench runs the same lookups in several modes, interleaved, after a warm-up,
and compares time, connections, handshakes, round trips, bytes and CPU time. A mode
is reported as faster only if its range does not overlap the other's, with at least
3 runs per mode and 5% between the medians.

Without queries it uses the built-in demo registry with an emulated round-trip time
(--demo-rtt) and needs no network. Servers on the network get 20 lookups each in
total unless -n or --runs override that; known rate limits are observed. TLS
sessions and protocol support saved by other runs are neither used nor changed.`

const benchExamples = `  rdapq bench
  rdapq bench --modes reuse,no-reuse,no-reuse+tls1.2,h3,0rtt
  rdapq bench -j 1 -n 10 --demo-rtt 200ms --report bench.html
  rdapq bench example.com example.net --modes reuse,resume`

// newBenchCommand returns the bench subcommand. command holds the flags of rdapq.
func newBenchCommand(a *app, command []flagGroup) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "bench [flags] [QUERY...]",
		Short:                 "Measure what connection reuse saves",
		Long:                  benchLong,
		Example:               benchExamples,
		Args:                  cobra.ArbitraryArgs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.fromSettings(command); err != nil {
				return err
			}
			a.flags = cmd.Flags()
			return a.measure(cmd.Context(), args)
		},
	}
	groups := a.benchGroups(command)
	cmd.Flags().SortFlags = false
	for _, g := range groups {
		cmd.Flags().AddFlagSet(g.flags)
	}
	addHelp(cmd, shortBench, groups)
	// It fails only for an unregistered flag.
	_ = cmd.RegisterFlagCompletionFunc("modes", cobra.FixedCompletions(measure.Words(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// measure implements the bench subcommand.
func (a *app) measure(ctx context.Context, args []string) error {
	o := &a.opts
	modes, err := a.bench.check()
	if err != nil {
		return err
	}
	// Without a query, only the demo registry can be measured.
	o.demo = o.demo || len(args) == 0 && o.file == "" && o.server == ""
	if len(args) == 0 && o.file == "" && o.server != "" {
		return usagef(nil, "try 'rdapq bench -s URL example.com'", "no query for --server")
	}
	if err := o.checkBench(args); err != nil {
		return err
	}
	queries, err := a.benchQueries(ctx, args)
	if err != nil {
		return err
	}
	page, err := a.openReport()
	if err != nil {
		return err
	}
	t, err := a.newTarget()
	if err != nil {
		return err
	}
	defer t.close(ctx)
	a.target = t
	c := measure.Config{
		Queries: queries, Modes: modes, Lookups: a.bench.lookups, Runs: a.bench.runs, Jobs: a.bench.jobs,
		Demo: o.demo, Resolver: t.resolver, Setup: t.setup, Progress: a.benchProgress(),
	}
	if o.demo {
		c.RTT = o.demoRTT
	}
	if err := a.bench.size(ctx, &c); err != nil {
		return err
	}
	if !o.demo && !o.quiet {
		a.printPoliteness(&c)
	}
	r, err := measure.Run(ctx, c)
	a.clearScreen()
	if err != nil {
		return err
	}
	if len(r.Modes) == 0 {
		return noRunf(nil, "", "nothing was measured: %s: %s", r.Skipped[0].Mode, r.Skipped[0].Reason)
	}
	if slices.ContainsFunc(r.Modes, func(m measure.Result) bool { return m.Unanswered > 0 }) {
		a.exit = exitSomeFail
	}
	err = a.printBench(r)
	if page != nil {
		if e := writeReport(page, r); err == nil {
			err = e
		}
	}
	return err
}

// size sets the number of lookups, runs and jobs that the user has not set.
func (o *benchOptions) size(ctx context.Context, c *measure.Config) error {
	lookups, runs := defaultBenchLookups, defaultBenchRuns
	if !c.Demo && (o.lookups == 0 || o.runs == 0) {
		lookups, runs = measure.Polite(ctx, c.Resolver, c.Queries, len(c.Modes))
		if lookups == 0 {
			return usagef(nil, "use fewer modes, or override the limit with -n and --runs", "%d modes need more than the limit of %d lookups per server", len(c.Modes), measure.PoliteLookups)
		}
		if o.lookups > 0 {
			runs = measure.PoliteRuns
		}
	}
	if c.Lookups == 0 {
		c.Lookups = lookups
	}
	if c.Runs == 0 {
		c.Runs = runs
	}
	if c.Jobs == 0 {
		// A few concurrent lookups would not reuse each other's connections.
		if c.Jobs = defaultBenchJobs; c.Lookups < fewBenchLookups {
			c.Jobs = 1
		}
	}
	return nil
}

// printPoliteness prints the number of lookups that servers on the network will get.
func (a *app) printPoliteness(c *measure.Config) {
	what := fmt.Sprintf("%s per run, %s per mode", render.Plural(int64(c.Lookups), "lookup"), render.Plural(int64(c.Runs), "run"))
	if a.bench.lookups == 0 && a.bench.runs == 0 {
		what += fmt.Sprintf(" (limited to %d lookups per server; override with -n and --runs)", measure.PoliteLookups)
	}
	fmt.Fprintf(a.stderr, "rdapq: %s\n", what)
}

// printBench prints the measurements.
func (a *app) printBench(r *measure.Report) error {
	switch {
	case a.bench.json:
		e := json.NewEncoder(a.stdout)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return outputError(e.Encode(r))
	case a.bench.markdown:
		return outputError(report.WriteMarkdown(a.stdout, r))
	}
	width, _ := terminal(a.stdout)
	return outputError(report.WriteText(a.stdout, r, width))
}

// benchQueries returns the queries that bench sends.
func (a *app) benchQueries(ctx context.Context, args []string) ([]client.Query, error) {
	if a.opts.demo && len(args) == 0 && a.opts.file == "" {
		args = demoQueries()
	}
	src, err := a.openSource(ctx, args)
	if err != nil {
		return nil, err
	}
	defer src.close()
	var queries []client.Query
	for in, err := range src.queries(func(int64) (bool, error) { return true, nil }) {
		if err != nil {
			return nil, noRunf(about("file"), "", "cannot read the input: %w", err)
		}
		q, err := client.ParseAs(in.Type, in.Text)
		if err != nil {
			return nil, usagef(nil, "", "%w", err)
		}
		if q.Search != nil {
			return nil, usagef(about("file"), "remove it", "bench measures lookups, but %s is a search", render.Safe(in.Text))
		}
		q.Server = in.Server
		if queries = append(queries, q); len(queries) == maxBenchQueries {
			break
		}
	}
	a.warnTrailing(src)
	if len(queries) == 0 {
		return nil, noRunf(nil, "", "no queries to measure")
	}
	return queries, nil
}

// maxBenchQueries limits the queries read from a file, because all of them are in memory.
const maxBenchQueries = 100_000

// benchProgress returns a function that shows the current mode and run on a terminal. Without a
// terminal, it returns nil.
func (a *app) benchProgress() func(mode string, run int) {
	s, ok := a.stderr.(*screen)
	if !ok || !s.terminal() || a.opts.quiet {
		return nil
	}
	return func(mode string, run int) {
		what := fmt.Sprintf("run %d", run)
		if run == 0 {
			what = "warm-up"
		}
		s.draw([]string{"rdapq: " + what + ": " + mode})
	}
}

func (a *app) clearScreen() {
	if s, ok := a.stderr.(*screen); ok {
		s.clear()
	}
}
