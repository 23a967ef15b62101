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
	helpIndent = 26 // of what flags mean
)

// help prints what a command does, and its flags by what they are about.
func help(cmd *cobra.Command, groups []flagGroup) {
	w := cmd.OutOrStdout()
	version := "      --version           the version\n"
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
	fmt.Fprint(w, "\nMore:\n  -h                      a short help\n      --help              this text\n"+version)
}

// usageLine is how a command is written.
func usageLine(cmd *cobra.Command) string {
	if cmd.HasParent() {
		return cmd.Parent().Name() + " " + cmd.Use
	}
	return cmd.Use
}

// helpFlag prints a flag and, beside it or below, what it means.
func helpFlag(w io.Writer, f *pflag.Flag) {
	value, usage := pflag.UnquoteUsage(f)
	switch f.DefValue {
	case "", "0", "0s", "false", "[]":
	default:
		usage += " (default " + strings.Trim(f.DefValue, "[]") + ")"
	}
	helpLine(w, f, value, usage)
}

// helpLine prints it from the name of its value and what it means.
func helpLine(w io.Writer, f *pflag.Flag, value, usage string) {
	left := "      --" + f.Name
	if f.Shorthand != "" {
		left = "  -" + f.Shorthand + ", --" + f.Name
	}
	switch {
	case f.NoOptDefVal == "":
		left += " " + value
	case f.Value.Type() == "string": // with or without
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

const long = `rdapq asks RDAP servers about domains, addresses, AS numbers, entities and
nameservers: one or several at a prompt, or one a line from a file. It keeps
its connections, so a server is shaken hands with once; --no-reuse turns that
off and --stats shows the difference.

A query is a name, an address, a prefix, an AS number, or the URL of an RDAP
object, which is asked as it is. With -t of a plural, it searches:
  domains      name=exam*.com (or exam*.com), nsLdhName=ns1.example, nsIp=ADDRESS
  nameservers  name=ns*.example.com, ip=ADDRESS
  entities     fn=Example*, handle=ABC*
  ips autnums  name=EXAMPLE*, handle=NET-*, rdap-up:192.0.2.0/24 (also rdap-down,
               rdap-top, rdap-bottom, and ?status=active behind it)
  any of them  entity:handle=ABC, entity:fn=, :email=, :role=, several with "&":
               a reverse search, where the server's help announces it
One * stands for any text. All pages of the answer are read, up to --max-results;
a row has the first under "rdap" and the others under "more_pages".

Every query gives one result. Exit codes: 0 all were answered ("not found" from
the server responsible is an answer), 1 some were not, 2 usage, 3 nothing could
run, 129, 130 and 143 after SIGHUP, SIGINT and SIGTERM.

Each flag can be set by a variable, RDAPQ_PER_HOST for --per-host, and by a line
"per-host = 4" of the file rdapq/config in the user's configuration folder (or
the one that RDAPQ_CONFIG names). The command line goes first, then variables.
Credentials are lines "ORIGIN SCHEME CREDENTIAL" of the file rdapq/credentials
there, or of the variable RDAPQ_CREDENTIALS; SCHEME is basic, digest, bearer or
apikey.`

const examples = `  rdapq example.com 192.0.2.1 AS64500
  rdapq -f names.txt --stats > results.ndjson
  rdapq -t help -s https://rdap.example/
  rdapq -t domains 'exam*.com' --sort registrationDate:d
  rdapq --demo courbu.re nic.re copacabana.re --stats`
