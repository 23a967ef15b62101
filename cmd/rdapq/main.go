// Command rdapq asks RDAP servers about domains, addresses, AS numbers,
// entities and nameservers, over connections that it keeps.
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
)

// Exit codes, beside those that --exit-status adds.
const (
	exitOK       = 0
	exitSomeFail = 1 // some query got no answer
	exitUsage    = 2 // flags, variables or configuration are wrong
	exitNoRun    = 3 // nothing could run: input unreadable, output not writable
)

func main() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		paceCollector()
	}
	// net/http and QUIC tell of connections that a server breaks here, in the server's
	// words; the pool copes with those and tells of them itself.
	log.SetOutput(io.Discard)
	os.Exit(run(&app{}, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main without the process: it returns the exit code.
func run(a *app, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// A reader that has seen enough is no error: writes then fail with EPIPE.
	signal.Ignore(syscall.SIGPIPE)
	ctx, interrupt, stop := watchSignals(context.Background())
	defer stop()

	// Through a screen, so that messages come out above what is drawn.
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
	flags []string // names of those that it is about
	err   error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// about names the flags that an error is about, with or without their hyphens.
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
