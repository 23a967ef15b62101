package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/render"
	"github.com/rdapq/rdapq/journal"
)

// openJournal opens --output as a journal, to start or to resume it.
func (a *app) openJournal(out *output, format string, in *journal.Input) error {
	o := &a.opts
	flags, secretFlags := a.rowFlags()
	j, err := journal.Open(o.output, journal.Config{
		Format: journal.Format(format), Header: []byte(out.encoder.Header()),
		Input: in, Settings: flags, SecretSettings: secretFlags, Retry: retryVerdict,
		Ordered: o.batch.ordered, Overwrite: o.batch.force, Fsync: o.batch.fsync,
	})
	if err != nil {
		return a.journalError(err)
	}
	out.journal, out.past = j, j.Past()
	if p := out.past; !o.quiet && !p.Complete && p.Rows+p.Retried > 0 {
		again := ""
		if p.Retried > 0 {
			again = fmt.Sprintf("; %s without a response retried", render.Plural(p.Retried, "line"))
		}
		fmt.Fprintf(a.stderr, "rdapq: resuming %s: %s already done%s\n", render.Safe(o.output), render.Plural(p.Rows, "line"), again)
	}
	return nil
}

// retryVerdict reports whether a resumed run drops the rows with this verdict and retries their
// lines, because the failure may be transient.
func retryVerdict(verdict string) bool {
	return verdict == string(client.VerdictFailed) || verdict == string(client.VerdictRateLimited)
}

func (a *app) journalError(err error) error {
	const start = "choose another file, or start over with --force"
	name := a.opts.output
	change, changed := errors.AsType[*journal.ChangedError](err)
	_, corrupt := errors.AsType[*journal.CorruptError](err)
	switch {
	case changed && change.What == journal.ChangedSettings:
		return usagef(about("output"), start, "cannot resume %s: flags have changed: %s", name, change.Detail)
	case changed:
		return usagef(about("output"), start, "cannot resume %s: %w", name, err)
	case corrupt:
		return usagef(about("output"), start, "cannot resume: %w", err)
	case errors.Is(err, journal.ErrForeign):
		return usagef(about("output"), start, "cannot write %s: %w", name, err)
	case errors.Is(err, journal.ErrLocked):
		return noRunf(about("output"), "wait for it to finish, or choose another file", "cannot write %s: %w", name, err)
	}
	return openError("output", "output", name, err)
}

// rowNeutralFlags are the flags that do not affect rows; a run may be resumed with other
// values. The flags of networkOptions do not affect rows either. All other flags affect rows.
var rowNeutralFlags = []string{
	"file", "output", "format", // these flags are compared separately
	"offline", "color", "stats", "stats-file", "report", "quiet", "verbose", "exit-status",
	"time",
	"force", "fsync", "dry-run", "no-progress", "max-wait", "max-time", "rate", "attempts",
	"jobs", "per-host", "http1-connections", "spill-max", "timeout", "user-agent", "ca", "insecure", "client-cert", "client-cert-password-file",
	"demo-rtt", "cache", "no-cache", "help", "version",
}

// rowFlags returns the flags that affect rows and differ from their defaults. It returns flags
// with a secret separately.
func (a *app) rowFlags() (flags, secret []string) {
	var network pflag.FlagSet
	new(networkOptions).register(&network)
	a.flags.VisitAll(func(f *pflag.Flag) {
		if f.Value.String() == f.DefValue || slices.Contains(rowNeutralFlags, f.Name) || network.Lookup(f.Name) != nil {
			return
		}
		text := "--" + f.Name + "=" + f.Value.String()
		if a.isSecretFlag(f) {
			secret = append(secret, text)
			return
		}
		flags = append(flags, text)
	})
	slices.Sort(flags)
	slices.Sort(secret)
	return flags, secret
}

// resumeCommand returns the shell command that resumes the run. It omits --force, which would
// discard the existing rows.
func (a *app) resumeCommand() string {
	line := withoutForce(a.line)
	if a.opts.batch.force && len(line) == len(a.line) { // a variable or the configuration file has set --force
		line = slices.Insert(line, 1, "--force=false")
	}
	if a.secrets.In([]byte(strings.Join(line, "\n"))) {
		return "run the same command again (not shown, since it contains a secret)"
	}
	words := make([]string, len(line))
	for i, w := range line {
		words[i] = shellQuote(w, runtime.GOOS == "windows")
	}
	return strings.Join(words, " ")
}

// withoutForce returns a command line without --force.
func withoutForce(line []string) []string {
	return slices.DeleteFunc(slices.Clone(line), func(word string) bool {
		return word == "--force" || strings.HasPrefix(word, "--force=")
	})
}

// shellQuote quotes a word for a shell if necessary.
func shellQuote(s string, windows bool) string {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		ok := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
		return !ok && (!windows || r != '\\')
	})
	switch {
	case plain:
		return s
	case windows:
		return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"`
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// commandLine returns the command line of the process.
func commandLine(args []string) []string {
	return append([]string{os.Args[0]}, args...)
}
