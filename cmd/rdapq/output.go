package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/input"
	"github.com/rdapq/rdapq/internal/journal"
	"github.com/rdapq/rdapq/internal/order"
	"github.com/rdapq/rdapq/internal/render"
)

// An output is where results go: straight to an encoder, through a queue that
// puts them in order, or into a journal.
type output struct {
	encoder *render.Encoder
	file    *os.File // nil for standard output and journals
	text    bool     // it is for people, who read errors elsewhere
	live    bool     // somebody watches: nothing waits in the buffer

	journal *journal.Journal // nil: the output can't be gone on with
	past    journal.Past     // of the journal
	row     []byte

	mu    sync.Mutex   // of what follows, and of encoder
	queue *order.Queue // nil: rows come as they come, or in order anyway
	timer *time.Timer  // flushes; nil: nothing waits
	ended bool
}

// flushInterval is how long a row waits at most for others that are written with
// it.
const flushInterval = 100 * time.Millisecond

// openOutput opens what --output names, or else standard output.
func (a *app) openOutput(format string, src *source, in *journal.Input) (*output, error) {
	o := &a.opts
	a.warnOfName(format)
	out := &output{text: format == render.FormatText}
	w := a.stdout
	switch {
	case o.output == "":
	case a.isJournal(format):
		w = io.Discard // rows are made here and written there
	default:
		f, err := a.createOutput(o.output)
		if err != nil {
			return nil, err
		}
		out.file, w = f, f
	}
	width, tty := terminal(w)
	out.live = tty || o.file == ""
	color := o.color == "always" || o.color == "auto" && tty && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	look := render.Options{
		Text:         render.TextOptions{Color: color, Width: width, Now: time.Now(), Verbose: o.verbose > 0},
		Many:         a.many,
		Pretty:       tty,
		Fields:       o.batch.fields,
		Types:        src.types(),
		Trace:        o.trace,
		InputColumns: src.columns(),
		Failed:       a.printJQError,
	}
	o.view.apply(&look, tty)
	var err error
	out.encoder, err = render.NewEncoder(format, w, look)
	if err != nil {
		return nil, errors.Join(err, out.abandon())
	}
	switch {
	case o.output != "" && out.file == nil:
		return out, a.openJournal(out, format, in)
	case o.batch.ordered:
		out.queue = order.NewQueue(order.Config{Emit: out.encoder.Add})
	}
	return out, nil
}

// columns are those that the input has beside the queries, for CSV.
func (s *source) columns() []string {
	switch {
	case s.reader == nil:
		return nil
	case s.reader.Format() == input.NDJSON:
		return []string{render.WholeInput} // each line may have others
	}
	return s.reader.Columns()
}

// types are those of the queries, as far as they are known before the queries are read.
func (s *source) types() []client.Type {
	switch {
	case s.template.Type != "":
		return []client.Type{s.template.Type}
	case s.reader != nil:
		return nil
	}
	var types []client.Type
	for _, arg := range s.args {
		if q, err := client.Parse(arg); err == nil && !slices.Contains(types, q.Type) {
			types = append(types, q.Type)
		}
	}
	return types
}

// createOutput creates a file that is no journal. One that holds something is
// not overwritten unless the user says so.
func (a *app) createOutput(name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err == nil && info.Mode().IsRegular() {
		if info.Size() > 0 && !a.opts.batch.force {
			hint := "choose another file, or overwrite it with --force"
			if a.opts.file != "" && a.lacksJournalFields() {
				hint += "; include line and verdict in --fields to make runs resumable"
			}
			return nil, usagef(about("output"), hint, "%s exists and is not empty", name)
		}
		if err := journal.Discard(name); err != nil {
			return nil, openError("output", "output", name, err)
		}
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, openError("output", "output", name, err)
	}
	return f, nil
}

// begin is told of all lines that give a row, in order, and tells whether they
// are still to be asked.
func (o *output) begin(line int64) (ask bool, err error) {
	switch {
	case o.journal != nil:
		return o.journal.Begin(line)
	case o.queue == nil:
		return true, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return true, o.queue.Announce(line)
}

// write takes a result.
func (o *output) write(r *client.Result) error {
	if o.journal != nil {
		o.row = o.encoder.Row(o.row[:0], r)
		err := outputError(o.journal.Write(r.Line, o.row))
		o.keepRow()
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var err error
	if o.queue != nil {
		o.row = o.encoder.Row(o.row[:0], r)
		err = o.queue.Put(r.Line, o.row)
		o.keepRow()
	} else {
		err = o.encoder.Encode(r)
	}
	switch {
	case err != nil:
	case o.live:
		err = o.encoder.Flush()
	case o.timer == nil:
		o.timer = time.AfterFunc(flushInterval, o.flush)
	}
	return outputError(err)
}

// keepRow keeps the memory of a row for the next, unless it is a lot.
func (o *output) keepRow() {
	if cap(o.row) > 1<<20 {
		o.row = nil
	}
}

// flush writes what waits. If that fails, the next row is told.
func (o *output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer = nil; !o.ended {
		_ = o.encoder.Flush()
	}
}

// close ends the output. It is whole when every line has its row.
func (o *output) close(whole bool) error {
	if o.journal != nil {
		var err error
		if whole {
			err = o.journal.Complete()
		}
		if e := o.journal.Close(); err == nil { // otherwise it repeats the error
			err = e
		}
		return outputError(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	var err error
	if o.queue != nil {
		err = errors.Join(o.queue.Drain(), o.queue.Close())
	}
	if e := o.encoder.Close(); err == nil {
		err = e
	}
	if o.file != nil {
		if e := o.file.Close(); err == nil {
			err = e
		}
	}
	return outputError(err)
}

// abandon closes the files of an output that was not begun or has failed.
func (o *output) abandon() error {
	var errs []error
	if o.journal != nil {
		errs = append(errs, o.journal.Close())
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	if o.queue != nil {
		errs = append(errs, o.queue.Close())
	}
	if o.file != nil {
		errs = append(errs, o.file.Close())
	}
	return errors.Join(errs...)
}

func outputError(err error) error {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return err
	}
	if _, told := errors.AsType[*codedError](err); told {
		return err
	}
	hint := ""
	if _, ok := errors.AsType[*journal.InterferenceError](err); ok {
		hint = "restore the file and rerun the command, or start over with --force"
	}
	return noRunf(about("output"), hint, "cannot write the output: %w", err)
}

// warnOfName tells those who expect --output FILE.csv to mean --format csv that it
// doesn't. An expression of --jq may make CSV.
func (a *app) warnOfName(format string) {
	o := &a.opts
	if o.format == "" && o.view.jq == "" && o.view.raw == "" && strings.EqualFold(filepath.Ext(o.output), ".csv") {
		a.warn(o.output + " will contain " + format + "; use --format csv for CSV")
	}
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

// lacksJournalFields reports whether --fields leaves out what it takes to go on
// with a file of its rows.
func (a *app) lacksJournalFields() bool {
	fields := a.opts.batch.fields
	return fields != nil && (!slices.Contains(fields, "line") || !slices.Contains(fields, "verdict"))
}

// isJournal reports whether the output is a file that a later run can go on
// with: its rows carry what that takes.
func (a *app) isJournal(format string) bool {
	o := &a.opts
	if o.file == "" || o.output == "" || format != render.FormatNDJSON && format != render.FormatCSV {
		return false
	}
	if a.lacksJournalFields() {
		return false
	}
	info, err := os.Stat(o.output)
	return errors.Is(err, os.ErrNotExist) || err == nil && info.Mode().IsRegular()
}
