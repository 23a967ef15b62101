package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/render"
	"github.com/rdapq/rdapq/pool"
)

// defaultDemoRTT approximates a transatlantic round trip.
const defaultDemoRTT = 90 * time.Millisecond

// fileJobs is the default of --jobs with --file. In practice, the limits per host determine the
// speed of a run.
const fileJobs = 512

// options holds the values of the flags.
type options struct {
	file      string
	typ       string
	server    string
	format    string
	output    string
	jobs      int
	perHost   int
	ceiling   int // perHost if the user gave it; 0 means adaptive
	conns     int // maximum number of HTTP/1.1 connections to one server; 0 means the pool's default
	timeout   time.Duration
	maxTime   time.Duration // 0 means none
	stats     bool
	statsFile string
	report    string
	trace     bool
	net       networkOptions
	batch     batchOptions
	referral  referralOptions
	search    searchOptions
	view      viewOptions
	ca        string
	insecure  bool

	insecureCredentials bool

	clientCerts        []string
	clientCertPassword string

	offline   bool
	ianaOnly  bool
	allowHTTP bool
	demo      bool
	demoRTT   time.Duration
	color     string
	quiet     bool
	verbose   int
	exitCodes bool
	userAgent string
	overrides string
}

var (
	formats = render.Formats()
	colors  = []string{"auto", "always", "never"}
	types   = append([]string{
		string(client.TypeDomain), string(client.TypeIP), "cidr", string(client.TypeAutnum), "asn",
		string(client.TypeNameserver), string(client.TypeEntity), string(client.TypeHelp),
	}, searchTypes...)
)

// typeAliases maps alternative names of types for --type to types.
var typeAliases = map[string]client.Type{"cidr": client.TypeIP, "asn": client.TypeAutnum}

// A flagGroup is a section of the help text.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

func (o *options) groups() []flagGroup {
	group := func(title string, register func(f *pflag.FlagSet)) flagGroup {
		f := pflag.NewFlagSet(title, pflag.ContinueOnError)
		f.SortFlags = false
		register(f)
		return flagGroup{title, f}
	}
	list := func(values []string) string { return strings.Join(values, ", ") }
	return []flagGroup{
		group("Queries", func(f *pflag.FlagSet) {
			f.StringVarP(&o.file, "file", "f", "", "read queries from `FILE`: one per line, CSV or NDJSON; - for standard input")
			f.StringVarP(&o.typ, "type", "t", "", "set the `TYPE` of all queries: "+list(types)+"; if empty, rdapq infers the type; plain names are domains")
			f.StringVarP(&o.server, "server", "s", "", "query the RDAP server at this base `URL`; skip bootstrap")
			f.BoolVar(&o.offline, "offline", false, "don't refresh IANA's bootstrap files; use the cached copy")
			f.BoolVar(&o.ianaOnly, "iana-only", false, "ignore the built-in list of servers missing from IANA's files")
			f.StringVar(&o.overrides, "bootstrap-overrides", "", "override IANA's files with lines from `FILE`: a suffix, prefix, AS range or tag, then a base URL")
			f.BoolVar(&o.allowHTTP, "allow-http", false, "allow plain-HTTP servers")
		}),
		group("Output", func(f *pflag.FlagSet) {
			f.StringVar(&o.format, "format", "", "write results as `FORMAT`: "+list(formats)+" (default text for arguments, ndjson for --file)")
			o.view.register(f)
			f.StringVarP(&o.output, "output", "o", "", "write results to `FILE`; with --file and ndjson or csv, rerunning the command resumes an interrupted run (--fields must include line and verdict)")
			f.StringVar(&o.color, "color", "auto", "colour text output `WHEN`: "+list(colors)+"; auto means on a terminal, unless NO_COLOR is set")
			f.BoolVar(&o.stats, "stats", false, "print connection and handshake statistics to standard error")
			f.StringVar(&o.statsFile, "stats-file", "", "write these statistics to `FILE` as JSON")
			f.StringVar(&o.report, "report", "", "write a self-contained HTML report to `FILE`")
			f.BoolVar(&o.trace, "trace", false, "show per-lookup timings (DNS, TCP, TLS, first byte, transfer) on standard error; with ndjson, add them to each row as \"trace\", using curl's names")
			f.BoolVarP(&o.quiet, "quiet", "q", false, "suppress warnings, per-query errors, progress and summary; results and the exit status are unaffected")
			f.CountVarP(&o.verbose, "verbose", "v", "show more detail: how the server was found, response anomalies, notices, handles and timings; -vv also logs connections")
			f.BoolVarP(&o.exitCodes, "exit-status", "e", false, "set the exit status from the verdict; the first that applies wins: 1 failed or invalid, 6 rate limited, 7 rejected, 5 no service, 4 not found")
		}),
		group("Referrals", o.referral.register),
		group("Searches", o.search.register),
		group("Batches", o.batch.register),
		group("Connections", func(f *pflag.FlagSet) {
			f.IntVarP(&o.jobs, "jobs", "j", client.DefaultJobs, "run at most `N` lookups at a time in total (default "+strconv.Itoa(client.DefaultJobs)+", with --file "+strconv.Itoa(fileJobs)+")")
			f.Lookup("jobs").DefValue = "" // the help text states the default
			f.IntVar(&o.perHost, "per-host", client.DefaultPerHost, "send at most `N` requests at a time to one server (default: starts at "+strconv.Itoa(client.DefaultPerHost)+" and grows to 64 while the server responds quickly)")
			f.Lookup("per-host").DefValue = "" // the help text states the default
			f.IntVar(&o.conns, "http1-connections", 0, "open at most `N` HTTP/1.1 connections to one server")
			f.Lookup("http1-connections").DefValue = strconv.Itoa(pool.DefaultMaxConnsPerHost)
			f.DurationVar(&o.timeout, "timeout", client.DefaultTimeout, "limit each request to `TIME`; without this flag and --registrar, requests to the registrar are limited to "+promptReferralTimeout.String())
			f.DurationVar(&o.maxTime, "max-time", 0, "end the run after `TIME`, including bootstrap and registrar requests; unfinished queries fail, unfinished lines of a file are left for the next run")
			f.StringVar(&o.ca, "ca", "", "trust only the CA certificates in this PEM `FILE`")
			f.BoolVarP(&o.insecure, "insecure", "k", false, "don't verify certificates")
			f.BoolVar(&o.insecureCredentials, "insecure-credentials", false, "send credentials even with --insecure")
			f.StringArrayVar(&o.clientCerts, "client-cert", nil, "present a client certificate to a server: `HOST[:PORT]=FILE[,KEYFILE]`, PEM or PKCS#12 with its password in "+certPassword+" (repeatable)")
			f.StringVar(&o.clientCertPassword, "client-cert-password-file", "", "read the PKCS#12 password from `FILE`")
			f.StringVar(&o.userAgent, "user-agent", "", "send `TEXT` as the User-Agent field")
		}),
		group("Network", o.net.register),
		group("Demonstration", func(f *pflag.FlagSet) {
			f.BoolVar(&o.demo, "demo", false, "query the built-in demo registry; no network needed")
			f.DurationVar(&o.demoRTT, "demo-rtt", defaultDemoRTT, "emulate this round-trip `TIME` with --demo")
		}),
	}
}

// check returns an error for invalid values and combinations of flags.
func (o *options) check(args []string) error {
	for _, c := range []struct {
		flag, value string
		allowed     []string
	}{
		{"--format", o.format, append([]string{""}, formats...)},
		{"--color", o.color, colors},
		{"--type", o.typ, append([]string{""}, types...)},
	} {
		if err := checkOneOf(c.flag, c.value, c.allowed); err != nil {
			return err
		}
	}
	if err := o.checkView(); err != nil {
		return err
	}
	if err := o.net.check(o.demo); err != nil {
		return err
	}
	if err := o.referral.check(); err != nil {
		return err
	}
	if err := o.search.check(o.file != ""); err != nil {
		return err
	}
	if err := o.referral.checkFormat(o.outputFormat(), o.batch.fields); err != nil {
		return err
	}
	if err := o.batch.check(o.file != "", o.outputFormat()); err != nil {
		return err
	}
	switch {
	case o.file != "" && len(args) > 0:
		return usagef(about("file"), "put the queries in the file, or drop --file", "--file and query arguments cannot be used together")
	case o.file == "" && len(args) == 0 && o.typ != "help":
		return usagef(nil, "try 'rdapq example.com', or 'rdapq -f -' to read a list from standard input; see 'rdapq -h'", "no query")
	case o.file == "" && o.typ != string(client.TypeEntity) && slices.Contains(args, "-"):
		return usagef(nil, "use -f - to read queries from standard input, one per line", `"-" is not a query`)
	case o.typ == "help" && o.server == "" && len(args) == 0 && o.demo:
		return usagef(nil, "try 'rdapq --demo https://rdap.re.example/help'", "a help query needs a server")
	case o.typ == "help" && o.server == "" && len(args) == 0:
		return usagef(nil, "name the server, such as -t help -s https://rdap.example/", "a help query needs a server")
	case o.jobs < 1:
		return usagef(about("jobs"), "", "--jobs must be at least 1")
	case o.perHost < 1:
		return usagef(about("per-host"), "", "--per-host must be at least 1")
	case o.conns < 0:
		return usagef(about("http1-connections"), "", "--http1-connections must be at least 1")
	case o.timeout <= 0:
		return usagef(about("timeout"), "use a time such as 15s", "--timeout must be more than 0")
	case o.maxTime < 0:
		return usagef(about("max-time"), "use a time such as 30s", "--max-time must be more than 0")
	case o.demoRTT < 0:
		return usagef(about("demo-rtt"), "use a time such as 90ms, or 0", "--demo-rtt must not be negative")
	case o.demo && (o.server != "" || o.ca != "" || o.overrides != ""):
		return usagef(about("demo", "server", "ca", "bootstrap-overrides"), "drop --demo to query real servers; to query one of the demo servers, use its URL: https://rdap.re.example/help", "--demo cannot be used together with --server, --ca or --bootstrap-overrides")
	}
	return nil
}

// checkOneOf returns an error if value is not allowed.
func checkOneOf(flag, value string, allowed []string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return usagef(about(flag), "use one of "+strings.Join(strings.Fields(strings.Join(allowed, " ")), ", "), "invalid value %q for %s", value, flag)
}

// newCommand returns the rdapq command.
func newCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "rdapq [flags] QUERY...\n  rdapq [flags] -f FILE\n  rdapq bench [flags] [QUERY...]",
		Short:             "RDAP client with persistent connections",
		Long:              long,
		Example:           examples,
		Args:              cobra.ArbitraryArgs,
		Version:           client.Version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.settings.read(cmd.Flags()); err != nil {
				return err
			}
			if cmd.Flags().Changed("per-host") {
				a.opts.ceiling = a.opts.perHost
			}
			if a.opts.file != "" && !cmd.Flags().Changed("jobs") {
				a.opts.jobs = fileJobs
			}
			if a.opts.conns == 0 && cmd.Flags().Changed("http1-connections") {
				a.opts.conns = -1 // check rejects -1
			}
			a.opts.referral.timeoutSet = cmd.Flags().Changed("timeout")
			a.flags = cmd.Flags()
			if slices.Equal(a.opts.batch.fields, []string{"help"}) {
				return listFields(a.stdout)
			}
			return a.main(cmd.Context(), args)
		},
	}
	cmd.SetIn(a.stdin)
	cmd.SetOut(a.stdout)
	cmd.SetErr(a.stderr)
	cmd.SetVersionTemplate("rdapq {{.Version}}\n")
	cmd.SetFlagErrorFunc(flagError)
	groups := a.opts.groups()
	cmd.Flags().SortFlags = false
	for _, g := range groups {
		cmd.Flags().AddFlagSet(g.flags)
	}
	addHelp(cmd, shortCommand, groups)
	for name, values := range map[string][]string{"format": formats, "http": httpModes, "tls-min": tlsNames, "tls-max": tlsNames, "color": colors, "time": times, "type": types, "input-format": inputFormats} {
		// It fails only for an unregistered flag.
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	cmd.AddCommand(newBenchCommand(a, groups))
	return cmd
}
