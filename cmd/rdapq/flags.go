package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/pool"
)

// defaultDemoRTT is about what a packet takes across the Atlantic and back.
const defaultDemoRTT = 90 * time.Millisecond

// fileJobs is the default of --jobs with --file: hosts bound the lookups, not this.
const fileJobs = 512

// options are the flags.
type options struct {
	file      string
	typ       string
	server    string
	format    string
	output    string
	jobs      int
	perHost   int
	ceiling   int // perHost if it was given; 0: adaptive
	conns     int // HTTP/1.1 connections to one server; 0: the pool's default
	timeout   time.Duration
	maxTime   time.Duration // 0: none
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
	formats = []string{"text", "table", "check", "json", "ndjson", "csv"}
	colors  = []string{"auto", "always", "never"}
	types   = append([]string{
		string(client.TypeDomain), string(client.TypeIP), "cidr", string(client.TypeAutnum), "asn",
		string(client.TypeNameserver), string(client.TypeEntity), string(client.TypeHelp),
	}, searchTypes...)
)

// typeAliases are other names of types that --type takes.
var typeAliases = map[string]client.Type{"cidr": client.TypeIP, "asn": client.TypeAutnum}

// A flagGroup is a part of the help text.
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
			f.StringVarP(&o.file, "file", "f", "", "read queries from `FILE`, one a line or as CSV or NDJSON; - is standard input")
			f.StringVarP(&o.typ, "type", "t", "", "`TYPE` of all queries: "+list(types)+"; found from the text if not given, where names are domains")
			f.StringVarP(&o.server, "server", "s", "", "ask the RDAP server with this base `URL`, no bootstrap")
			f.BoolVar(&o.offline, "offline", false, "don't fetch IANA's bootstrap files, use what is there")
			f.BoolVar(&o.ianaOnly, "iana-only", false, "don't use the built-in list of servers that IANA's files lack")
			f.StringVar(&o.overrides, "bootstrap-overrides", "", "`FILE` of lines with a suffix, prefix, AS range or tag and the base URL to ask for it, before IANA's files")
			f.BoolVar(&o.allowHTTP, "allow-http", false, "ask servers that offer no https, too")
		}),
		group("Output", func(f *pflag.FlagSet) {
			f.StringVar(&o.format, "format", "", "output `FORMAT`: "+list(formats)+" (text for arguments, ndjson for --file)")
			o.view.register(f)
			f.StringVarP(&o.output, "output", "o", "", "write to `FILE` instead of standard output; with --file and ndjson or csv, the same command goes on with a run that was interrupted (if --fields is given, it has to have line and verdict)")
			f.StringVar(&o.color, "color", "auto", "`WHEN` to colour text: "+list(colors)+"; auto is on a terminal, unless NO_COLOR is set")
			f.BoolVar(&o.stats, "stats", false, "print a receipt on standard error: connections, handshakes, time saved")
			f.StringVar(&o.statsFile, "stats-file", "", "write the receipt as JSON to `FILE`")
			f.StringVar(&o.report, "report", "", "write what the run took to `FILE` as a page of HTML that needs nothing else")
			f.BoolVar(&o.trace, "trace", false, "tell what each lookup waited for: DNS, TCP, TLS, first byte, transfer; on standard error, and with ndjson as \"trace\" in each row, by curl's names")
			f.BoolVarP(&o.quiet, "quiet", "q", false, "print no warnings, errors of queries, progress and summary on standard error: the exit code tells, and rows do")
			f.CountVarP(&o.verbose, "verbose", "v", "tell more: on standard error how a server was found and what was odd in an answer, in text also notices, handles and times of each step; -vv also connections")
			f.BoolVarP(&o.exitCodes, "exit-status", "e", false, "tell verdicts apart in the exit code; the first that applies: 1 failed or invalid, 6 rate limited, 7 rejected, 5 no service, 4 not found")
		}),
		group("Referrals", o.referral.register),
		group("Searches", o.search.register),
		group("Batches", o.batch.register),
		group("Connections", func(f *pflag.FlagSet) {
			f.IntVarP(&o.jobs, "jobs", "j", client.DefaultJobs, "run at most `N` lookups at a time, in all (default "+strconv.Itoa(client.DefaultJobs)+", with --file "+strconv.Itoa(fileJobs)+")")
			f.Lookup("jobs").DefValue = "" // the help states it
			f.IntVar(&o.perHost, "per-host", client.DefaultPerHost, "send at most `N` requests at a time to one server (default: starts at "+strconv.Itoa(client.DefaultPerHost)+" and grows to 64 while the server responds quickly)")
			f.Lookup("per-host").DefValue = "" // the help states it
			f.IntVar(&o.conns, "http1-connections", 0, "open at most `N` HTTP/1.1 connections to one server")
			f.Lookup("http1-connections").DefValue = strconv.Itoa(pool.DefaultMaxConnsPerHost)
			f.DurationVar(&o.timeout, "timeout", client.DefaultTimeout, "`TIME` for one attempt at one server; if neither this nor --registrar is given, "+promptReferral.String()+" for the registrar after the registry")
			f.DurationVar(&o.maxTime, "max-time", 0, "end the run after `TIME`, bootstrap and registrar included; queries without a response fail, lines of a file are left for the next run")
			f.StringVar(&o.ca, "ca", "", "trust the certificate authorities in this PEM `FILE` only")
			f.BoolVarP(&o.insecure, "insecure", "k", false, "don't verify certificates")
			f.BoolVar(&o.insecureCredentials, "insecure-credentials", false, "with --insecure, send credentials all the same")
			f.StringArrayVar(&o.clientCerts, "client-cert", nil, "client certificate for a server: `HOST[:PORT]=FILE[,KEYFILE]`, PEM or PKCS#12; can be repeated. The password of PKCS#12 is taken from "+certPassword)
			f.StringVar(&o.clientCertPassword, "client-cert-password-file", "", "`FILE` with that password")
			f.StringVar(&o.userAgent, "user-agent", "", "`TEXT` of the User-Agent field to send")
		}),
		group("Network", o.net.register),
		group("Demonstration", func(f *pflag.FlagSet) {
			f.BoolVar(&o.demo, "demo", false, "ask a registry built into rdapq; needs no network")
			f.DurationVar(&o.demoRTT, "demo-rtt", defaultDemoRTT, "round-trip `TIME` that --demo emulates")
		}),
	}
}

// check finds what is wrong with the flags taken together.
func (o *options) check(args []string) error {
	for _, c := range []struct {
		flag, value string
		allowed     []string
	}{
		{"--format", o.format, append([]string{""}, formats...)},
		{"--color", o.color, colors},
		{"--type", o.typ, append([]string{""}, types...)},
	} {
		if err := one(c.flag, c.value, c.allowed); err != nil {
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
		return usagef(about("file"), "put the queries into the file, or leave --file out", "queries come from arguments or from --file, not both")
	case o.file == "" && len(args) == 0 && o.typ != "help":
		return usagef(nil, "rdapq example.com, or rdapq -f - for a list on standard input; rdapq -h tells more", "no query")
	case o.file == "" && o.typ != string(client.TypeEntity) && slices.Contains(args, "-"):
		return usagef(nil, "-f - reads queries from standard input, one a line", `"-" is no query`)
	case o.typ == "help" && o.server == "" && len(args) == 0 && o.demo:
		return usagef(nil, "rdapq --demo https://rdap.re.example/help", "a help query needs a server")
	case o.typ == "help" && o.server == "" && len(args) == 0:
		return usagef(nil, "name the server: -t help -s https://rdap.example/", "a help query needs a server")
	case o.jobs < 1:
		return usagef(about("jobs"), "", "--jobs must be at least 1")
	case o.perHost < 1:
		return usagef(about("per-host"), "", "--per-host must be at least 1")
	case o.conns < 0:
		return usagef(about("http1-connections"), "", "--http1-connections must be at least 1")
	case o.timeout <= 0:
		return usagef(about("timeout"), "a time such as 15s", "--timeout must be more than 0")
	case o.maxTime < 0:
		return usagef(about("max-time"), "a time such as 30s", "--max-time must be more than 0")
	case o.demoRTT < 0:
		return usagef(about("demo-rtt"), "a time such as 90ms, or 0", "--demo-rtt must not be negative")
	case o.demo && (o.server != "" || o.ca != "" || o.overrides != ""):
		return usagef(about("demo", "server", "ca", "bootstrap-overrides"), "leave --demo out to ask real servers; one of the demo's is asked by a URL: https://rdap.re.example/help", "--demo has servers and certificates of its own: it does not go with --server, --ca or --bootstrap-overrides")
	}
	return nil
}

// one reports a value that is none of those that a flag takes.
func one(flag, value string, allowed []string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return usagef(about(flag), "one of "+strings.Join(strings.Fields(strings.Join(allowed, " ")), ", "), "%s does not take %q", flag, value)
}

// newCommand builds the command line.
func newCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "rdapq [flags] QUERY...\n  rdapq [flags] -f FILE\n  rdapq bench [flags] [QUERY...]",
		Short:             "Ask RDAP servers over connections that are kept",
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
				a.opts.conns = -1 // which check refuses
			}
			a.opts.referral.patient = cmd.Flags().Changed("timeout")
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
		// The flag was registered above, the only thing that can fail here.
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	cmd.AddCommand(newBenchCommand(a, groups))
	return cmd
}
