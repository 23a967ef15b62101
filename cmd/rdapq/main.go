// Command rdapq looks up domains, IP addresses, AS numbers, entities and nameservers
// over RDAP, with persistent connections.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/rdapq/rdapq/client"
)

// Exit codes. statusCodes has those of --exit-status.
const (
	exitOK       = 0
	exitSomeFail = 1 // at least one query was not answered
	exitUsage    = 2 // a flag, variable or the configuration file is invalid
	exitNoRun    = 3 // the run could not start: the input is unreadable, or the output is not writable
)

func main() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		paceCollector()
	}
	// net/http and QUIC log broken connections here, with text from the server. The
	// pool handles and reports them itself.
	log.SetOutput(io.Discard)
	os.Exit(run(&app{}, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run runs the command and returns the exit code.
func run(a *app, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// With SIGPIPE ignored, writes to a closed pipe return EPIPE, which the command does not
	// treat as an error.
	signal.Ignore(syscall.SIGPIPE)
	ctx, interrupt, stop := watchSignals(context.Background())
	defer stop()

	// The screen prints messages above the progress display.
	interrupt.after = a.after
	a.line, a.interrupt = commandLine(args), interrupt
	a.stdin, a.stdout, a.stderr = stdin, stdout, newScreen(stderr)
	cmd := newCommand(a)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if interrupt.early() && (err == nil || errors.Is(err, context.Canceled) || errors.Is(err, errMaxTime) || interrupt.code() > 128) {
		return interrupt.code()
	}
	switch {
	case err == nil:
		return a.exit
	case errors.Is(err, syscall.EPIPE):
		return a.exit
	}
	printError(a.stderr, "", a.settings.attribute(err))
	var coded *codedError
	if errors.As(err, &coded) {
		return coded.code
	}
	return exitUsage
}

// A codedError ends the command with a message, a hint and an exit code.
type codedError struct {
	code  int
	hint  string
	flags []string // names of the flags at fault
	err   error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// about returns the names of the flags at fault, without leading hyphens.
func about(flags ...string) []string {
	for i, f := range flags {
		flags[i] = strings.TrimLeft(f, "-")
	}
	return flags
}

func usagef(flags []string, hint, format string, args ...any) error {
	return &codedError{code: exitUsage, flags: flags, hint: hint, err: fmt.Errorf(format, args...)}
}

func noRunf(flags []string, hint, format string, args ...any) error {
	return &codedError{code: exitNoRun, flags: flags, hint: hint, err: fmt.Errorf(format, args...)}
}

// statusCodes lists the exit codes of --exit-status; the first that applies wins.
var statusCodes = []struct {
	verdict client.Verdict
	code    int
}{
	{client.VerdictFailed, 1},
	{client.VerdictInvalid, 1},
	{client.VerdictRateLimited, 6},
	{client.VerdictRejected, 7},
	{client.VerdictNoService, 5},
	{client.VerdictNotFound, 4},
}

// exitCodes collects the verdicts of a run.
type exitCodes struct{ seen map[client.Verdict]bool }

func (e *exitCodes) add(v client.Verdict) {
	if e.seen == nil {
		e.seen = make(map[client.Verdict]bool)
	}
	e.seen[v] = true
}

func (e *exitCodes) code(status bool) int {
	for _, d := range statusCodes {
		switch {
		case !e.seen[d.verdict]:
		case status:
			return d.code
		case !d.verdict.Answered():
			return exitSomeFail
		}
	}
	return exitOK
}
