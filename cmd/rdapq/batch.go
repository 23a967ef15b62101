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

// batchOptions are the flags about many queries: where they come from, how
// servers are spared, and what becomes of the results.
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

// usualWait stands for a --max-wait that was not given.
const usualWait = -1 * time.Nanosecond

var inputFormats = []string{"auto", string(input.Text), string(input.CSV), string(input.NDJSON)}

func (o *batchOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.inputFormat, "input-format", "auto", "`FORMAT` of --file: "+strings.Join(inputFormats, ", ")+" (by its name and first line); each may be compressed by gzip")
	f.StringVar(&o.column, "column", "", "`NAME` of the CSV column with the queries; the first one if not given. The other columns come out with the results")
	f.StringVar(&o.field, "field", "", "`NAME` of the NDJSON member with the query; the first there is of "+strings.Join(input.DefaultFields, ", ")+" if not given")
	f.BoolVar(&o.dedupe, "dedupe", false, "leave out lines that ask what an earlier one asks; takes up to 22 octets of memory a line")
	f.BoolVar(&o.registrable, "registrable", false, "ask for the registrable domain of a host name: example.co.uk for www.example.co.uk")
	f.BoolVar(&o.ordered, "ordered", false, "results of --file in the order of its lines, not as they come")
	f.StringSliceVar(&o.fields, "fields", nil, "`NAMES` of what ndjson, csv and table shall have, in this order: line,verdict,expires,conn.protocol; --fields help lists them")
	f.DurationVar(&o.maxWait, "max-wait", usualWait, "longest `TIME` a query waits for a server that limits requests (30s, with --file 10m)")
	f.Lookup("max-wait").DefValue = "" // the help says it
	f.StringArrayVar(&o.rates, "rate", nil, "at most N requests to a server in any such time: `HOST=N/TIME`, such as rdap.example=100/1m; can be repeated")
	f.StringArrayVar(&o.groups, "group", nil, "servers that count requests together: `NAME=HOST,HOST`; --rate takes the name of the group as well; can be repeated")
	f.IntVar(&o.attempts, "attempts", client.DefaultAttempts, "`N` requests for one query at most, where failures may pass")
	o.spillMax = client.DefaultMaxSpill
	f.Var(&o.spillMax, "spill-max", "use at most `SIZE` of disk for lines of --file that wait for their servers, such as 500MB or 4GiB; reading waits when it is full")
	f.BoolVar(&o.force, "force", false, "start --output over, whatever the file holds")
	f.BoolVar(&o.fsync, "fsync", false, "have the disk store --output at every flush, against power cuts")
	f.BoolVar(&o.dryRun, "dry-run", false, "ask nobody: print which servers would be asked how much, and how long that takes")
	f.BoolVar(&o.noProgress, "no-progress", false, "don't show how far --file has come")
}

// check finds what is wrong with the flags taken together.
func (o *batchOptions) check(file bool, format string) error {
	formatHasFields := slices.Contains([]string{render.FormatNDJSON, render.FormatCSV, render.FormatTable, render.FormatJQ}, format)
	switch {
	case !slices.Contains(inputFormats, o.inputFormat):
		return usagef(about("input-format"), "one of "+strings.Join(inputFormats, ", "), "--input-format does not take %q", o.inputFormat)
	case o.column != "" && o.inputFormat != "auto" && o.inputFormat != string(input.CSV):
		return usagef(about("column", "input-format"), "leave one of them out", "--column is for CSV, --input-format says %s", o.inputFormat)
	case o.field != "" && o.inputFormat != "auto" && o.inputFormat != string(input.NDJSON):
		return usagef(about("field", "input-format"), "leave one of them out", "--field is for NDJSON, --input-format says %s", o.inputFormat)
	case o.column != "" && o.field != "":
		return usagef(about("column", "field"), "--column is for CSV, --field for NDJSON", "--column and --field exclude each other")
	case o.maxWait < 0 && o.maxWait != usualWait:
		return usagef(about("max-wait"), "", "--max-wait must not be negative")
	case o.attempts < 1:
		return usagef(about("attempts"), "", "--attempts must be at least 1")
	case len(o.fields) > 0 && !formatHasFields:
		return usagef(about("fields"), "add --format ndjson, csv or table", "--fields says what rows have, and %s has none", format)
	}
	if !file {
		for flag, given := range map[string]bool{
			"--column": o.column != "", "--field": o.field != "", "--dedupe": o.dedupe, "--ordered": o.ordered,
			"--input-format": o.inputFormat != "auto", "--fsync": o.fsync, "--spill-max": o.spillMax != client.DefaultMaxSpill,
		} {
			if given {
				return usagef(about(flag), "put the queries into a file, one per line", "%s is for --file", flag)
			}
		}
	}
	if _, err := o.parseRates(); err != nil {
		return usagef(about("rate"), "", "--rate: %w", err)
	}
	if _, err := o.parseGroups(); err != nil {
		return usagef(about("group"), "a name and hosts, such as verisign=rdap.verisign.com,tld-rdap.verisign.com", "--group: %w", err)
	}
	if err := render.CheckFields(o.fields); err != nil {
		return usagef(about("fields"), "--fields help lists them; a path such as rdap.secureDNS.delegationSigned or registrar.abuse_email leads into a member", "%w", err)
	}
	return nil
}

// listFields is what --fields help does: it prints the fields there are, one a
// line, and the members that a path may begin with.
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

// parseRates reads --rate.
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

// parseGroups reads --group, and returns the group of each host.
func (o *batchOptions) parseGroups() (map[string]string, error) {
	groups := make(map[string]string)
	for _, text := range o.groups {
		name, hosts, _ := strings.Cut(text, "=")
		if name = strings.TrimSpace(name); name == "" || strings.TrimSpace(hosts) == "" {
			return nil, fmt.Errorf("%q is no name with hosts", text)
		}
		for host := range strings.SplitSeq(hosts, ",") {
			host = strings.ToLower(strings.TrimSpace(host))
			if other, ok := groups[host]; ok && other != name {
				return nil, fmt.Errorf("%s is in %s and in %s", host, other, name)
			}
			if host != "" {
				groups[host] = name
			}
		}
	}
	return groups, nil
}

// configure sets what a client has from these flags.
func (o *batchOptions) configure(c *client.Config, file bool) {
	c.Rates, _ = o.parseRates() // check has found them right
	c.Groups, _ = o.parseGroups()
	c.MaxWait, c.Attempts, c.Registrable = o.maxWait, o.attempts, o.registrable
	c.MaxSpill, c.MaxQueued = int64(o.spillMax), math.MaxInt64 // bytes are the bound, not lines
	switch o.maxWait {
	case 0:
		c.MaxWait = -1 // which says that none waits
	case usualWait:
		// Several queries at a prompt are a batch as well, but one that somebody
		// waits for.
		if c.MaxWait = client.DefaultMaxWait; file {
			c.MaxWait = client.DefaultBatchMaxWait
		}
	}
}
