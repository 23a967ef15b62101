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
	"github.com/rdapq/rdapq/internal/order"
	"github.com/rdapq/rdapq/internal/render"
	"github.com/rdapq/rdapq/journal"
)

// An output writes results: directly to an encoder, through a queue that sorts them, or
// to a journal.
type output struct {
	encoder *render.Encoder
	file    *os.File // nil for standard output and journals
	text    bool     // text format: errors go to standard error instead
	live    bool     // flush every row

	journal *journal.Journal // nil means that the output cannot be resumed
	past    journal.Past     // past of the journal
	row     []byte

	mu    sync.Mutex   // guards the fields below, and encoder
	queue *order.Queue // sorts results; nil means no sorting
	timer *time.Timer  // calls flush; nil if the buffer is empty
	ended bool
}

// flushInterval is the longest time that a row stays in the buffer.
const flushInterval = 100 * time.Millisecond

// openOutput opens --output, or else standard output.
func (a *app) openOutput(format string, src *source, in *journal.Input) (*output, error) {
	o := &a.opts
	a.warnOfName(format)
	out := &output{text: format == render.FormatText}
	w := a.stdout
	switch {
	case o.output == "":
	case a.isJournal(format):
		w = io.Discard // the encoder only formats rows, and the journal writes them
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

// columns returns the other columns of the input, which are copied to CSV output.
func (s *source) columns() []string {
	switch {
	case s.reader == nil:
		return nil
	case s.reader.Format() == input.NDJSON:
		return []string{render.WholeInput} // different lines may have different members
	}
	return s.reader.Columns()
}

// types returns the query types if known in advance.
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

// createOutput creates an output file that is not a journal. It does not overwrite a
// non-empty file without --force.
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

// begin records a line that gets a row, and reports whether to send its query. It must be
// called for every such line, in order.
func (o *output) begin(line int64) (send bool, err error) {
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

// write writes a result.
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

// keepRow keeps the buffer of a row for the next one, unless it is large.
func (o *output) keepRow() {
	if cap(o.row) > 1<<20 {
		o.row = nil
	}
}

// flush writes buffered rows. The next write returns any error.
func (o *output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer = nil; !o.ended {
		_ = o.encoder.Flush()
	}
}

// close closes the output. whole reports whether every line has a row.
func (o *output) close(whole bool) error {
	if o.journal != nil {
		var err error
		if whole {
			err = o.journal.Complete()
		}
		if e := o.journal.Close(); err == nil { // if Complete failed, Close returns the same error
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

// abandon closes the files of an output that has not started or has failed.
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
	if _, coded := errors.AsType[*codedError](err); coded {
		return err
	}
	hint := ""
	if _, ok := errors.AsType[*journal.InterferenceError](err); ok {
		hint = "restore the file and rerun the command, or start over with --force"
	}
	return noRunf(about("output"), hint, "cannot write the output: %w", err)
}

// warnOfName warns that --output FILE.csv does not imply --format csv. It does not warn if --jq
// is given, because a filter may write CSV.
func (a *app) warnOfName(format string) {
	o := &a.opts
	if o.format == "" && o.view.jq == "" && o.view.raw == "" && strings.EqualFold(filepath.Ext(o.output), ".csv") {
		a.warn(o.output + " will contain " + format + "; use --format csv for CSV")
	}
}

// terminal reports whether w is a terminal, and its width.
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

// lacksJournalFields reports whether --fields omits a field that resuming requires.
func (a *app) lacksJournalFields() bool {
	fields := a.opts.batch.fields
	return fields != nil && (!slices.Contains(fields, "line") || !slices.Contains(fields, "verdict"))
}

// isJournal reports whether the output is a file that a later run can resume.
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
