package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/render"
)

// An app is one run of the command.
type app struct {
	opts           options
	stdin          io.Reader
	stdout, stderr io.Writer
	exit           int
	session        *session // what the run uses, once it has begun
	many           bool     // more than one query
}

// main runs the queries and leaves their exit code in a.exit.
func (a *app) main(ctx context.Context, args []string) (err error) {
	o := &a.opts
	if err := o.check(args); err != nil {
		return err
	}
	inputs, ordered, closeInput, err := a.inputs(args)
	if err != nil {
		return err
	}
	defer closeInput()

	receiptFile, err := a.openReceipt()
	if err != nil {
		return err
	}
	s, err := a.newSession()
	if err != nil {
		return err
	}
	defer s.close(ctx)
	a.session, a.many = s, len(args) != 1

	out, err := a.openOutput(cmp.Or(o.format, map[bool]string{true: "text", false: "ndjson"}[ordered]))
	if err != nil {
		return err
	}
	start := time.Now()
	results := s.client.Batch(ctx, inputs)
	if ordered {
		results = inOrder(results)
	}
	var tally render.Tally
	var codes exitCodes
	err = a.write(out, results, func(r *client.Result) {
		tally.Add(r)
		codes.add(r.Verdict)
	})
	if err == nil {
		err = out.close()
	}
	report := tally.Report(s.pool.Stats(), time.Since(start))
	if e := a.receipt(receiptFile, report); err == nil {
		err = e
	}
	a.exit = codes.code(o.exitCodes)
	return err
}

// inputs returns the queries, and whether their results must keep the order.
func (a *app) inputs(args []string) (seq iter.Seq2[client.Input, error], ordered bool, closeInput func() error, err error) {
	o := &a.opts
	as := client.Type(o.typ)
	if alias, ok := typeAliases[o.typ]; ok {
		as = alias
	}
	if o.file == "" {
		if as == client.TypeHelp && len(args) == 0 {
			args = []string{""}
		}
		return arguments(args, o.input(as)), true, func() error { return nil }, nil
	}
	in, err := a.openInput(o.file)
	if err != nil {
		return nil, false, nil, err
	}
	return lines(in, o.file, o.input(as)), false, in.Close, nil
}

// write sends results to out until they end or out breaks.
func (a *app) write(out *output, results iter.Seq[*client.Result], seen func(*client.Result)) error {
	for r := range results {
		seen(r)
		if told := a.tell(r); told && out.text {
			continue
		}
		if err := out.encode(r); err != nil {
			return err
		}
	}
	return nil
}

// tell prints what a result says on standard error, and reports whether that
// was why there is no answer.
func (a *app) tell(r *client.Result) (told bool) {
	if a.opts.quiet {
		return false
	}
	if a.opts.verbose > 0 {
		a.detail(r)
	}
	told = r.Err != nil && !r.Verdict.Answered() && a.opts.file == ""
	if told {
		var about string
		if query := r.Query.String(); a.many && !strings.Contains(r.Err.Message, query) {
			about = query + ": "
		}
		say(a.stderr, about, r.Err)
	}
	return told
}

// detail is what --verbose adds.
func (a *app) detail(r *client.Result) {
	if r.Server != "" {
		fmt.Fprintf(a.stderr, "rdapq: %s: asked as %s at %s (%s %s)\n", render.Safe(r.Query.Text), r.Query.Type, render.Safe(r.Server), r.Source, render.Safe(r.Entry))
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(a.stderr, "rdapq: %s: warning: %s\n", render.Safe(r.Query.Text), render.Safe(w))
	}
}

// openReceipt opens the file of --stats-file before anything is asked. It is
// nil without one.
func (a *app) openReceipt() (*os.File, error) {
	if a.opts.statsFile == "" {
		return nil, nil
	}
	f, err := os.Create(a.opts.statsFile)
	if err != nil {
		return nil, noRunf("", "cannot write the receipt: %w", err)
	}
	return f, nil
}

// receipt prints and writes what --stats and --stats-file ask for.
func (a *app) receipt(file *os.File, report render.Report) error {
	if a.opts.stats {
		if err := render.WriteReceipt(a.stderr, report); err != nil {
			return err
		}
	}
	if file == nil {
		return nil
	}
	err := json.NewEncoder(file).Encode(report)
	if e := file.Close(); err == nil {
		err = e
	}
	if err != nil {
		return noRunf("", "cannot write the receipt: %w", err)
	}
	return nil
}

// hints are those that name a flag, which the library can't.
var hints = map[string]string{
	client.CodeNoService: "name a server with --server if you know one that answers for it",
	client.CodeHTTPOnly:  "--allow-http asks it all the same; anybody on the way may change the answer",
}

// say prints what an error is about, if that needs saying, and the error as one
// line, and its hint as another.
func say(w io.Writer, about string, err error) {
	hint := ""
	var coded *codedError
	var asked *client.Error
	switch {
	case errors.As(err, &coded):
		hint = coded.hint
	case errors.As(err, &asked):
		hint = cmp.Or(hints[asked.Code], asked.Hint)
	}
	fmt.Fprintf(w, "rdapq: %s%s\n", render.Safe(about), render.Safe(err.Error()))
	if hint != "" {
		fmt.Fprintf(w, "hint: %s\n", render.Safe(hint))
	}
}

// An output is where results go.
type output struct {
	encoder *render.Encoder
	file    *os.File // nil for standard output
	text    bool     // it is for people
	live    bool     // somebody watches: nothing waits in the buffer
}

func (a *app) openOutput(format string) (*output, error) {
	out := &output{text: format == render.FormatText}
	w := a.stdout
	if a.opts.output != "" {
		if sameFile(a.opts.output, a.opts.file) {
			return nil, usagef("name another file", "--output is the file that --file reads")
		}
		f, err := os.Create(a.opts.output)
		if err != nil {
			return nil, noRunf("", "cannot write the output: %w", err)
		}
		out.file, w = f, f
	}
	width, tty := terminal(w)
	out.live = tty || a.opts.file == ""
	color := a.opts.color == "always" || a.opts.color == "auto" && tty && os.Getenv("NO_COLOR") == ""
	var err error
	out.encoder, err = render.NewEncoder(format, w, render.Options{
		Text:   render.TextOptions{Color: color, Width: width, Now: time.Now(), Verbose: a.opts.verbose > 0},
		Many:   a.many,
		Pretty: tty,
	})
	return out, err
}

// sameFile reports whether two names lead to one regular file.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && x.Mode().IsRegular() && os.SameFile(x, y)
}

func (o *output) encode(r *client.Result) error {
	err := o.encoder.Encode(r)
	if err == nil && o.live {
		err = o.encoder.Flush()
	}
	return outputError(err)
}

func (o *output) close() error {
	err := o.encoder.Close()
	if o.file != nil {
		if e := o.file.Close(); err == nil {
			err = e
		}
	}
	return outputError(err)
}

func outputError(err error) error {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return err
	}
	return noRunf("", "cannot write the output: %w", err)
}

// terminal reports the width of w if it is a terminal.
func terminal(w io.Writer) (width int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		width = 0
	}
	return width, true
}

// inOrder brings the results of arguments into the order of their lines,
// which count from 1 without gaps.
func inOrder(results iter.Seq[*client.Result]) iter.Seq[*client.Result] {
	return func(yield func(*client.Result) bool) {
		next := int64(1)
		early := make(map[int64]*client.Result)
		for r := range results {
			early[r.Line] = r
			for early[next] != nil {
				r := early[next]
				delete(early, next)
				next++
				if !yield(r) {
					return
				}
			}
		}
	}
}

// logger is for the curious: -vv.
func (a *app) logger() *slog.Logger {
	if a.opts.verbose < 2 {
		return nil
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
