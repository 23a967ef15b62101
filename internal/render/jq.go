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

// Limits of the evaluation of an expression for one row, because an expression may loop
// forever.
const (
	maxJQTime  = 10 * time.Second
	maxJQBytes = 64 << 20
)

// A JQ is a compiled jq expression. It is safe for concurrent use.
type JQ struct {
	code *gojq.Code
	time time.Duration // is maxJQTime, except in tests
	size int           // is maxJQBytes, except in tests
}

// CompileJQ compiles an expression, which has no access to files, environment variables or
// other input. Errors are on one line.
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

// appendValues appends the results of the expression for a row, one per line: strings without
// quotes, as with jq -r, and other values as JSON. All results are safe for a terminal: see
// [JQ.appendValue]. If an error occurs, it has appended the values before the error.
func (q *JQ) appendValues(dst, row []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(row))
	d.UseNumber() // floats cannot represent long handles and counts exactly
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

// jqError returns why an expression stopped, or nil if the expression halted itself.
func jqError(ctx context.Context, err error) error {
	if halt, ok := errors.AsType[*gojq.HaltError](err); ok && halt.Value() == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		return cause
	}
	return err
}

// appendValue appends a value and a line break. It escapes line breaks and control characters,
// so that a value is one line: visibly in strings, and as \u escapes in JSON. It does not
// escape tabs in strings, which @tsv produces.
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

// jqShape returns the shape of the results of Options.JQ for NDJSON rows.
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
