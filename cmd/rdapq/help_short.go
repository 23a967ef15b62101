package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A shortHelp is what -h prints: what most people need.
type shortHelp struct {
	about  string
	groups []shortGroup
	more   string
}

// A shortGroup is a part of it: flags in few words.
type shortGroup struct {
	title string
	flags []shortFlag
}

type shortFlag struct{ name, usage string }

// shortHelpFlag is the flag that asks for it. It is one of its own, since a flag
// is not told which of its names was written.
const shortHelpFlag = "h"

// addHelp gives a command -h, the short help, and --help, all of it.
func addHelp(cmd *cobra.Command, short shortHelp, groups []flagGroup) {
	cmd.Flags().BoolP(shortHelpFlag, shortHelpFlag, false, "the short help")
	cmd.Flags().Lookup(shortHelpFlag).Hidden = true
	cmd.Flags().Bool("help", false, "all flags")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed(shortHelpFlag) {
			short.write(cmd)
			return nil
		}
		return run(cmd, args)
	}
	cmd.SetHelpFunc(func(c *cobra.Command, _ []string) {
		if c != cmd { // one that cobra adds, such as completion
			fmt.Fprintf(c.OutOrStdout(), "%s\n\n%s", c.Long, c.UsageString())
			return
		}
		help(cmd, groups)
	})
}

// isSetting reports whether a flag is one that variables and the configuration
// file may set.
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

// writeFlag prints a flag with its own name and value, and the words of the short
// help.
func (s *shortHelp) writeFlag(w io.Writer, cmd *cobra.Command, f shortFlag) {
	if flag := cmd.Flags().Lookup(f.name); flag != nil { // a test sees to that
		value, _ := pflag.UnquoteUsage(flag)
		helpLine(w, flag, value, f.usage)
	}
}

var shortCommand = shortHelp{
	about: `rdapq asks registries about domain names, addresses, AS numbers, entities and
nameservers, as whois does, over RDAP.`,
	groups: []shortGroup{
		{"Queries", []shortFlag{
			{"file", "queries from FILE, one a line; - is standard input"},
			{"type", "domain, ip, autnum, nameserver, entity, help; domains, nameservers, entities to search"},
			{"server", "ask this server, whoever is responsible"},
			{"registry-only", "don't ask the registrar of a domain as well"},
			{"offline", "don't fetch IANA's lists of servers"},
		}},
		{"Output", []shortFlag{
			{"format", "text, table, check, json, ndjson, csv"},
			{"raw", "the bytes that the server sent"},
			{"jq", "a part of the answer, in the language of jq"},
			{"output", "write to FILE"},
			{"time", "dates as day, utc, local, rfc3339"},
			{"verbose", "tell more; -vv also of connections"},
			{"quiet", "no warnings, and no errors of queries"},
			{"exit-status", "tell by the exit code what the answer is"},
			{"stats", "tell of connections and what they saved"},
		}},
		{"Servers", []shortFlag{
			{"timeout", "for one attempt at one server"},
			{"rate", "at most N requests to a server in that TIME"},
			{"dry-run", "ask nobody, tell who would be asked"},
			{"demo", "ask a registry built into rdapq, without a network"},
		}},
	},
	more: "rdapq --help lists all flags; rdapq bench -h is about measuring.",
}

var shortBench = shortHelp{
	about: `rdapq bench runs the same lookups in several ways by turns and prints what each
took. Without queries it asks a registry built into rdapq, and no network.`,
	groups: []shortGroup{
		{"Measurement", []shortFlag{
			{"modes", "reuse, no-reuse, resume, h1, h2, h3, 0rtt, tls1.2, fast-open, also joined by +"},
			{"lookups", "lookups a run"},
			{"runs", "runs of each mode; less than 3 claim nothing"},
			{"jobs", "lookups at once"},
			{"demo-rtt", "the round trip to the built-in registry"},
			{"server", "measure this server"},
			{"file", "queries from FILE, one a line"},
		}},
		{"Output", []shortFlag{
			{"json", "all that was measured"},
			{"markdown", "the table in Markdown"},
			{"report", "a page of HTML with waterfalls"},
		}},
	},
	more: "rdapq bench --help lists all flags.",
}
