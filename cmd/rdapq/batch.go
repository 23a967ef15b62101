package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/input"
	"github.com/rdapq/rdapq/internal/render"
	"github.com/rdapq/rdapq/limit"
	"github.com/spf13/pflag"
)

// batchOptions holds the flags for input files, rate limits and the output of batches.
type batchOptions struct {
	inputFormat string
	column      string
	field       string
	dedupe      bool
	registrable bool
	ordered     bool
	fields      []string
	force       bool
	fsync       bool
	dryRun      bool
	noProgress  bool

	spillMax size

	maxWait  time.Duration
	rates    []string
	groups   []string
	attempts int
}

// defaultWait means that --max-wait was not given.
const defaultWait = -1 * time.Nanosecond

var inputFormats = []string{"auto", string(input.Text), string(input.CSV), string(input.NDJSON)}

func (o *batchOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.inputFormat, "input-format", "auto", "read --file as `FORMAT`: "+strings.Join(inputFormats, ", ")+" (auto detects it from the name and the first line); gzip input is decompressed")
	f.StringVar(&o.column, "column", "", "take queries from the CSV column `NAME` (default the first); the other columns are copied to the results")
	f.StringVar(&o.field, "field", "", "take queries from the NDJSON member `NAME` (default the first present of "+strings.Join(input.DefaultFields, ", ")+")")
	f.BoolVar(&o.dedupe, "dedupe", false, "skip duplicate queries (uses up to 22 bytes of memory per line)")
	f.BoolVar(&o.registrable, "registrable", false, "look up the registrable domain of a host name: example.co.uk for www.example.co.uk")
	f.BoolVar(&o.ordered, "ordered", false, "write results of --file in input order")
	f.StringSliceVar(&o.fields, "fields", nil, "write these fields in ndjson, csv and table, in this order: `NAMES` such as line,verdict,expires,conn.protocol; --fields help lists them")
	f.DurationVar(&o.maxWait, "max-wait", defaultWait, "wait at most `TIME` for a rate-limited server (default 30s; 10m with --file)")
	f.Lookup("max-wait").DefValue = "" // the help text states the default
	f.StringArrayVar(&o.rates, "rate", nil, "limit requests to a server: `HOST=N/TIME`, such as rdap.example=100/1m (repeatable)")
	f.StringArrayVar(&o.groups, "group", nil, "let servers share one rate limit: `NAME=HOST,HOST`; --rate also accepts the name of a group (repeatable)")
	f.IntVar(&o.attempts, "attempts", client.DefaultAttempts, "retry transient failures, with up to `N` requests per query")
	o.spillMax = client.DefaultMaxSpill
	f.Var(&o.spillMax, "spill-max", "use at most `SIZE` of disk space, such as 500MB or 4GiB, for queued lines of --file; reading pauses when it is full")
	f.BoolVar(&o.force, "force", false, "overwrite --output")
	f.BoolVar(&o.fsync, "fsync", false, "fsync --output at every flush, to survive power loss")
	f.BoolVar(&o.dryRun, "dry-run", false, "send nothing; print the queries per server and the estimated duration")
	f.BoolVar(&o.noProgress, "no-progress", false, "don't show progress")
}

// check returns an error for invalid values and combinations of flags.
func (o *batchOptions) check(file bool, format string) error {
	formatHasFields := render.HasFields(format)
	switch {
	case !slices.Contains(inputFormats, o.inputFormat):
		return usagef(about("input-format"), "use one of "+strings.Join(inputFormats, ", "), "invalid value %q for --input-format", o.inputFormat)
	case o.column != "" && o.inputFormat != "auto" && o.inputFormat != string(input.CSV):
		return usagef(about("column", "input-format"), "use only one of these flags", "--column requires CSV input, but --input-format is %s", o.inputFormat)
	case o.field != "" && o.inputFormat != "auto" && o.inputFormat != string(input.NDJSON):
		return usagef(about("field", "input-format"), "use only one of these flags", "--field requires NDJSON input, but --input-format is %s", o.inputFormat)
	case o.column != "" && o.field != "":
		return usagef(about("column", "field"), "use --column for CSV, --field for NDJSON", "--column and --field cannot be used together")
	case o.maxWait < 0 && o.maxWait != defaultWait:
		return usagef(about("max-wait"), "", "--max-wait must not be negative")
	case o.attempts < 1:
		return usagef(about("attempts"), "", "--attempts must be at least 1")
	case len(o.fields) > 0 && !formatHasFields:
		return usagef(about("fields"), "add --format ndjson, csv or table", "--fields has no effect with --format %s", format)
	}
	if !file {
		for flag, given := range map[string]bool{
			"--column": o.column != "", "--field": o.field != "", "--dedupe": o.dedupe, "--ordered": o.ordered,
			"--input-format": o.inputFormat != "auto", "--fsync": o.fsync, "--spill-max": o.spillMax != client.DefaultMaxSpill,
		} {
			if given {
				return usagef(about(flag), "put the queries in a file, one per line", "%s needs --file", flag)
			}
		}
	}
	if _, err := o.parseRates(); err != nil {
		return usagef(about("rate"), "", "--rate: %w", err)
	}
	if _, err := o.parseGroups(); err != nil {
		return usagef(about("group"), "use a name and hosts, such as verisign=rdap.verisign.com,tld-rdap.verisign.com", "--group: %w", err)
	}
	if err := render.CheckFields(o.fields); err != nil {
		return usagef(about("fields"), "run 'rdapq --fields help' for a list; a path such as rdap.secureDNS.delegationSigned or registrar.abuse_email selects a member", "%w", err)
	}
	return nil
}

// listFields implements --fields help. It prints all fields, one per line, and the members with
// which a path may begin.
func listFields(w io.Writer) error {
	for _, name := range render.FieldNames() {
		if _, err := fmt.Fprintln(w, name); err != nil {
			return err
		}
	}
	for _, name := range render.FieldPaths {
		if _, err := fmt.Fprintln(w, name+".MEMBER"); err != nil {
			return err
		}
	}
	return nil
}

// parseRates parses --rate.
func (o *batchOptions) parseRates() (map[string]limit.Rate, error) {
	if len(o.rates) == 0 {
		return nil, nil
	}
	rates := make(map[string]limit.Rate, len(o.rates))
	for _, text := range o.rates {
		host, rate, err := limit.ParseRate(text)
		if err != nil {
			return nil, err
		}
		rates[host] = rate
	}
	return rates, nil
}

// parseGroups parses --group and returns the group of each host.
func (o *batchOptions) parseGroups() (map[string]string, error) {
	groups := make(map[string]string)
	for _, text := range o.groups {
		name, hosts, _ := strings.Cut(text, "=")
		if name = strings.TrimSpace(name); name == "" || strings.TrimSpace(hosts) == "" {
			return nil, fmt.Errorf("expected NAME=HOST,HOST, found %q", text)
		}
		for host := range strings.SplitSeq(hosts, ",") {
			host = strings.ToLower(strings.TrimSpace(host))
			if other, ok := groups[host]; ok && other != name {
				return nil, fmt.Errorf("%s is in both %s and %s", host, other, name)
			}
			if host != "" {
				groups[host] = name
			}
		}
	}
	return groups, nil
}

// configure sets the fields of c that these flags control.
func (o *batchOptions) configure(c *client.Config, file bool) {
	c.Rates, _ = o.parseRates() // check has already validated the rates
	c.Groups, _ = o.parseGroups()
	c.MaxWait, c.Attempts, c.Registrable = o.maxWait, o.attempts, o.registrable
	c.MaxSpill, c.MaxQueued = int64(o.spillMax), math.MaxInt64 // limited in bytes, not in lines
	switch o.maxWait {
	case 0:
		c.MaxWait = -1 // -1 means no wait
	case defaultWait:
		// The default for arguments is shorter, because a person waits for their results.
		if c.MaxWait = client.DefaultMaxWait; file {
			c.MaxWait = client.DefaultBatchMaxWait
		}
	}
}

// warnUnmatched warns about hosts in --rate and --group that received no query, because the
// names may be misspelt. It ignores hosts in the configuration file, which applies to all runs.
func (a *app) warnUnmatched() {
	hosts := slices.DeleteFunc(a.session.client.Unmatched(), func(host string) bool {
		return slices.ContainsFunc(a.settings, func(s setting) bool {
			limits := s.flag.Name == "rate" || s.flag.Name == "group"
			return limits && s.file && strings.Contains(strings.ToLower(s.value), host)
		})
	})
	if len(hosts) > 0 {
		a.warn("no query was sent to " + strings.Join(hosts, ", ") + " (named in --rate or --group); check the spelling")
	}
}
