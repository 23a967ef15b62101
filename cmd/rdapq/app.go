package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/measure"
	"github.com/rdapq/rdapq/internal/render"
	"github.com/rdapq/rdapq/internal/report"
	"github.com/rdapq/rdapq/internal/secret"
	"github.com/rdapq/rdapq/pool"
)

// An app is one run of the command.
type app struct {
	opts           options
	bench          benchOptions
	flags          *pflag.FlagSet // parsed flags of the command
	settings       settings       // values of flags from variables and the configuration file
	line           []string       // os.Args
	stdin          io.Reader
	stdout, stderr io.Writer
	interrupt      *interrupt
	exit           int
	session        *session      // nil until the run begins
	target         *target       // servers that bench measures; nil until bench starts
	many           bool          // the run has more than one query
	secrets        *secret.Set   // secrets that must never be printed; set when the session begins
	warnedUnsaved  bool          // the user was warned that server state is not saved
	grace          time.Duration // 0 means refreshGrace

	after func(d time.Duration, f func()) // see interrupt.after
}

// main runs the queries and sets a.exit to their exit code.
func (a *app) main(ctx context.Context, args []string) (err error) {
	o := &a.opts
	if err := o.check(args); err != nil {
		return err
	}
	if err := a.checkFiles(); err != nil {
		return err
	}
	if o.maxTime > 0 && o.file != "" {
		a.interrupt.stopAfter(o.maxTime)
	} else if o.maxTime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.maxTime, errMaxTime)
		defer cancel()
	}
	src, err := a.openSource(ctx, args)
	if err != nil {
		return err
	}
	defer src.close()

	receiptFile, err := a.openReceipt()
	if err != nil {
		return err
	}
	s, err := a.newSession()
	if err != nil {
		return err
	}
	defer a.finish(ctx, s)
	a.session, a.many = s, len(args) != 1
	a.hintSearchFlags(args)
	if o.batch.dryRun {
		return a.plan(ctx, s, src)
	}
	page, err := a.openReport()
	if err != nil {
		return err
	}
	fingerprint, err := src.fingerprint(ctx, a.isJournal(o.outputFormat()))
	if err != nil {
		return err
	}
	out, err := a.openOutput(o.outputFormat(), src, fingerprint)
	if err != nil {
		return err
	}
	r := &batchRun{app: a, src: src, out: out, start: time.Now()}
	if o.trace && o.outputFormat() != render.FormatNDJSON {
		r.traces = new(render.Traces)
	}
	if page != nil {
		r.recorder = measure.NewRecorder()
	}
	if out.past.Complete {
		err = r.reportComplete()
	} else {
		err = r.batch(ctx)
	}
	a.warnTrailing(src)
	stats := s.pool.Stats()
	report := r.tally.Report(stats, time.Since(r.start))
	if s.limited() {
		report.WithholdSaved(pool.SavedThrottled)
	}
	if err == nil {
		r.summary(report)
	}
	if err == nil && a.many && out.past.Rows == 0 && !a.interrupt.early() {
		a.warnUnmatched()
	}
	if err == nil && (r.traces != nil || o.stats) {
		a.separateStats()
	}
	if r.traces != nil && err == nil {
		err = r.traces.Write(a.stderr, a.stderrWidth())
	}
	if e := a.receipt(receiptFile, report); err == nil {
		err = e
	}
	if page != nil {
		e := writeReport(page, r.recorder.Report(o.jobs, stats, s.client.Servers(), o.demo, o.demoRTT))
		if err == nil {
			err = e
		}
	}
	if code := r.codes.code(o.exitCodes); code != exitOK {
		a.exit = code
	}
	return err
}

// outputFormat returns the value of --format, or the default.
func (o *options) outputFormat() string {
	switch {
	case o.view.raw != "":
		return render.FormatRaw
	case o.view.jq != "":
		return render.FormatJQ
	case o.format != "":
		return o.format
	case o.file != "":
		return render.FormatNDJSON
	}
	return render.FormatText
}

// stderrWidth returns the width of standard error in columns, or 0 if it is not a terminal.
func (a *app) stderrWidth() int {
	s, ok := a.stderr.(*screen)
	if !ok || !s.terminal() {
		return 0
	}
	width, _ := s.size()
	return width
}

// separateStats prints a blank line between the results and the statistics if both go
// to a terminal.
func (a *app) separateStats() {
	_, shown := terminal(a.stdout)
	if shown && a.stderrWidth() > 0 && a.opts.output == "" && a.opts.outputFormat() == render.FormatText {
		fmt.Fprintln(a.stderr)
	}
}

// printErrors prints the error and the warnings of a result on standard error. It returns
// true if the error belongs on standard error, even when --quiet suppresses it.
func (a *app) printErrors(r *client.Result) (printed bool) {
	// The output of --raw does not show whether the response was an error or was missing.
	unseen := a.opts.view.raw != "" || !r.Verdict.Answered()
	e := render.ErrorOf(r)
	printed = e != nil && unseen && a.opts.file == ""
	if a.opts.quiet {
		return printed
	}
	if a.opts.verbose > 0 {
		a.detail(r)
	} else if a.opts.file == "" && a.opts.outputFormat() != render.FormatNDJSON {
		a.warnMissingLinks(r)
	}
	if f := a.opts.outputFormat(); r.Other != "" && a.opts.verbose == 0 && (f == render.FormatJSON || f == render.FormatRaw) {
		a.printWarning(r, "the response is about "+r.Other) // these formats do not show the other object
	}
	if printed {
		var about string
		if query := r.Query.String(); a.many && !strings.Contains(e.Message, query) {
			about = query + ": "
		}
		printError(a.stderr, about, e)
	}
	return printed
}

// warnMissingLinks prints the --related links that are missing from a response, for
// formats whose rows contain no warnings.
func (a *app) warnMissingLinks(r *client.Result) {
	for _, w := range r.Warnings {
		if w.Code == client.WarnNoLink {
			a.printWarning(r, w.Message)
		}
	}
}

func (a *app) printWarning(r *client.Result, warning string) {
	fmt.Fprintf(a.stderr, "rdapq: %s: warning: %s\n", render.Safe(render.ShownQuery(r.Query.Text)), render.Safe(warning))
}

// detail prints the additional lines of --verbose.
func (a *app) detail(r *client.Result) {
	if r.Server != "" {
		found := strings.TrimSpace(string(r.Source) + " " + render.Safe(r.Entry))
		fmt.Fprintf(a.stderr, "rdapq: %s: sent as %s to %s (%s)\n", render.Safe(render.ShownQuery(r.Query.Text)), r.Query.Type, render.Safe(r.Server), found)
	}
	for _, w := range r.Warnings {
		a.printWarning(r, w.Message)
	}
}

// openReceipt opens the file of --stats-file before the first query. It returns nil
// without the flag.
func (a *app) openReceipt() (*os.File, error) {
	if a.opts.statsFile == "" {
		return nil, nil
	}
	f, err := os.Create(a.opts.statsFile)
	if err != nil {
		return nil, openError("stats-file", "statistics", a.opts.statsFile, err)
	}
	return f, nil
}

// receipt writes the output of --stats and --stats-file.
func (a *app) receipt(file *os.File, report render.Report) error {
	if a.opts.stats {
		if err := render.WriteReceipt(a.stderr, report, a.stderrWidth()); err != nil {
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
		return noRunf(about("stats-file"), "", "cannot write the statistics: %w", err)
	}
	return nil
}

// hints maps error codes to hints that name flags or files of the command.
var hints = map[client.Code]string{
	client.CodeNotPublic:    "use --server to query it by name, or --allow-private to allow private addresses (for test labs)",
	client.CodeUnauthorized: "put credentials in ~/.config/rdapq/credentials or in $" + credentialsVariable,
	client.CodeHTTPOnly:     "use --allow-http to query it anyway; the response can be tampered with in transit",
}

// flagsForHint maps the hint codes of the library to flags.
var flagsForHint = map[client.HintCode]string{
	client.HintTimeout:     "--timeout",
	client.HintMaxWait:     "--max-wait",
	client.HintJobs:        "--jobs",
	client.HintServer:      "--server",
	client.HintEntity:      "-t entity, or --server",
	client.HintAddress:     "-t ip",
	client.HintCertificate: "--ca",
}

// withFlagHint returns e with a hint that names flags and files of the command.
func withFlagHint(e *client.Error) *client.Error {
	if e == nil {
		return nil
	}
	c := *e
	switch flags := flagsForHint[e.HintCode]; {
	case hints[e.Code] != "":
		c.Hint = hints[e.Code]
	case flags != "":
		c.Hint, c.HintCode = c.Hint+": "+flags, "" // clear the code, so that the hint is not added twice
	}
	if errors.Is(e.Err, errMaxTime) {
		c.Hint = "raise --max-time"
	}
	return &c
}

// printError prints about and the error on one line, and its hint on another.
func printError(w io.Writer, about string, err error) {
	hint := ""
	var coded *codedError
	var lookup *client.Error
	switch {
	case errors.As(err, &coded):
		hint = coded.hint
	case errors.As(err, &lookup):
		hint = withFlagHint(lookup).Hint
	}
	fmt.Fprintf(w, "rdapq: %s%s\n", render.Safe(about), render.Safe(err.Error()))
	if hint != "" {
		fmt.Fprintf(w, "hint: %s\n", render.Safe(hint))
	}
}

// sortByLine sorts the results of arguments by line; lines count from 1 without gaps.
func sortByLine(results iter.Seq[*client.Result]) iter.Seq[*client.Result] {
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

// logger returns the logger of -vv, or nil without the flag.
func (a *app) logger() *slog.Logger {
	if a.opts.verbose < 2 {
		return nil
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// openReport opens the file of --report before the first query. It returns nil without
// the flag.
func (a *app) openReport() (*os.File, error) {
	if a.opts.report == "" {
		return nil, nil
	}
	f, err := os.Create(a.opts.report)
	if err != nil {
		return nil, openError("report", "report", a.opts.report, err)
	}
	return f, nil
}

// writeReport writes the report and closes its file.
func writeReport(f *os.File, r *measure.Report) error {
	err := report.WriteHTML(f, r)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return noRunf(about("report"), "", "cannot write the report: %w", err)
	}
	return nil
}
