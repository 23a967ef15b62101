package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"syscall"
	"time"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/measure"
	"github.com/rdapq/rdapq/internal/render"
)

// A batchRun sends queries and writes their results.
type batchRun struct {
	app   *app
	src   *source
	out   *output
	start time.Time

	tally    render.Tally
	failures render.Failures
	traces   *render.Traces    // nil if the traces are in the rows, or not requested
	recorder *measure.Recorder // nil without --report
	codes    exitCodes
	notAsked int64 // number of lines read but not sent when the run was interrupted
}

// batch runs all queries and writes their results.
func (r *batchRun) batch(ctx context.Context) error {
	a := r.app
	for verdict := range r.out.past.Verdicts {
		r.codes.add(client.Verdict(verdict))
	}
	c := a.session.client
	batch := c.Batch(ctx, r.src.queries(r.out.begin))
	results := batch.All()
	file := a.opts.file != ""
	p := new(progress)
	if file {
		a.interrupt.onStop(func() {
			r.src.stopped.Store(true)
			batch.Drain()
		})
		if screen, ok := a.stderr.(*screen); ok && r.showsProgress() {
			p.screen, p.batch, p.before, p.jobs = screen, batch, r.out.past.Rows, a.opts.jobs
			p.start(ctx, r.src)
		}
	} else {
		results = sortByLine(results)
	}
	err := r.write(results, p)
	p.stop()
	early := a.interrupt.early()
	if err != nil {
		_ = r.out.abandon() // writeRows has returned the first error
		if r.out.journal != nil && r.src.file != nil && !errors.Is(err, syscall.EPIPE) {
			return r.withResumeHint(err)
		}
		return err
	}
	if err := r.out.close(!early); err != nil {
		return err
	}
	if early && file {
		r.printResumeCommand()
	}
	return nil
}

// write writes results until they end or the output fails.
func (r *batchRun) write(results iter.Seq[*client.Result], p *progress) error {
	a := r.app
	for res := range results {
		classifyInputError(res)
		redact(a.secrets, res)
		res.Failure = a.opts.net.withAddressHint(res.Failure)
		res = a.opts.referral.shown(res)
		if r.out.text {
			res.Refusal, res.Failure = withFlagHint(res.Refusal), withFlagHint(res.Failure)
		}
		if r.wasCanceled(res) {
			r.notAsked++
			continue
		}
		r.tally.Add(res)
		r.failures.Add(res)
		r.codes.add(res.Verdict)
		if r.traces != nil {
			r.traces.Add(res)
		}
		if r.recorder != nil {
			r.recorder.Add(res)
		}
		p.seen(res.Verdict)
		if printed := a.printErrors(res); printed && r.out.text {
			continue
		}
		if err := r.writeRows(res); err != nil {
			return err
		}
	}
	return nil
}

// writeRows writes the row of a result or, with --expand, a row per object found.
func (r *batchRun) writeRows(res *client.Result) error {
	if !r.app.opts.search.expand {
		return r.out.write(res)
	}
	for one := range res.Expand() {
		if err := r.out.write(one); err != nil {
			return err
		}
	}
	return nil
}

// wasCanceled reports whether a line of a file has no result because a signal or --max-time
// ended the run. Such a line gets no row, so the next run retries the line.
func (r *batchRun) wasCanceled(res *client.Result) bool {
	return r.app.opts.file != "" && wasAbandoned(res) && r.app.interrupt.early()
}

// showsProgress reports whether to show progress, which is not the case if rows go to the same
// terminal.
func (r *batchRun) showsProgress() bool {
	o := &r.app.opts
	_, tty := terminal(r.app.stdout)
	return !o.quiet && !o.batch.noProgress && (o.output != "" || !tty)
}

// reportComplete ends a run whose output already has a row for every line.
func (r *batchRun) reportComplete() error {
	for verdict := range r.out.past.Verdicts {
		r.codes.add(client.Verdict(verdict))
	}
	if !r.app.opts.quiet {
		fmt.Fprintf(r.app.stderr, "rdapq: nothing to do: %s already has results for all %s: %s\n",
			render.Safe(r.app.opts.output), render.Plural(r.out.past.Rows, "line"), cmp.Or(render.Verdicts(r.out.past.Verdicts), "none"))
	}
	return r.out.close(false) // the output is already marked as complete
}

// printResumeCommand prints how to resume a run that was interrupted.
func (r *batchRun) printResumeCommand() {
	a := r.app
	hint := ""
	switch {
	case r.out.journal == nil && a.lacksJournalFields():
		hint = "include line and verdict in --fields to make runs resumable"
	case r.out.journal == nil:
		hint = "use --output with ndjson or csv to make runs resumable"
	case r.src.file == nil:
		hint = "read the input from a regular file to make runs resumable"
	}
	if hint != "" {
		fmt.Fprintf(a.stderr, "rdapq: stopped after %s\nhint: %s\n", render.Plural(r.tally.Lookups(), "line"), hint)
		return
	}
	fmt.Fprintf(a.stderr, "rdapq: stopped after %s; to resume:\n  %s\n", render.Plural(r.tally.Lookups(), "line"), render.Safe(a.resumeCommand()))
}

// withResumeHint adds the command that resumes the run to an error without a hint.
func (r *batchRun) withResumeHint(err error) error {
	coded, ok := errors.AsType[*codedError](err)
	if !ok || coded.hint != "" {
		return err
	}
	return &codedError{code: coded.code, flags: coded.flags, hint: "fix the problem, then resume with: " + r.app.resumeCommand(), err: coded.err}
}

// summary prints the summary of a batch.
func (r *batchRun) summary(report render.Report) {
	a := r.app
	s := render.Summary{
		Report: report, Failures: &r.failures,
		Previous: r.out.past.Verdicts, Duplicates: r.src.dropped.Load(), NotQueried: r.notAsked,
	}
	if a.opts.file == "" || a.opts.quiet || r.out.past.Complete || r.src.read.Load() == 0 {
		return
	}
	_ = render.WriteSummary(a.stderr, s) // nothing else could report the error
	for _, line := range heldLines(a.session.client.Servers()) {
		fmt.Fprintln(a.stderr, line)
	}
}
