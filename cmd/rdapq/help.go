package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Columns of the help text.
const (
	helpWidth  = 80
	helpIndent = 26 // column at which descriptions of flags begin
)

// help prints the full help of a command, with its flags in groups.
func help(cmd *cobra.Command, groups []flagGroup) {
	w := cmd.OutOrStdout()
	version := "      --version           show the version\n"
	if cmd.HasParent() {
		version = ""
	}
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n\nExamples:\n%s\n", cmd.Long, usageLine(cmd), cmd.Example)
	for _, g := range groups {
		fmt.Fprintf(w, "\n%s:\n", g.title)
		g.flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				helpFlag(w, f)
			}
		})
	}
	fmt.Fprint(w, "\nMore:\n  -h                      show common options\n      --help              show all options\n"+version)
}

// usageLine returns the synopsis of a command.
func usageLine(cmd *cobra.Command) string {
	if cmd.HasParent() {
		return cmd.Parent().Name() + " " + cmd.Use
	}
	return cmd.Use
}

// helpFlag prints a flag and its description.
func helpFlag(w io.Writer, f *pflag.Flag) {
	value, usage := pflag.UnquoteUsage(f)
	switch f.DefValue {
	case "", "0", "0s", "false", "[]":
	default:
		usage += " (default " + strings.Trim(f.DefValue, "[]") + ")"
	}
	helpLine(w, f, value, usage)
}

// helpLine prints a flag, the name of its value and its description.
func helpLine(w io.Writer, f *pflag.Flag, value, usage string) {
	left := "      --" + f.Name
	if f.Shorthand != "" {
		left = "  -" + f.Shorthand + ", --" + f.Name
	}
	switch {
	case f.NoOptDefVal == "":
		left += " " + value
	case f.Value.Type() == "string": // the value of the flag is optional
		left += "[=" + value + "]"
	}
	indent := strings.Repeat(" ", helpIndent)
	if utf8.RuneCountInString(left) > helpIndent-2 {
		fmt.Fprintln(w, left)
		left = ""
	}
	line := left + indent[min(utf8.RuneCountInString(left), helpIndent):]
	for word := range strings.FieldsSeq(usage) {
		switch n := utf8.RuneCountInString(line); {
		case n == helpIndent:
			line += word
		case n+1+utf8.RuneCountInString(word) > helpWidth:
			fmt.Fprintln(w, line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	fmt.Fprintln(w, line)
}

const long = `rdapq looks up domains, IP addresses, AS numbers, entities and nameservers over
RDAP, from arguments or from a file with one query per line. Connections are
reused, so each server costs one handshake; --no-reuse disables that. Use --stats
to see what reuse saved.

A query is a domain name, an IP address, a prefix, an AS number, or an RDAP URL,
fetched as given. With a plural type, -t performs a search:
  domains      name=exam*.com (or exam*.com), nsLdhName=ns1.example, nsIp=ADDRESS
  nameservers  name=ns*.example.com, ip=ADDRESS
  entities     fn=Example*, handle=ABC*
  ips autnums  name=EXAMPLE*, handle=NET-*, rdap-up:192.0.2.0/24 (also rdap-down,
               rdap-top, rdap-bottom; append ?status=active to filter)
  any of them  entity:handle=ABC, entity:fn=, :email=, :role=, joined by "&":
               a reverse search, if the server's help announces it
A pattern may contain one *. All result pages are fetched, up to --max-results;
a row has the first page in "rdap" and the others in "more_pages".

Every query produces one result. Exit status: 0 all queries were answered
(including "not found" from the responsible server), 1 some queries were not
answered, 2 usage error, 3 the run could not start, 129, 130 and 143 after SIGHUP,
SIGINT and SIGTERM.

Every flag can also be set with an environment variable (RDAPQ_PER_HOST for
--per-host) or with a line "per-host = 4" in ~/.config/rdapq/config (or
$RDAPQ_CONFIG). Precedence: command line, environment, configuration file.
Credentials are lines "ORIGIN SCHEME CREDENTIAL" in ~/.config/rdapq/credentials or
in $RDAPQ_CREDENTIALS; SCHEME is basic, digest, bearer, apikey or header.`

const examples = `  rdapq example.com 192.0.2.1 AS64500
  rdapq -f names.txt --stats > results.ndjson
  rdapq -t help -s https://rdap.example/
  rdapq -t domains 'exam*.com' --sort registrationDate:d
  rdapq --demo courbu.re nic.re copacabana.re --stats`
