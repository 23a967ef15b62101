package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A shortHelp is the text of -h, which lists the most common flags.
type shortHelp struct {
	about  string
	groups []shortGroup
	more   string
}

// A shortGroup is a section of a shortHelp.
type shortGroup struct {
	title string
	flags []shortFlag
}

type shortFlag struct{ name, usage string }

// shortHelpFlag is the name of -h. It is a separate flag, because pflag does not report whether
// the short or the long name of a flag was used.
const shortHelpFlag = "h"

// addHelp adds -h, the short help, and --help, the full help, to a command.
func addHelp(cmd *cobra.Command, short shortHelp, groups []flagGroup) {
	cmd.Flags().BoolP(shortHelpFlag, shortHelpFlag, false, "show common options")
	cmd.Flags().Lookup(shortHelpFlag).Hidden = true
	cmd.Flags().Bool("help", false, "show all options")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed(shortHelpFlag) {
			short.write(cmd)
			return nil
		}
		return run(cmd, args)
	}
	cmd.SetHelpFunc(func(c *cobra.Command, _ []string) {
		if c != cmd { // cobra has added commands such as completion
			fmt.Fprintf(c.OutOrStdout(), "%s\n\n%s", c.Long, c.UsageString())
			return
		}
		help(cmd, groups)
	})
}

// isSetting reports whether variables and the configuration file may set a flag.
func isSetting(f *pflag.Flag) bool {
	return f.Name != "help" && f.Name != shortHelpFlag && f.Name != "version"
}

func (s *shortHelp) write(cmd *cobra.Command) {
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n", s.about, usageLine(cmd))
	for _, g := range s.groups {
		fmt.Fprintf(w, "\n%s:\n", g.title)
		for _, f := range g.flags {
			s.writeFlag(w, cmd, f)
		}
	}
	fmt.Fprintf(w, "\nExamples:\n%s\n\n%s\n", cmd.Example, s.more)
}

// writeFlag prints a flag with the description of the short help.
func (s *shortHelp) writeFlag(w io.Writer, cmd *cobra.Command, f shortFlag) {
	if flag := cmd.Flags().Lookup(f.name); flag != nil { // TestShortHelp checks that all flags exist
		value, _ := pflag.UnquoteUsage(flag)
		helpLine(w, flag, value, f.usage)
	}
}

var shortCommand = shortHelp{
	about: `rdapq looks up domains, IP addresses, AS numbers, entities and nameservers over
RDAP.`,
	groups: []shortGroup{
		{"Queries", []shortFlag{
			{"file", "read queries from FILE, one per line; - for standard input"},
			{"type", "domain, ip, autnum, nameserver, entity, help; plural to search"},
			{"server", "query this server; skip bootstrap"},
			{"registry-only", "don't follow the link to the registrar"},
			{"offline", "don't refresh IANA's bootstrap files"},
		}},
		{"Output", []shortFlag{
			{"format", strings.Join(formats, ", ")},
			{"raw", "print the raw response body"},
			{"jq", "filter each result with a jq expression"},
			{"output", "write to FILE"},
			{"time", "date format: day, utc, local, rfc3339"},
			{"verbose", "show more detail; -vv also logs connections"},
			{"quiet", "suppress warnings and per-query errors"},
			{"exit-status", "set the exit status from the verdict"},
			{"stats", "print connection statistics"},
		}},
		{"Servers", []shortFlag{
			{"timeout", "limit each request to TIME"},
			{"rate", "limit requests to a server: rdap.example=100/1m"},
			{"dry-run", "show what would be queried; send nothing"},
			{"demo", "query the built-in demo registry; no network needed"},
		}},
	},
	more: "Run 'rdapq --help' for all flags, 'rdapq bench -h' for benchmarking.",
}

var shortBench = shortHelp{
	about: `rdapq bench runs the same lookups in several modes, interleaved, and compares
them. Without queries it uses the built-in demo registry and no network.`,
	groups: []shortGroup{
		{"Measurement", []shortFlag{
			{"modes", "reuse, no-reuse, resume, h1, h2, h3, 0rtt, tls1.2, fast-open; combine with +"},
			{"lookups", "lookups per run"},
			{"runs", "runs per mode; at least 3 are needed for a verdict"},
			{"jobs", "concurrent lookups"},
			{"demo-rtt", "emulated round-trip time of the demo registry"},
			{"server", "measure this server"},
			{"file", "read queries from FILE, one per line"},
		}},
		{"Output", []shortFlag{
			{"json", "print all measurements as JSON"},
			{"markdown", "print the table as Markdown"},
			{"report", "write an HTML report"},
		}},
	},
	more: "Run 'rdapq bench --help' for all flags.",
}
