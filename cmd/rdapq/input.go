package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/internal/input"
	"github.com/rdapq/rdapq/journal"
)

// A source yields the queries of a run.
type source struct {
	template client.Input  // fields common to all queries
	args     []string      // queries of the command line; nil with a file
	name     string        // name of the file, "-" for standard input; empty without a file
	file     *os.File      // the input, if it is a regular file, which can be read twice; otherwise nil
	reader   *input.Reader // nil without a file
	options  input.Options
	dedupe   *seenQueries // nil without --dedupe

	stopped atomic.Bool // true stops the reading of queries
	read    atomic.Int64
	dropped atomic.Int64 // number of queries dropped as duplicates
	close   func() error
}

// openSource opens the source of queries and reads enough to detect its format.
func (a *app) openSource(ctx context.Context, args []string) (*source, error) {
	o := &a.opts
	as := client.Type(o.typ)
	if alias, ok := typeAliases[o.typ]; ok {
		as = alias
	}
	s := &source{template: client.Input{Type: as, Server: o.server}, args: args, close: func() error { return nil }}
	if o.file == "" {
		if as == client.TypeHelp && len(args) == 0 {
			s.args = []string{""}
		}
		return s, nil
	}
	in, err := a.openInput(o.file)
	if err != nil {
		return nil, err
	}
	s.name, s.close = o.file, in.Close
	if f, ok := in.(*os.File); ok && o.file != "-" {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			s.file = f
		}
	}
	if o.batch.dedupe {
		s.dedupe = newSeenQueries()
		s.dedupe.domains = o.batch.registrable
	}
	s.options = input.Options{Format: input.Format(o.batch.inputFormat), Name: o.file, Column: o.batch.column, Field: o.batch.field}
	if s.options.Format == "auto" {
		s.options.Format = input.Auto
	}
	if err := s.open(ctx, in); err != nil {
		s.close()
		return nil, err
	}
	if taken, likelier := s.reader.LikelierColumn(); likelier != "" {
		a.warn(fmt.Sprintf("reading queries from the first column, %q; use --column %s to choose another", taken, shellQuote(likelier, runtime.GOOS == "windows")))
	}
	return s, nil
}

// open reads the beginning of the input. It returns when ctx ends, because the input may be a
// terminal.
func (s *source) open(ctx context.Context, in io.Reader) error {
	opened := make(chan error, 1)
	go func() {
		var err error
		s.reader, err = input.Open(in, s.options)
		opened <- err
	}()
	var err error
	select {
	case err = <-opened:
	case <-ctx.Done():
		return ctx.Err()
	}
	if missing, ok := errors.AsType[*input.ColumnError](err); ok {
		return usagef(about("column"), "use one of "+strings.Join(missing.Header, ", "), "%w", err)
	}
	if err != nil {
		return noRunf(about("file"), "", "cannot read the input: %w", err)
	}
	return nil
}

// openInput opens the file of --file; "-" is standard input.
func (a *app) openInput(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.stdin), nil
	}
	f, err := os.Open(name)
	if err == nil {
		var info os.FileInfo
		if info, err = f.Stat(); err == nil && info.IsDir() {
			f.Close()
			err = &os.PathError{Op: "open", Path: name, Err: errors.New("is a directory")}
		}
	}
	if err != nil {
		return nil, noRunf(about("file"), "name a file with one query per line, or - for standard input", "cannot read the input: %w", err)
	}
	return f, nil
}

// warnTrailing warns about data ignored after the end of compressed input.
func (a *app) warnTrailing(s *source) {
	if s.reader != nil && s.reader.Trailing() {
		a.warn(s.name + ": ignored uncompressed data after the end of the compressed data")
	}
}

// fingerprint returns the fingerprint of the input, by which a later run recognizes it. It
// returns nil if wanted is false or the input cannot be read twice.
func (s *source) fingerprint(ctx context.Context, wanted bool) (*journal.Input, error) {
	if s.file == nil || !wanted {
		return nil, nil
	}
	// A SectionReader does not move the offset of the file.
	in, err := journal.Fingerprint(s.name, &ctxReader{ctx, io.NewSectionReader(s.file, 0, 1<<62)})
	if err != nil {
		return nil, noRunf(about("file"), "", "cannot read the input: %w", err)
	}
	return in, nil
}

// count returns the number of records in the input, or 0 if unknown.
func (s *source) count(ctx context.Context) int64 {
	if s.file == nil {
		return 0
	}
	n, err := input.Count(ctx, &ctxReader{ctx, io.NewSectionReader(s.file, 0, 1<<62)}, s.options)
	if err != nil {
		return 0
	}
	return n
}

// A ctxReader returns the error of its context once the context has ended.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *ctxReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// queries yields the queries for which begin returns true. It calls begin in order, for every
// line that gets a row.
func (s *source) queries(begin func(line int64) (send bool, err error)) iter.Seq2[client.Input, error] {
	if s.reader == nil {
		return s.arguments
	}
	return func(yield func(client.Input, error) bool) {
		for rec, err := range s.reader.Records() {
			if s.stopped.Load() {
				return
			}
			s.read.Add(1)
			in := s.template
			in.Line, in.Text, in.Extra = rec.Line, rec.Text, rec.Extra
			if err == nil && s.dedupe != nil && !s.dedupe.add(in) {
				s.dropped.Add(1)
				continue
			}
			send, e := begin(rec.Line)
			if e != nil {
				return // the writer of rows returns the same error
			}
			if send && !yield(in, err) {
				return
			}
		}
	}
}

// arguments yields the queries of the command line.
func (s *source) arguments(yield func(client.Input, error) bool) {
	for i, text := range s.args {
		in := s.template
		in.Line, in.Text = int64(i)+1, text
		if !yield(in, nil) {
			return
		}
	}
}

// classifyInputError sets the verdict of a record that could not be parsed to Invalid.
func classifyInputError(r *client.Result) {
	if r.Failure == nil {
		return
	}
	if bad, ok := errors.AsType[*input.RecordError](r.Failure.Err); ok {
		r.Verdict = client.VerdictInvalid
		r.Failure = &client.Error{Code: client.CodeInvalid, Message: bad.Error(), Err: bad}
	}
}
