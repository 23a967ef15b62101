package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/rdapq/rdapq/client"
)

// Bounds of what an expression may do with one row: it may loop for ever.
const (
	maxJQTime  = 10 * time.Second
	maxJQBytes = 64 << 20
)

// A JQ is a compiled expression in the language of jq. It is safe for concurrent
// use.
type JQ struct {
	code *gojq.Code
	time time.Duration // bounds: maxJQTime
	size int           // maxJQBytes
}

// CompileJQ compiles an expression. It has no way to read files, variables of the
// environment or other input. The error says what is wrong with the expression,
// on one line.
func CompileJQ(expression string) (*JQ, error) {
	query, err := gojq.Parse(expression)
	if err != nil {
		return nil, errors.New(Safe(flat(err.Error())))
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, errors.New(Safe(flat(err.Error())))
	}
	return &JQ{code, maxJQTime, maxJQBytes}, nil
}

// appendValues appends what the expression makes of a row, each value on a line
// of its own: strings without quotes, as jq -r has them, and all others as JSON.
// Both are fit for a terminal: see [JQ.appendValue]. What came before an error is
// appended, too.
func (q *JQ) appendValues(dst, row []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(row))
	d.UseNumber() // handles and counts may be longer than a float is exact
	var doc any
	if err := d.Decode(&doc); err != nil {
		return dst, fmt.Errorf("cannot read the row: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), q.time, fmt.Errorf("no result within %s", Span(q.time)))
	defer cancel()
	start := len(dst)
	values := q.code.RunWithContext(ctx, doc)
	for {
		v, ok := values.Next()
		if !ok {
			return dst, nil
		}
		if err, failed := v.(error); failed {
			return dst, jqError(ctx, err)
		}
		var err error
		if dst, err = q.appendValue(dst, v); err != nil {
			return dst, err
		}
		if len(dst)-start > q.size {
			return dst, fmt.Errorf("more than %s bytes from one row", grouped(int64(q.size)))
		}
	}
}

// jqError is why an expression gave up; nil if it wanted to.
func jqError(ctx context.Context, err error) error {
	if halt, ok := errors.AsType[*gojq.HaltError](err); ok && halt.Value() == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		return cause
	}
	return err
}

// appendValue appends a value and a line break. Line breaks and control
// characters within become visible escapes in a string (so that one value is one
// line), and \u escapes in JSON. Tabs stay in strings: @tsv makes them.
func (q *JQ) appendValue(dst []byte, v any) ([]byte, error) {
	if s, ok := v.(string); ok {
		var b strings.Builder
		writeVisible(&b, s)
		dst = append(dst, b.String()...)
		return append(dst, '\n'), nil
	}
	text, err := gojq.Marshal(v)
	if err != nil {
		return dst, err
	}
	dst = appendVisible(dst, text)
	return append(dst, '\n'), nil
}

// jqShape has what Options.JQ makes of the rows that NDJSON has.
func jqShape(o Options) (shape, error) {
	rows, err := ndjsonShape(o)
	if err != nil {
		return shape{}, err
	}
	if o.JQ == nil {
		return shape{}, errors.New("--format jq needs an expression")
	}
	return shape{row: func(dst []byte, r *client.Result) []byte {
		dst, err := o.JQ.appendValues(dst, rows.row(nil, r))
		if err != nil && o.Failed != nil {
			o.Failed(r, err)
		}
		return dst
	}}, nil
}
